# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""The metadata as JSON: every digit kept, every field checked on the way in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
import json
import math
from typing import Any, TypeVar

from lsiq_core.policy.artifact.errors import ArtifactError
from lsiq_core.policy.artifact.metadata import (
    Bounds,
    GoldenTrace,
    History,
    Joint,
    ObservationTerm,
    PolicyMetadata,
    SCHEMA,
)

METADATA_KEY = 'lsiq_metadata'
MAX_METADATA_BYTES = 8 * 1024 * 1024
MAX_TERMS = 4096
_T = TypeVar('_T')


def to_json(metadata: PolicyMetadata) -> str:
    """Write the metadata; Python's repr of a float loses nothing."""
    try:
        return json.dumps(asdict(metadata), allow_nan=False, sort_keys=True)
    except (TypeError, ValueError) as error:
        raise ArtifactError(f'policy metadata: cannot be written as JSON ({error})') from error


def from_json(where: str, text: str) -> PolicyMetadata:
    """Read the metadata, refusing what is missing, of the wrong kind or contradictory."""
    if len(text) > MAX_METADATA_BYTES:
        raise ArtifactError(f'{where}: {len(text)} characters, at most {MAX_METADATA_BYTES}')
    try:
        tree = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise ArtifactError(f'{where}: not JSON ({error})') from error
    metadata = _metadata(_Reader(where, tree))
    check(where, metadata)
    return metadata


def check(where: str, metadata: PolicyMetadata) -> None:
    """Refuse metadata that contradicts itself."""
    if metadata.schema != SCHEMA:
        raise ArtifactError(
            f'{where}: schema is {metadata.schema!r}, this reader knows {SCHEMA!r}'
        )
    if not metadata.rate_hz > 0:
        raise ArtifactError(f'{where}: rate_hz is {metadata.rate_hz}, must be positive')
    if metadata.history.length != 1:
        raise ArtifactError(
            f'{where}: history has length {metadata.history.length}, this runtime knows only '
            'policies of the present state (1)'
        )
    _check_distinct(where, 'observation', metadata.observation_names)
    _check_distinct(where, 'joints', metadata.joint_names)
    for joint in metadata.joints:
        _check_joint(where, joint)
    terms, joints = len(metadata.observation), len(metadata.joints)
    for name in ('demonstration_bounds', 'training_bounds'):
        _check_bounds(f'{where}: {name}', getattr(metadata, name), terms)
    if not metadata.golden:
        raise ArtifactError(f'{where}: no golden trace, at least one is needed')
    for number, trace in enumerate(metadata.golden):
        if (len(trace.observation), len(trace.action)) != (terms, joints):
            raise ArtifactError(
                f'{where}: golden trace {number} has {len(trace.observation)} terms and '
                f'{len(trace.action)} torques, expected {terms} and {joints}'
            )


def _check_distinct(where: str, name: str, names: tuple[str, ...]) -> None:
    if not 1 <= len(names) <= MAX_TERMS:
        raise ArtifactError(f'{where}: {name} has {len(names)} entries, 1 to {MAX_TERMS} allowed')
    doubles = sorted({entry for entry in names if names.count(entry) > 1})
    if doubles:
        raise ArtifactError(f'{where}: {name} names {doubles} more than once')


def _check_joint(where: str, joint: Joint) -> None:
    if not joint.effort_low_nm < joint.effort_high_nm:
        raise ArtifactError(
            f'{where}: {joint.name} has efforts from {joint.effort_low_nm} to '
            f'{joint.effort_high_nm} N m, the first must be smaller'
        )
    if joint.velocity_rad_s is not None and not joint.velocity_rad_s > 0:
        raise ArtifactError(
            f'{where}: {joint.name} has velocity limit {joint.velocity_rad_s} rad/s, must be '
            'positive'
        )
    low, high = joint.position_low_rad, joint.position_high_rad
    if (low is None) != (high is None) or (low is not None and high is not None and low >= high):
        raise ArtifactError(f'{where}: {joint.name} has position limits {low} to {high} rad')


def _check_bounds(where: str, bounds: Bounds, terms: int) -> None:
    if (len(bounds.low), len(bounds.high)) != (terms, terms):
        raise ArtifactError(
            f'{where}: {len(bounds.low)} lower and {len(bounds.high)} upper values for '
            f'{terms} terms'
        )
    if any(low > high for low, high in zip(bounds.low, bounds.high)):
        raise ArtifactError(f'{where}: a lower value is above its upper value')


def _refuse_constant(name: str) -> float:
    raise ValueError(f'{name} is no number here')


