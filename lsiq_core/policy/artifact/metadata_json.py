# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""The metadata as JSON: every digit kept, every field checked on the way in."""

from __future__ import annotations

from dataclasses import asdict
import json
from typing import Any

from lsiq_core.policy.artifact.errors import ArtifactError
from lsiq_core.policy.artifact.metadata import Bounds, Joint, PolicyMetadata, SCHEMA
from pydantic import TypeAdapter, ValidationError

METADATA_KEY = 'lsiq_metadata'
MAX_METADATA_BYTES = 8 * 1024 * 1024
MAX_TERMS = 4096


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
    if isinstance(tree, dict) and (schema := tree.get('schema')) != SCHEMA:
        raise ArtifactError(f'{where}: schema is {schema!r}, this reader knows {SCHEMA!r}')
    try:
        metadata = TypeAdapter(PolicyMetadata).validate_json(text)
    except ValidationError as error:
        problems = (_problem(problem) for problem in error.errors())
        raise ArtifactError(f'{where}: {"; ".join(problems)}') from error
    if json.loads(to_json(metadata)) != tree:  # a field that has a default was left out
        raise ArtifactError(f'{where}: a field is missing; every field must be written out')
    check(where, metadata)
    return metadata


def _problem(error: Any) -> str:
    return (
        f'{".".join(map(str, error["loc"]))}: {error["msg"]}, found {str(error["input"])[:40]!r}'
    )


def check(where: str, metadata: PolicyMetadata) -> None:
    """Refuse metadata that contradicts itself."""
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
