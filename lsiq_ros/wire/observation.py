# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
From what the topics carry to the observation that the policy was trained on.

Readings are kept by name; the spec is the policy's own list of terms, so a robot that
publishes its joints in another order gives the same observation.

==============================  =====================================================
term                            comes from
==============================  =====================================================
``<joint>/position``            sensor_msgs/JointState.position, rad
``<joint>/velocity``            sensor_msgs/JointState.velocity, rad/s
``base/height`` and the like    nav_msgs/Odometry through lsiq_ros.wire.base
``<sole>/force_x`` (y, z)       geometry_msgs/WrenchStamped on ``<sole>/wrench``, N
==============================  =====================================================
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lsiq_core.errors import LsiqError
from lsiq_ros.wire.base import (
    BaseOdometry,
    BaseReadings,
    odometry_from_readings,
    POSE_TERMS,
    RATE_TERMS,
    readings_from_odometry,
)
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Force = tuple[float, float, float]

BASE_FIELDS = dict(zip((*POSE_TERMS, *RATE_TERMS), BaseReadings._fields[2:]))
OLD_BASE = 'pelvis/'  # how terms of the base began in version 0.1
_FORCE_AXES = {'force_x': 0, 'force_y': 1, 'force_z': 2}


class ObservationError(LsiqError):
    """A policy asks for a term that no topic carries, or a robot lacks one."""


@dataclass(frozen=True)
class Readings:
    """One instant of a robot, by name."""

    positions_rad: Mapping[str, float]
    velocities_rad_s: Mapping[str, float]
    base: BaseOdometry | None = None
    forces_n: Mapping[str, Force] = field(default_factory=dict)


Read = Callable[[Readings, 'BaseReadings | None'], float]


class ObservationSpec:
    """The order of a policy's observation, and what it needs from which topic."""

    def __init__(self, terms: Sequence[str]) -> None:
        self.terms = tuple(terms)
        self.position_joints: list[str] = []
        self.velocity_joints: list[str] = []
        self.soles: list[str] = []
        self.needs_base = False
        self._reads = [self._read_for(term) for term in self.terms]

    @property
    def joints(self) -> set[str]:
        """Return every joint that the observation reads."""
        return {*self.position_joints, *self.velocity_joints}

    def observe(self, readings: Readings) -> Array:
        """
        Return the observation [D].

        :raises ObservationError: if a reading is missing, naming it.
        """
        if self.needs_base and readings.base is None:
            raise ObservationError('the policy observes the base, no odometry has come yet')
        base = None if readings.base is None else readings_from_odometry(readings.base)
        try:
            return np.array([read(readings, base) for read in self._reads])
        except KeyError as error:
            raise ObservationError(f'no reading of {error.args[0]!r} has come') from None

    def _read_for(self, term: str) -> Read:
        owner, _, quantity = term.partition('/')
        if term in BASE_FIELDS:
            self.needs_base = True
            place = BaseReadings._fields.index(BASE_FIELDS[term])
            return lambda readings, base: base[place]  # type: ignore[index]
        if quantity == 'position' and owner:
            self.position_joints.append(owner)
            return lambda readings, base: readings.positions_rad[owner]
        if quantity == 'velocity' and owner:
            self.velocity_joints.append(owner)
            return lambda readings, base: readings.velocities_rad_s[owner]
        if quantity in _FORCE_AXES and owner:
            axis = _FORCE_AXES[quantity]
            if owner not in self.soles:
                self.soles.append(owner)
            return lambda readings, base: readings.forces_n[owner][axis]
        if term.startswith(OLD_BASE):
            raise ObservationError(
                f'term {term!r} is of version 0.1; lsiq convert FILE names the base by REP-103'
            )
        raise ObservationError(
            f'term {term!r} comes from no known topic; known are <joint>/position, '
            f'<joint>/velocity, <sole>/force_x and {sorted(BASE_FIELDS)}'
        )


def raw_from_observation(terms: Sequence[str], observation: Array) -> dict[str, Any]:
    """
    Return the readings, as JSON, that would give this observation.

    Where the robot stands on the floor is in no observation and becomes zero.
    """
    spec = ObservationSpec(terms)  # refuses unknown terms
    values = dict(zip(spec.terms, (float(value) for value in observation)))
    raw: dict[str, Any] = {
        'positions_rad': {joint: values[f'{joint}/position'] for joint in spec.position_joints},
        'velocities_rad_s': {joint: values[f'{joint}/velocity'] for joint in spec.velocity_joints},
        'forces_n': {
            sole: [values.get(f'{sole}/{axis}', 0.0) for axis in _FORCE_AXES]
            for sole in spec.soles
        },
    }
    if spec.needs_base:
        fields = dict.fromkeys(BaseReadings._fields, 0.0)
        fields |= {name: values[term] for term, name in BASE_FIELDS.items() if term in values}
        raw['base'] = odometry_from_readings(BaseReadings(**fields))._asdict()
    return raw


def observe_raw(terms: Sequence[str], raw: dict[str, Any]) -> Array:
    """Turn the raw readings of a golden trace into an observation, as the node does."""
    try:
        base = raw.get('base')
        readings = Readings(
            positions_rad={str(k): float(v) for k, v in raw['positions_rad'].items()},
            velocities_rad_s={str(k): float(v) for k, v in raw['velocities_rad_s'].items()},
            forces_n={
                str(k): (float(v[0]), float(v[1]), float(v[2])) for k, v in raw['forces_n'].items()
            },
            base=None if base is None else _odometry_of(base),
        )
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise ObservationError(f'raw readings cannot be understood ({error!r})') from error
    return ObservationSpec(terms).observe(readings)


def _odometry_of(tree: dict[str, Any]) -> BaseOdometry:
    x, y, z = (float(value) for value in tree['position_m'])
    qx, qy, qz, qw = (float(value) for value in tree['orientation_xyzw'])
    linear_x, linear_y, linear_z = (float(value) for value in tree['linear_m_s'])
    angular_x, angular_y, angular_z = (float(value) for value in tree['angular_rad_s'])
    return BaseOdometry(
        (x, y, z),
        (qx, qy, qz, qw),
        (linear_x, linear_y, linear_z),
        (angular_x, angular_y, angular_z),
    )
