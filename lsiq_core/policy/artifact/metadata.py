# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
What a policy file says about itself.

Everything that a robot must agree with stands here: which terms in which order, units and
frames go in, which joints in which order come out, at which rate, within which limits.
The normalisation is inside the graph; ``offset`` and ``scale`` repeat it for the reader.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
import json
from typing import Any

from lsiq_core.errors import ArtifactError, problems
from lsiq_core.history import History
from pydantic import ConfigDict, TypeAdapter, ValidationError, with_config

SCHEMA = 'lsiq_policy/1'
METADATA_KEY = 'lsiq_metadata'
MAX_METADATA_BYTES = 8 * 1024 * 1024
MAX_TERMS = 4096
OUTPUTS = {'torque': 'effort', 'pd_target': 'position'}  # what the graph's output is called
LEFT_OUT = ('pd', 'gate')  # when they are empty: such files are read by older versions, too
_checked = with_config(ConfigDict(extra='forbid', strict=True, allow_inf_nan=False))


@_checked
@dataclass(frozen=True)
class ObservationTerm:
    """One scalar that goes in: the graph sees it raw and computes (raw - offset) / scale."""

    name: str  # knee_angle_l/position
    unit: str = ''
    frame: str = ''
    offset: float = 0.0
    scale: float = 1.0


@_checked
@dataclass(frozen=True)
class Joint:
    """One torque that comes out, and the limits of the joint that it drives."""

    name: str  # knee_angle_l; its action term is knee_angle_l/effort
    effort_low_nm: float
    effort_high_nm: float
    velocity_rad_s: float | None = None
    position_low_rad: float | None = None
    position_high_rad: float | None = None


@_checked
@dataclass(frozen=True)
class PdTarget:
    """
    What a joint's target means, of a policy that answers targets instead of torques.

    The torque is stiffness (target - position) - damping velocity, within the joint's efforts. It
    is computed anew from each state, more often than the policy answers. Slides: m for rad.
    """

    nominal_rad: float
    low_rad: float
    high_rad: float
    stiffness: float
    damping: float


@_checked
@dataclass(frozen=True)
class Bounds:
    """The smallest and largest value of each observation term in a set of states."""

    low: tuple[float, ...]  # [D]
    high: tuple[float, ...]  # [D]
    samples: int


@_checked
@dataclass(frozen=True)
class GoldenTrace:
    """A worked example: what the sensors read, what the policy saw, what it answered."""

    observation: tuple[float, ...]  # [I], of a policy that remembers with what stands for the past
    action: tuple[float, ...]  # [A], N m, or rad of a policy that answers targets
    raw: dict[str, Any] | None = None  # readings as topics carry them, where there are topics


