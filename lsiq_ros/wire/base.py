# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
The base as odometry and as the readings of an observation.

Odometry is as nav_msgs has it: pose in the odom frame, twist in the frame of the base itself.
Readings are by REP-103: roll, pitch and yaw about fixed x, y, z and the rates of these angles;
velocities along the axes of odom. At a pitch of 90 degrees roll and yaw become one; long before,
the robot lies down.
"""

import math
from typing import NamedTuple

from lsiq_core.rotations import (
    Matrix,
    matrix_from_quaternion,
    quaternion_from_rpy,
    YAW_PITCH_ROLL,
)
from lsiq_core.types import BASE_POSE, BASE_TWIST, BaseOdometry, names


class FramePose(NamedTuple):
    """Where a frame is in its parent."""

    parent: str
    child: str
    position_m: tuple[float, float, float]
    orientation_xyzw: tuple[float, float, float, float]


class BaseReadings(NamedTuple):
    """What an observation says of the base, and where it is."""

    x_m: float
    y_m: float
    height_m: float
    roll_rad: float
    pitch_rad: float
    yaw_rad: float
    velocity_x_m_s: float  # along the axes of odom, like the next two
    velocity_y_m_s: float
    velocity_z_m_s: float
    roll_rate_rad_s: float
    pitch_rate_rad_s: float
    yaw_rate_rad_s: float


# The terms of the readings, in the order of their fields. Nobody observes x and y.
POSITION_TERMS = ('base/x', 'base/y', *names(BASE_POSE))
RATE_TERMS = names(BASE_TWIST)
ANGLE_TERMS = POSITION_TERMS[3:]
POSE_TERMS = POSITION_TERMS[2:]  # what an observation may hold of the pose
Row = tuple[float, float, float]
_NOWHERE: Matrix = ((math.nan,) * 3,) * 3  # type: ignore[assignment]


def readings_from_odometry(odometry: BaseOdometry) -> BaseReadings:
    """Return the base as observations have it."""
    matrix = _matrix(odometry.orientation_xyzw)
    yaw, pitch, roll = angles = YAW_PITCH_ROLL.angles(matrix)
    turning = YAW_PITCH_ROLL.rates(angles, odometry.angular_rad_s)
    yaw_rate, pitch_rate, roll_rate = turning
    velocity = _turn(matrix, odometry.linear_m_s)
    rates = (roll_rate, pitch_rate, yaw_rate)
    return BaseReadings(*odometry.position_m, roll, pitch, yaw, *velocity, *rates)


def odometry_from_readings(base: BaseReadings) -> BaseOdometry:
    """Return the odometry of a base that reads so."""
    angles = (base.yaw_rad, base.pitch_rad, base.roll_rad)
    rates = (base.yaw_rate_rad_s, base.pitch_rate_rad_s, base.roll_rate_rad_s)
    w, x, y, z = quaternion_from_rpy(base.roll_rad, base.pitch_rad, base.yaw_rad)
    (a, b, c), (d, e, f), (g, h, i) = YAW_PITCH_ROLL.matrix(angles)
    velocity = (base.velocity_x_m_s, base.velocity_y_m_s, base.velocity_z_m_s)
    return BaseOdometry(
        position_m=(base.x_m, base.y_m, base.height_m),
        orientation_xyzw=(x, y, z, w),
        linear_m_s=_turn(((a, d, g), (b, e, h), (c, f, i)), velocity),
        angular_rad_s=YAW_PITCH_ROLL.velocity(angles, rates),
    )


def cosine_from_upright(orientation_xyzw: tuple[float, float, float, float]) -> float:
    """Return the cosine of the angle between the base's z axis and the vertical."""
    return float(_matrix(orientation_xyzw)[2][2])


def _matrix(quaternion: tuple[float, float, float, float]) -> Matrix:
    x, y, z, w = quaternion
    length = math.sqrt(x * x + y * y + z * z + w * w)
    if not length > 1e-9:  # an empty message, or NaN: nothing downstream may take it for upright
        return _NOWHERE
    return matrix_from_quaternion(w / length, x / length, y / length, z / length)


def _turn(matrix: Matrix, vector: Row) -> Row:
    x, y, z = vector
    first, second, third = matrix
    return (
        first[0] * x + first[1] * y + first[2] * z,
        second[0] * x + second[1] * y + second[2] * z,
        third[0] * x + third[1] * y + third[2] * z,
    )