class _Reader:
    """A JSON object whose fields are taken one by one; what is wrong is named with its path."""

    def __init__(self, where: str, tree: Any) -> None:
        if not isinstance(tree, dict):
            raise ArtifactError(f'{where}: expected an object, found {type(tree).__name__}')
        self.where = where
        self.tree = tree
        self.taken: set[str] = set()

    def _take(self, key: str, kind: type | tuple[type, ...], wanted: str) -> Any:
        self.taken.add(key)
        if key not in self.tree:
            raise ArtifactError(f'{self.where}: no {key!r}, found {sorted(self.tree)}')
        value = self.tree[key]
        if isinstance(value, bool) or not isinstance(value, kind):
            raise ArtifactError(
                f'{self.where}: {key!r} must be {wanted}, found {type(value).__name__}'
            )
        return value

    def text(self, key: str) -> str:
        return str(self._take(key, str, 'a string'))

    def number(self, key: str) -> float:
        return self._finite(key, self._take(key, (int, float), 'a number'))

    def optional_number(self, key: str) -> float | None:
        if self.tree.get(key, 0) is None:
            self.taken.add(key)
            return None
        return self.number(key)

    def whole(self, key: str) -> int:
        return int(self._take(key, int, 'a whole number'))

    def numbers(self, key: str) -> tuple[float, ...]:
        values = self._take(key, list, 'a list of numbers')
        return tuple(self._finite(key, value) for value in values)

    def _finite(self, key: str, value: Any) -> float:
        try:
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise ValueError
            if not math.isfinite(number := float(value)):
                raise ValueError
        except (ValueError, OverflowError):
            raise ArtifactError(
                f'{self.where}: {key!r} must hold finite numbers, found {str(value)[:40]!r}'
            ) from None
        return number

    def mapping(self, key: str) -> dict[str, Any]:
        return dict(self._take(key, dict, 'an object'))

    def optional_mapping(self, key: str) -> dict[str, Any] | None:
        if self.tree.get(key, 0) is None:
            self.taken.add(key)
            return None
        return self.mapping(key)

    def one(self, key: str, build: Callable[[_Reader], _T]) -> _T:
        reader = _Reader(f'{self.where}: {key}', self._take(key, dict, 'an object'))
        return reader.done(build(reader))

    def many(self, key: str, build: Callable[[_Reader], _T]) -> tuple[_T, ...]:
        built = []
        for number, tree in enumerate(self._take(key, list, 'a list')):
            reader = _Reader(f'{self.where}: {key}[{number}]', tree)
            built.append(reader.done(build(reader)))
        return tuple(built)

    def done(self, value: _T) -> _T:
        unknown = sorted(set(self.tree) - self.taken)
        if unknown:
            raise ArtifactError(f'{self.where}: unknown fields {unknown}')
        return value


def _metadata(reader: _Reader) -> PolicyMetadata:
    schema = reader.text('schema')
    if schema != SCHEMA:
        raise ArtifactError(f'{reader.where}: schema is {schema!r}, this reader knows {SCHEMA!r}')
    return reader.done(
        PolicyMetadata(
            schema=schema,
            robot=reader.text('robot'),
            task=reader.text('task'),
            rate_hz=reader.number('rate_hz'),
            observation=reader.many('observation', _term),
            joints=reader.many('joints', _joint),
            demonstration_bounds=reader.one('demonstration_bounds', _bounds),
            training_bounds=reader.one('training_bounds', _bounds),
            golden=reader.many('golden', _golden),
            algorithm=reader.text('algorithm'),
            robot_model_sha256=reader.text('robot_model_sha256'),
            demonstrations_sha256=reader.text('demonstrations_sha256'),
            training=reader.mapping('training'),
            versions={name: str(value) for name, value in reader.mapping('versions').items()},
            history=reader.one('history', _history),
        )
    )


def _term(reader: _Reader) -> ObservationTerm:
    return ObservationTerm(
        name=reader.text('name'),
        unit=reader.text('unit'),
        frame=reader.text('frame'),
        offset=reader.number('offset'),
        scale=reader.number('scale'),
    )


def _joint(reader: _Reader) -> Joint:
    return Joint(
        name=reader.text('name'),
        effort_low_nm=reader.number('effort_low_nm'),
        effort_high_nm=reader.number('effort_high_nm'),
        velocity_rad_s=reader.optional_number('velocity_rad_s'),
        position_low_rad=reader.optional_number('position_low_rad'),
        position_high_rad=reader.optional_number('position_high_rad'),
    )


def _history(reader: _Reader) -> History:
    return History(length=reader.whole('length'), initialisation=reader.text('initialisation'))


def _bounds(reader: _Reader) -> Bounds:
    return Bounds(
        low=reader.numbers('low'), high=reader.numbers('high'), samples=reader.whole('samples')
    )


def _golden(reader: _Reader) -> GoldenTrace:
    return GoldenTrace(
        observation=reader.numbers('observation'),
        action=reader.numbers('action'),
        raw=reader.optional_mapping('raw'),
    )