@_checked
@dataclass(frozen=True)
class PolicyMetadata:
    """The whole contract of a policy, and where it came from."""

    robot: str
    task: str
    rate_hz: float
    observation: tuple[ObservationTerm, ...]  # D of them
    joints: tuple[Joint, ...]  # A of them
    demonstration_bounds: Bounds
    training_bounds: Bounds
    golden: tuple[GoldenTrace, ...]
    algorithm: str
    robot_model_sha256: str = ''
    demonstrations_sha256: str = ''
    training: dict[str, Any] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    history: History = field(default_factory=History)
    pd: tuple[PdTarget, ...] = ()  # A of them; none: the policy answers torques
    gate: dict[str, float] = field(default_factory=dict)  # settings that the robot dictates
    schema: str = SCHEMA

    @property
    def action(self) -> str:
        """Return what the policy answers, as the robot's file calls it."""
        return 'pd_target' if self.pd else 'torque'

    @property
    def action_range(self) -> tuple[list[float], list[float]]:
        """Return the least and the largest answer of each joint."""
        if self.pd:
            return [target.low_rad for target in self.pd], [x.high_rad for x in self.pd]
        return [x.effort_low_nm for x in self.joints], [x.effort_high_nm for x in self.joints]

    @property
    def inputs(self) -> int:
        """Return I, how many numbers the graph takes: the observation and what is remembered."""
        return self.history.inputs(len(self.observation), len(self.joints))

    @property
    def observation_names(self) -> tuple[str, ...]:
        """Return the terms that go in, in order."""
        return tuple(term.name for term in self.observation)

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Return the joints that are driven, in order."""
        return tuple(joint.name for joint in self.joints)

    @property
    def contract(self) -> dict[str, Any]:
        """Return what a policy that takes over in flight must have in common with this one."""
        return {
            'robot': self.robot,
            'robot_model_sha256': self.robot_model_sha256,
            'rate_hz': self.rate_hz,
            'observation': [(term.name, term.unit, term.frame) for term in self.observation],
            'joints': [asdict(joint) for joint in self.joints],
            'history': asdict(self.history),
            'pd': [asdict(target) for target in self.pd],
            'gate': self.gate,
        }


def contract_differences(mine: PolicyMetadata, other: PolicyMetadata) -> list[str]:
    """Name every part of the contract in which two policies differ."""
    theirs = other.contract
    return [
        f'{key}: {_shorten(value)} against {_shorten(theirs[key])}'
        for key, value in mine.contract.items()
        if value != theirs[key]
    ]


def _shorten(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 60 else f'{text[:57]}...'


def to_json(metadata: PolicyMetadata) -> str:
    """Write the metadata; Python's repr of a float loses nothing."""
    tree = asdict(metadata)
    tree = {key: value for key, value in tree.items() if value or key not in LEFT_OUT}
    if not metadata.history.remembers:  # as older versions wrote it, and read it
        tree['history'] = {key: tree['history'][key] for key in ('length', 'initialisation')}
    try:
        return json.dumps(tree, allow_nan=False, sort_keys=True)
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
        raise ArtifactError(f'{where}: {problems(error)}') from error
    if json.loads(to_json(metadata)) != tree:  # a field that has a default was left out
        raise ArtifactError(f'{where}: a field is missing; every field must be written out')
    check(where, metadata)
    return metadata


def check(where: str, metadata: PolicyMetadata) -> None:
    """Refuse metadata that contradicts itself."""
    if not metadata.rate_hz > 0:
        raise ArtifactError(f'{where}: rate_hz is {metadata.rate_hz}, must be positive')
    _check_distinct(where, 'observation', metadata.observation_names)
    _check_distinct(where, 'joints', metadata.joint_names)
    for joint in metadata.joints:
        _check_joint(where, joint)
    if metadata.pd and len(metadata.pd) != len(metadata.joints):
        raise ArtifactError(
            f'{where}: {len(metadata.pd)} PD targets for {len(metadata.joints)} joints'
        )
    for joint, target in zip(metadata.joints, metadata.pd):
        _check_target(where, joint.name, target)
    terms, joints = len(metadata.observation), len(metadata.joints)
    for name in ('demonstration_bounds', 'training_bounds'):
        _check_bounds(f'{where}: {name}', getattr(metadata, name), terms)
    if not metadata.golden:
        raise ArtifactError(f'{where}: no golden trace, at least one is needed')
    for number, trace in enumerate(metadata.golden):
        if (len(trace.observation), len(trace.action)) != (metadata.inputs, joints):
            raise ArtifactError(
                f'{where}: golden trace {number} has {len(trace.observation)} terms and '
                f'{len(trace.action)} actions, expected {metadata.inputs} and {joints}'
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


def _check_target(where: str, joint: str, target: PdTarget) -> None:
    if not target.low_rad <= target.nominal_rad <= target.high_rad or (
        target.low_rad == target.high_rad
    ):
        raise ArtifactError(
            f'{where}: {joint} has targets from {target.low_rad} to {target.high_rad} rad around '
            f'{target.nominal_rad}'
        )
    if not target.stiffness > 0 or target.damping < 0:
        raise ArtifactError(
            f'{where}: {joint} has stiffness {target.stiffness} and damping {target.damping}; the '
            'first must be positive, the second not negative'
        )


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
