# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
The tracker: a PD controller that follows a reference, and a network that corrects it.

    torque robots      tau = kp (q_ref - q) + kd (dq_ref - dq) + tau_ref + scale a(features)
    PD-target robots   target = q_ref + (kd dq_ref + tau_ref) / kp + scale a(features)

tau_ref is what the motion needs by inverse dynamics (:mod:`.feed_forward`).

A cycle whose second half is the mirror image of its first is learned as one half: in the second
the network sees the mirror image of everything and what it answers is mirrored back.

With PD targets the simulation closes the loop at the rate of the physics, so both say the same.
What it does in simulation is a feasible motion near the reference: states that follow each
other by the robot's own dynamics, and the commands that cause them.
"""

from __future__ import annotations

from typing import NamedTuple

from lsiq_core.robot import RobotError
from lsiq_core.types import Array
import mujoco
import numpy as np
from sim.feet import Feet, mobility
from sim.mirror import Mirror, mirror_of
from sim.robot import MujocoRobot
from sim.tracking.feed_forward import feed_forward
from sim.tracking.reference import FIRST_JOINT, HEIGHT, Reference, YAW
import torch
from torch import nn, Tensor

LOOK_AHEAD_S = 0.05  # the second frame that the network sees, after the next one
# Held over a period dt, damping is stable only while kd dt / I stays below about 0.5.
DAMPING_SHARE = 0.45
STIFFNESS_HZ = 40.0  # largest kp / kd, rad/s
FULL_TORQUE_RAD = 0.25  # an error at which the PD alone gives all torque
RESIDUAL_SHARE = 0.35  # of the torque limit
RESIDUAL_RAD = (0.05, 1.0)  # a correction of PD targets is not smaller or larger than this,
RESIDUAL_LEAST = 0.05  # unless a soft spring would make less than this share of the torque of it
# A correction may change a joint's velocity by so much in one period: a foot in the air is light.
RESIDUAL_VELOCITY = 12.0
SYMMETRIC = 1e-3  # rad, m and their rates by which a cycle's halves may differ in the mirror


class Gains(NamedTuple):
    """How a robot is commanded, [A] each."""

    stiffness: Array  # N m / rad; of PD targets those of the robot's file
    damping: Array  # N m s / rad
    low: Array  # of a command, N m or rad
    high: Array
    pd_target: bool


def joint_inertia(robot: MujocoRobot, qpos: Array, standing: list[int]) -> Array:
    """
    Return the inertia that each joint feels, [A].

    :param qpos: the pose.
    :param standing: bodies that the floor holds.
    """
    model, data = robot.model, mujoco.MjData(robot.model)
    data.qpos[:] = qpos
    mujoco.mj_forward(model, data)
    moved = np.diag(mobility(model, data, standing))[robot.joint_qvel]
    return 1 / np.maximum(moved, 1e-6)


def derive_gains(robot: MujocoRobot, rate_hz: float) -> Gains:
    """
    Derive gains from the inertia that each joint feels, the torque limits and the rate.

    :param robot: compiled; its nominal pose is where inertia is taken.
    :param rate_hz: how often the command changes.
    """
    low, high = robot.action_low, robot.action_high
    if robot.action == 'pd_target':
        facts = robot.facts
        stiffness = np.array([joint.stiffness for joint in facts])
        return Gains(stiffness, np.array([joint.damping for joint in facts]), low, high, True)
    inertia = joint_inertia(robot, robot.nominal_qpos, [])
    limit = np.minimum(-low, high)
    damping = np.minimum(DAMPING_SHARE * inertia * rate_hz, 0.1 * limit)
    stiffness = np.minimum(STIFFNESS_HZ * damping, limit / FULL_TORQUE_RAD)
    damping = np.minimum(damping, 2 * np.sqrt(stiffness * inertia))
    return Gains(stiffness, damping, low, high, False)


def residual_scale(robot: MujocoRobot, reference: Reference, gains: Gains) -> Array:
    """
    Return what a correction of one is worth at each frame, [F, A] N m or rad.

    A foot in the air is light: the torque that moves the body over a standing foot would
    fling it. So torque is scaled by the inertia that the joint feels in the reference's pose.
    """
    effort = np.array([min(-j.effort_low_nm, j.effort_high_nm) for j in robot.facts])
    most = RESIDUAL_SHARE * effort
    if gains.pd_target:
        scale = np.clip(most / gains.stiffness, *RESIDUAL_RAD)
        scale = np.maximum(scale, RESIDUAL_LEAST * effort / gains.stiffness)
        return np.broadcast_to(scale, (len(reference.frames), len(scale)))
    every = max(1, round(0.02 * reference.rate_hz))
    rows = np.arange(0, len(reference.frames), every)
    model, data = robot.model, mujoco.MjData(robot.model)
    feet = Feet(robot)
    found = []
    for qpos in robot.split(reference.frames[rows])[0]:
        data.qpos[:] = qpos
        mujoco.mj_kinematics(model, data)
        inertia = joint_inertia(robot, qpos, feet.standing(data))
        found.append(np.minimum(most, RESIDUAL_VELOCITY * inertia * reference.rate_hz))
    return np.stack(found)[np.arange(len(reference.frames)) // every]


def symmetry(robot: MujocoRobot, reference: Reference) -> Mirror | None:
    """Return the mirror that shows a cycle's second half as its first, where there is one."""
    half, odd = divmod(len(reference.frames), 2)
    if not reference.cyclic or odd:
        return None
    try:
        mirror = mirror_of(robot)
    except RobotError:
        return None
    image = mirror(np.roll(reference.frames, half, axis=0))
    return mirror if np.abs(image - reference.frames).max() < SYMMETRIC else None


