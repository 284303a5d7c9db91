# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
What tasks, learner and topics say to each other: terms, steps and falls.

It needs numpy alone: sim may import it, and what runs on a robot.
"""

from collections.abc import Iterable
from dataclasses import dataclass
import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

LARGEST_SEED = 2**53 - 1  # the largest whole number that a float64 holds with all below it
Array = npt.NDArray[Any]
Range = tuple[float, float]
_ANY: Range = (-math.inf, math.inf)


class Term(NamedTuple):
    """
    One scalar of an observation or an action.

    The name follows ros2_control: ``<joint or link>/<quantity>``, for example
    ``knee_angle_l/position``; the unit is SI; the frame is a REP-105 frame or empty where
    none applies.
    """

    name: str
    unit: str = ''
    frame: str = ''


# The base by REP-103: roll, pitch and yaw about fixed x, y, z, and their rates. Velocities are
# along the axes of odom, that is of the world.
BASE_POSE = (
    Term('base/height', 'm', 'odom'),
    Term('base/roll', 'rad', 'odom'),
    Term('base/pitch', 'rad', 'odom'),
    Term('base/yaw', 'rad', 'odom'),
)
BASE_TWIST = (
    Term('base/world_velocity_x', 'm/s', 'odom'),
    Term('base/world_velocity_y', 'm/s', 'odom'),
    Term('base/world_velocity_z', 'm/s', 'odom'),
    Term('base/roll_rate', 'rad/s', 'odom'),
    Term('base/pitch_rate', 'rad/s', 'odom'),
    Term('base/yaw_rate', 'rad/s', 'odom'),
)


def names(terms: Iterable[Term]) -> tuple[str, ...]:
    """Return the names alone, in order."""
    return tuple(term.name for term in terms)


class BaseOdometry(NamedTuple):
    """What nav_msgs/Odometry carries: pose in odom, twist in the frame of the base."""

    position_m: tuple[float, float, float]
    orientation_xyzw: tuple[float, float, float, float]
    linear_m_s: tuple[float, float, float]
    angular_rad_s: tuple[float, float, float]


class Step(NamedTuple):
    """
    What one control step brought.

    ``terminated`` means that ``obs`` is absorbing (a fall); ``truncated`` means that
    only the clock ran out. The two are never merged: Eq. iq_inverse_operator needs
    the first, and the second is no event of the task.
    """

    obs: npt.NDArray[np.float64]  # [D]
    reward: float  # the task's own metric; no learner here ever trains on it
    terminated: bool
    truncated: bool


@dataclass(frozen=True)
class FallBounds:
    """
    The poses of the base that do not count as a fall.

    Roll, pitch and yaw are those of REP-103; the lean is the angle between the base's z axis
    and the vertical. What is not given is not bounded. A reading that is not a number fell.
    """

    height_m: Range = _ANY
    roll_rad: Range = _ANY
    pitch_rad: Range = _ANY
    yaw_rad: Range = _ANY
    lean_rad: float = math.inf

    @property
    def low(self) -> npt.NDArray[np.float64]:
        """Return the lower bounds of height, roll, pitch and yaw."""
        return np.array([pair[0] for pair in self._pairs()])

    @property
    def high(self) -> npt.NDArray[np.float64]:
        """Return the upper bounds of height, roll, pitch and yaw."""
        return np.array([pair[1] for pair in self._pairs()])

    @property
    def upright(self) -> float:
        """Return the least cosine of the lean; where that is not bounded, less than any."""
        return -2.0 if math.isinf(self.lean_rad) else math.cos(self.lean_rad)

    def contain(self, pose: Array) -> Array:
        """Return which poses are no fall, [N]; of each height, roll, pitch and yaw, [N, 4]."""
        within = ((self.low <= pose) & (pose <= self.high)).all(axis=1)
        return within & (np.cos(pose[:, 1]) * np.cos(pose[:, 2]) >= self.upright)

    def _pairs(self) -> tuple[Range, ...]:
        return self.height_m, self.roll_rad, self.pitch_rad, self.yaw_rad
