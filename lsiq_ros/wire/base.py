# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
The pelvis as odometry and as a chain of joints.

Atlas carries its pelvis on slides x, y and height, then on hinges in this order: tilt
about (0 -1 0), list about (1 0 0), rotation about (0 0 1), each axis turned by the hinges
before it. So the orientation is R = Ry(-tilt) Rx(list) Rz(rotation). Odometry says the
same as nav_msgs does: pose in the odom frame, twist in the frame of the pelvis itself.
At a list of 90 degrees tilt and rotation become one; long before, the robot lies down.
"""

from __future__ import annotations

from math import asin, atan2, cos, sin, sqrt
from typing import NamedTuple


class BaseOdometry(NamedTuple):
    """What nav_msgs/Odometry carries: pose in odom, twist in the pelvis frame."""

    position_m: tuple[float, float, float]
    orientation_xyzw: tuple[float, float, float, float]
    linear_m_s: tuple[float, float, float]
    angular_rad_s: tuple[float, float, float]


class FramePose(NamedTuple):
    """Where a frame is in its parent."""

    parent: str
    child: str
    position_m: tuple[float, float, float]
    orientation_xyzw: tuple[float, float, float, float]


class PelvisChain(NamedTuple):
    """What the simulation's joints carry; velocities of the slides are along odom's axes."""

    x_m: float
    y_m: float
    height_m: float
    tilt_rad: float
    list_rad: float
    rotation_rad: float
    velocity_x_m_s: float
    velocity_y_m_s: float
    velocity_z_m_s: float
    tilt_rate_rad_s: float
    list_rate_rad_s: float
    rotation_rate_rad_s: float


# The terms of the chain, in the order of its fields. Where on the floor it is, nobody observes.
POSITION_TERMS = (
    'pelvis/x',
    'pelvis/y',
    'pelvis/height',
    'pelvis/tilt',
    'pelvis/list',
    'pelvis/rotation',
)
RATE_TERMS = (
    'pelvis/velocity_x',
    'pelvis/velocity_y',
    'pelvis/velocity_z',
    'pelvis/tilt_rate',
    'pelvis/list_rate',
    'pelvis/rotation_rate',
)
ANGLE_TERMS = POSITION_TERMS[3:]
POSE_TERMS = POSITION_TERMS[2:]  # what an observation may hold of the pose
Row = tuple[float, float, float]
Matrix = tuple[Row, Row, Row]
_SMALLEST_COSINE = 1e-6  # keeps the rates finite at the singular pose


def chain_from_odometry(odometry: BaseOdometry) -> PelvisChain:
    """Return the joint chain that stands and moves as the odometry says."""
    matrix = _matrix_from_quaternion(odometry.orientation_xyzw)
    tilt = atan2(-matrix[0][2], matrix[2][2])
    pelvis_list = -asin(min(1.0, max(-1.0, matrix[1][2])))
    rotation = atan2(matrix[1][0], matrix[1][1])
    # The angular velocity in the frame before the last hinge, where the three axes are
    # (0, -cos list, sin list), x and z.
    turn_x, turn_y, turn_z = odometry.angular_rad_s
    before_x = cos(rotation) * turn_x - sin(rotation) * turn_y
    before_y = sin(rotation) * turn_x + cos(rotation) * turn_y
    tilt_rate = -before_y / max(cos(pelvis_list), _SMALLEST_COSINE)
    rotation_rate = turn_z - sin(pelvis_list) * tilt_rate
    velocity = _turn(matrix, odometry.linear_m_s)
    return PelvisChain(
        *odometry.position_m,
        tilt,
        pelvis_list,
        rotation,
        *velocity,
        tilt_rate,
        before_x,
        rotation_rate,
    )


def odometry_from_chain(chain: PelvisChain) -> BaseOdometry:
    """Return the odometry of a pelvis on this joint chain."""
    quaternion = _product(
        _product(_about_y(-chain.tilt_rad), _about_x(chain.list_rad)),
        _about_z(chain.rotation_rad),
    )
    matrix = _matrix_from_quaternion(quaternion)
    velocity = (chain.velocity_x_m_s, chain.velocity_y_m_s, chain.velocity_z_m_s)
    before_x = chain.list_rate_rad_s
    before_y = -cos(chain.list_rad) * chain.tilt_rate_rad_s
    before_z = sin(chain.list_rad) * chain.tilt_rate_rad_s + chain.rotation_rate_rad_s
    turned, straight = sin(chain.rotation_rad), cos(chain.rotation_rad)
    return BaseOdometry(
        position_m=(chain.x_m, chain.y_m, chain.height_m),
        orientation_xyzw=quaternion,
        linear_m_s=_turn(_transpose(matrix), velocity),
        angular_rad_s=(
            straight * before_x + turned * before_y,
            -turned * before_x + straight * before_y,
            before_z,
        ),
    )


def cosine_from_upright(orientation_xyzw: tuple[float, float, float, float]) -> float:
    """Return the cosine of the angle between the pelvis' z axis and the vertical."""
    return _matrix_from_quaternion(orientation_xyzw)[2][2]


def _matrix_from_quaternion(quaternion: tuple[float, float, float, float]) -> Matrix:
    x, y, z, w = quaternion
    length = sqrt(x * x + y * y + z * z + w * w)
    if not length > 1e-9:  # an empty message, or NaN: nothing downstream may take it for upright
        nan = float('nan')
        return ((nan, nan, nan),) * 3
    x, y, z, w = x / length, y / length, z / length, w / length
    return (
        (1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)),
        (2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)),
        (2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)),
    )


def _turn(matrix: Matrix, vector: Row) -> Row:
    x, y, z = vector
    first, second, third = matrix
    return (
        first[0] * x + first[1] * y + first[2] * z,
        second[0] * x + second[1] * y + second[2] * z,
        third[0] * x + third[1] * y + third[2] * z,
    )


def _transpose(matrix: Matrix) -> Matrix:
    (a, b, c), (d, e, f), (g, h, i) = matrix
    return (a, d, g), (b, e, h), (c, f, i)


Quaternion = tuple[float, float, float, float]


def _about_x(angle: float) -> Quaternion:
    return sin(angle / 2), 0.0, 0.0, cos(angle / 2)


def _about_y(angle: float) -> Quaternion:
    return 0.0, sin(angle / 2), 0.0, cos(angle / 2)


def _about_z(angle: float) -> Quaternion:
    return 0.0, 0.0, sin(angle / 2), cos(angle / 2)


def _product(left: Quaternion, right: Quaternion) -> Quaternion:
    ax, ay, az, aw = left
    bx, by, bz, bw = right
    return (
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
        aw * bw - ax * bx - ay * by - az * bz,
    )