def num_features(joints: int) -> int:
    """Return how many values the network sees."""
    return 10 + 2 * joints + 7 + 4 * joints


def mlp(inputs: int, hidden: int, outputs: int) -> nn.Sequential:
    """Return a network of two hidden layers."""
    return nn.Sequential(
        nn.Linear(inputs, hidden),
        nn.ELU(),
        nn.Linear(hidden, hidden),
        nn.ELU(),
        nn.Linear(hidden, outputs),
    )


class Tracker(nn.Module):
    """The network with the normaliser of its input, the reference, and the law around them."""

    frames: Tensor  # [F, D]
    soon: Tensor  # [F] the row after each row
    later: Tensor  # [F] the row LOOK_AHEAD_S after each row
    residual_scale: Tensor  # [F, A]
    feed_forward: Tensor  # [F, A] N m
    stiffness: Tensor  # [A], like the next three
    damping: Tensor
    low: Tensor
    high: Tensor
    feature_mean: Tensor
    feature_std: Tensor
    mirror_source: Tensor  # [D], like the next two: how a kinematic frame is mirrored
    mirror_sign: Tensor
    mirror_shift: Tensor

    def __init__(self, robot: MujocoRobot, reference: Reference, hidden: int = 128) -> None:
        """
        Create the network; its first answers are nearly nothing, so it starts as the bare PD.

        :param robot: compiled.
        :param reference: what is followed.
        :param hidden: width of its two hidden layers.
        """
        super().__init__()
        gains = derive_gains(robot, reference.rate_hz)
        self.pd_target, joints = gains.pd_target, len(gains.low)
        size = num_features(joints)
        self.actor = mlp(size, hidden, joints)
        last = self.actor[-1]
        assert isinstance(last, nn.Linear)
        with torch.no_grad():
            last.weight.mul_(0.01)
            last.bias.zero_()
        mirror = symmetry(robot, reference)
        self.mirrored_from = 0 if mirror is None else len(reference.frames) // 2
        if mirror is None:  # never asked for
            mirror = Mirror(*np.zeros((3, reference.frames.shape[1])))
        rows = np.arange(len(reference.frames))
        ahead = round(LOOK_AHEAD_S * reference.rate_hz)
        numbers = {
            'frames': reference.frames,
            'residual_scale': residual_scale(robot, reference, gains),
            'feed_forward': feed_forward(robot, reference),
            **{name: value for name, value in gains._asdict().items() if name != 'pd_target'},
            'feature_mean': np.zeros(size),
            'feature_std': np.ones(size),
            'mirror_sign': mirror.sign,
            'mirror_shift': mirror.shift,
        }
        for name, values in numbers.items():
            self.register_buffer(name, torch.tensor(np.array(values), dtype=torch.float32))
        self.register_buffer('mirror_source', torch.from_numpy(mirror.source.astype(np.int64)))
        self.register_buffer('soon', torch.from_numpy(reference.after(rows, 1)))
        self.register_buffer('later', torch.from_numpy(reference.after(rows, ahead)))

    @property
    def num_actions(self) -> int:
        """Return how many joints are commanded."""
        return len(self.low)

    def features(self, state: Tensor, row: Tensor, offset_m: Tensor, last: Tensor) -> Tensor:
        """
        Return what the network sees: its errors, where in the motion it is, what comes next.

        Errors stand alone: a small difference of two large inputs is learned late.

        :param state: [B, D] kinematic observations.
        :param row: [B] where in the reference each robot is.
        :param offset_m: [B, 2] from the reference's path, along the axes of the world.
        :param last: [B, A] the correction of the step before.
        :return: [B, F].
        """
        if self.mirrored_from:
            second = row[:, None] >= self.mirrored_from
            image = state[:, self.mirror_source] * self.mirror_sign + self.mirror_shift
            state = torch.where(second, image, state)
            offset_m = torch.where(second, offset_m * offset_m.new_tensor((1.0, -1.0)), offset_m)
            last = self.mirrored(last, row)
            row = row % self.mirrored_from
        now, soon = self.frames[row], self.frames[self.soon[row]]
        later = self.frames[self.later[row]]
        twist = FIRST_JOINT + self.num_actions
        joints, plane, speeds = slice(FIRST_JOINT, twist), slice(twist, twist + 2), twist + 6
        error = state - now
        angles = error[:, 1:FIRST_JOINT]
        yaw = now[:, YAW]
        return torch.cat(
            (
                error[:, :1],
                torch.atan2(torch.sin(angles), torch.cos(angles)),
                error[:, joints],
                _turned(error[:, plane], yaw),
                error[:, twist + 2 :],
                _turned(offset_m, yaw),
                now[:, HEIGHT:YAW],
                _turned(now[:, plane], yaw),
                soon[:, joints],
                soon[:, speeds:],
                later[:, joints] - soon[:, joints],
                last,
            ),
            dim=1,
        )

    def normalise(self, seen: Tensor) -> Tensor:
        """Return features as the networks take them."""
        return ((seen - self.feature_mean) / self.feature_std).clamp(-10.0, 10.0)

    def mirrored(self, residual: Tensor, row: Tensor) -> Tensor:
        """Return corrections [B, A] mirrored where the network saw, or sees, the mirror image."""
        if not self.mirrored_from:
            return residual
        joints = slice(FIRST_JOINT, FIRST_JOINT + self.num_actions)
        image = residual[:, self.mirror_source[joints] - FIRST_JOINT] * self.mirror_sign[joints]
        return torch.where(row[:, None] >= self.mirrored_from, image, residual)

    def mean(self, seen: Tensor) -> Tensor:
        """Return the correction that the network wants, [B, A], as the network sees the robot."""
        return self.actor(self.normalise(seen))

    def command(self, state: Tensor, row: Tensor, residual: Tensor) -> Tensor:
        """
        Return the commands, [B, A] N m or rad.

        :param state: [B, D] kinematic observations.
        :param row: [B] where in the reference each robot is; it should be at the next one soon.
        :param residual: [B, A] in units of the residual scale.
        """
        target = self.frames[self.soon[row]]
        twist = FIRST_JOINT + self.num_actions
        position, velocity = target[:, FIRST_JOINT:twist], target[:, twist + 6 :]
        correction = self.residual_scale[row] * residual
        needed = self.feed_forward[self.soon[row]]
        if self.pd_target:
            command = position + (self.damping * velocity + needed) / self.stiffness + correction
        else:
            command = (
                self.stiffness * (position - state[:, FIRST_JOINT:twist])
                + self.damping * (velocity - state[:, twist + 6 :])
                + needed
                + correction
            )
        return torch.maximum(torch.minimum(command, self.high), self.low)

    def forward(
        self, state: Tensor, row: Tensor, offset_m: Tensor, last: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return the commands and the corrections, for export."""
        residual = self.mirrored(self.mean(self.features(state, row, offset_m, last)), row)
        return self.command(state, row, residual), residual


def _turned(vectors: Tensor, yaw: Tensor) -> Tensor:
    """Return horizontal vectors [N, 2] along the axes of a heading."""
    c, s = torch.cos(yaw), torch.sin(yaw)
    x, y = vectors[:, 0], vectors[:, 1]
    return torch.stack((c * x + s * y, c * y - s * x), dim=1)
