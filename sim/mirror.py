# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
A motion seen in a mirror: left and right joints swapped, sideways quantities negated.

The mirror is the sagittal plane of base_link. Partners are joints whose names differ in left and
right alone (left_knee, knee_l, FL_hip, ...) and whose anchors are mirror images in the MJCF.
A joint in the plane is its own partner. Whether a mirrored angle changes its sign follows from
the axes: a rotation axis is a pseudovector, so its mirror image is (-x, y, -z).
"""

from dataclasses import dataclass

from lsiq_core.robot import RobotError
from lsiq_core.types import Array
import mujoco
import numpy as np
from sim.robot import FORWARD_TURNS, kinematic_columns, MujocoRobot

_SIDES = (('left', 'right'), ('Left', 'Right'), ('LEFT', 'RIGHT'), ('l', 'r'), ('L', 'R'))
_REACH_M = 0.03  # how far an anchor may be from the mirror image of its partner's
_PARALLEL = 0.9  # cosine between an axis and the mirror image of its partner's
_SLIDE = int(mujoco.mjtJoint.mjJNT_SLIDE)


@dataclass(frozen=True)
class Mirror:
    """How a kinematic frame becomes its mirror image: ``frame[source] * sign + shift``."""

    source: Array  # [D] column that a value comes from
    sign: Array  # [D]
    shift: Array  # [D], nonzero only where a joint's angle does not begin at zero

    def __call__(self, frames: Array) -> Array:
        """Return mirrored kinematic frames, [..., D]."""
        mirrored: Array = frames[..., self.source] * self.sign + self.shift
        return mirrored


def mirror_of(robot: MujocoRobot) -> Mirror:
    """Find partners and signs of a robot's joints."""
    anchors, axes = _anchors_and_axes(robot)
    size, count = robot.kinematic_size, len(robot.joints)
    partner, sign, shift = np.zeros(count, int), np.ones(count), np.zeros(count)
    rest = robot.model.qpos0[robot.joint_qpos]
    plane = np.array([1.0, -1.0, 1.0])
    for index, name in enumerate(robot.joints):
        # The value of this joint in the mirror is that of its partner.
        partner[index] = other = _partner(index, robot.joints, anchors, robot.spec.name)
        slides = int(robot.model.joint(name).type[0]) == _SLIDE
        cosine = float(axes[index] @ (axes[other] * (plane if slides else -plane)))
        if abs(cosine) < _PARALLEL:
            raise RobotError(
                f'{robot.spec.name}: the axis of {name!r} is not the mirror image of that of '
                f'{robot.joints[other]!r}; this robot cannot be mirrored'
            )
        sign[index] = np.sign(cosine)
        shift[index] = rest[index] - sign[index] * rest[other]
    columns = kinematic_columns(size)
    source, signs, shifts = np.arange(size), np.ones(size), np.zeros(size)
    signs[columns.pose] = (1, -1, 1, -1)  # height, roll, pitch, yaw
    signs[columns.twist] = (1, -1, 1, -1, 1, -1)  # x, y, z and the rates of the angles
    for part in (columns.positions, columns.velocities):
        source[part] = part.start + partner
        signs[part] = sign
    shifts[columns.positions] = shift
    return Mirror(source, signs, shifts)


def names_on_the_other_side(name: str) -> set[str]:
    """Return what a name may be on the other side: one left or right in it replaced."""
    found = set()
    for pair in _SIDES:
        for old, new in (pair, pair[::-1]):
            at = name.find(old)
            while at >= 0:
                found.add(name[:at] + new + name[at + len(old) :])
                at = name.find(old, at + 1)
    return found


def _partner(index: int, joints: tuple[str, ...], anchors: Array, robot: str) -> int:
    name = joints[index]
    image = anchors[index] * np.array([1.0, -1.0, 1.0])
    distance = np.linalg.norm(anchors - image, axis=1)
    named = [joints.index(one) for one in names_on_the_other_side(name) if one in joints]
    near = [other for other in named if distance[other] < _REACH_M]
    if near:
        return min(near, key=lambda other: float(distance[other]))
    if distance[index] < 2 * _REACH_M:  # it lies in the plane
        return index
    found = [joints[other] for other in named]
    raise RobotError(
        f'{robot}: {name!r} is not in the sagittal plane and has no partner on the other side'
        + (f'; {found} is not where the mirror shows it' if found else '')
    )


def _anchors_and_axes(robot: MujocoRobot) -> tuple[Array, Array]:
    """Return the joints' anchors and axes at the MJCF's own pose, in the frame of base_link."""
    model, data = robot.model, mujoco.MjData(robot.model)
    data.qpos[:] = model.qpos0
    mujoco.mj_kinematics(model, data)
    base = data.body(robot.spec.base.body)
    quarter = FORWARD_TURNS[robot.spec.base.forward] * np.pi / 2
    c, s = np.cos(quarter), np.sin(quarter)
    upright = base.xmat.reshape(3, 3) @ np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    ids = [int(model.joint(name).id) for name in robot.joints]
    return (data.xanchor[ids] - base.xpos) @ upright, data.xaxis[ids] @ upright
