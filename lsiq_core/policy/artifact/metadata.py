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
from typing import Any

from pydantic import ConfigDict, with_config

SCHEMA = 'lsiq_policy/1'
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
class History:
    """How many observations the graph takes at once and what fills it at the start."""

    length: int = 1
    initialisation: str = 'repeat_first'


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

    observation: tuple[float, ...]  # [D]
    action: tuple[float, ...]  # [A], N m
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
    history: History = History()
    schema: str = SCHEMA

    @property
    def observation_names(self) -> tuple[str, ...]:
        """Return the terms that go in, in order."""
        return tuple(term.name for term in self.observation)

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Return the joints that are driven, in order."""
        return tuple(joint.name for joint in self.joints)

    @property
    def action_names(self) -> tuple[str, ...]:
        """Return the action terms, in order."""
        return tuple(f'{joint.name}/effort' for joint in self.joints)

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
