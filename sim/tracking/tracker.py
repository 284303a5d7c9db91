# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
The tracker: a PD controller that follows a reference, and a network that adds a torque.

    tau = kp (q_ref - q) + kd (dq_ref - dq) + residual_scale a(features)

What it does in simulation is a feasible motion near the reference: states that follow each
other by the robot's own dynamics, and the torques that cause them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import mujoco
import numpy as np
import numpy.typing as npt
from sim.robot import MujocoRobot
from sim.tracking.networks import mlp
from sim.tracking.reference import FIRST_JOINT, HEIGHT, Reference, YAW
import torch
from torch import nn, Tensor

Array = npt.NDArray[Any]

LOOK_AHEAD_S = 0.05  # the second frame that the network sees, after the next one
# Held over a period dt, damping is stable only while kd dt / I stays below about 0.5.
DAMPING_SHARE = 0.45
STIFFNESS_HZ = 40.0  # largest kp / kd, rad/s
FULL_TORQUE_RAD = 0.25  # an error at which the PD alone gives all torque
RESIDUAL_SHARE = 0.35  # of the torque limit
OFFSET_LIMIT_M = 0.5  # of the path error that the network sees


class Gains(NamedTuple):
    """What the torque law needs of a robot, [A] each."""

    stiffness: Array  # N m / rad
    damping: Array  # N m s / rad
    residual_nm: Array
    limits_nm: Array


def derive_gains(robot: MujocoRobot, rate_hz: float) -> Gains:
    """
    Derive gains from the inertia that each joint feels, the torque limits and the rate.

    :param robot: compiled; its nominal pose is where inertia is taken.
    :param rate_hz: how often the torque changes.
    """
    model = robot.model
    data = mujoco.MjData(model)
    data.qpos[:] = robot.nominal_qpos
    mujoco.mj_forward(model, data)
    # The inverse of the mass matrix, column by column: what a unit torque accelerates.
    inverse = np.zeros((model.nv, model.nv))
    mujoco.mj_solveM(model, data, inverse, np.eye(model.nv))
    inertia = 1 / np.diag(inverse)[robot.joint_qvel]
    limit = np.minimum(-robot.action_low, robot.action_high)
    damping = np.minimum(DAMPING_SHARE * inertia * rate_hz, 0.1 * limit)
    stiffness = np.minimum(STIFFNESS_HZ * damping, limit / FULL_TORQUE_RAD)
    damping = np.minimum(damping, 2 * np.sqrt(stiffness * inertia))
    return Gains(stiffness, damping, RESIDUAL_SHARE * limit, limit)


def features(
    reference: Reference, rows: Array, state: Array, offset_m: Array, last: Array
) -> Array:
    """
    Return what the network sees: the robot relative to the reference, and what comes next.

    :param rows: [N] where in the reference each robot is.
    :param state: [N, D] kinematic observations.
    :param offset_m: [N, 2] from the reference's path.
    :param last: [N, A] the residual of the step before.
    :return: [N, F].
    """
    count = reference.joints
    now = reference.frames[rows]
    soon = reference.frames[reference.after(rows, 1)]
    ahead = round(LOOK_AHEAD_S * reference.rate_hz)
    later = reference.frames[reference.after(rows, ahead)]
    joints = slice(FIRST_JOINT, FIRST_JOINT + count)
    speeds = slice(FIRST_JOINT + 6 + count, None)
    plane = slice(FIRST_JOINT + count, FIRST_JOINT + count + 2)
    yaw = now[:, YAW]
    own = state.copy()
    own[:, YAW] = _wrapped(state[:, YAW] - yaw)
    own[:, plane] = _turned(state[:, plane], yaw)
    return np.concatenate(
        (
            own,
            _turned(offset_m, yaw).clip(-OFFSET_LIMIT_M, OFFSET_LIMIT_M),
            _turned(now[:, plane], yaw),
            soon[:, HEIGHT:YAW],
            soon[:, joints],
            soon[:, speeds],
            later[:, joints],
            last,
        ),
        axis=1,
    )


def num_features(joints: int) -> int:
    """Return the length of a row of :func:`features`."""
    return 10 + 2 * joints + 4 + 3 + 4 * joints


class Tracker(nn.Module):
    """The network with the normaliser of its input, and the torque law around it."""

    feature_mean: Tensor
    feature_std: Tensor
    stiffness: Tensor
    damping: Tensor
    residual_nm: Tensor
    limits_nm: Tensor

    def __init__(self, gains: Gains, hidden: int = 128) -> None:
        """
        Create the network; its first answers are nearly nothing, so it starts as the bare PD.

        :param gains: of the robot.
        :param hidden: width of its two hidden layers.
        """
        super().__init__()
        joints = len(gains.limits_nm)
        size = num_features(joints)
        self.actor = mlp(size, hidden, joints)
        last = self.actor[-1]
        assert isinstance(last, nn.Linear)
        with torch.no_grad():
            last.weight.mul_(0.01)
            last.bias.zero_()
        for name, values in gains._asdict().items():
            self.register_buffer(name, torch.tensor(values, dtype=torch.float32))
        self.register_buffer('feature_mean', torch.zeros(size))
        self.register_buffer('feature_std', torch.ones(size))

    def normalise(self, seen: Tensor) -> Tensor:
        """Return features as the networks take them."""
        return ((seen - self.feature_mean) / self.feature_std).clamp(-10.0, 10.0)

    def mean(self, seen: Tensor) -> Tensor:
        """Return the residual that the network wants, [B, A]."""
        return self.actor(self.normalise(seen))

    def torque(self, state: Tensor, target: Tensor, residual: Tensor) -> Tensor:
        """
        Return the torques, [B, A] N m.

        :param state: [B, D] kinematic observations.
        :param target: [B, D] the frame to be at one step later.
        :param residual: [B, A] in units of the residual scale.
        """
        count = len(self.limits_nm)
        position = slice(FIRST_JOINT, FIRST_JOINT + count)
        velocity = slice(FIRST_JOINT + 6 + count, None)
        torque = (
            self.stiffness * (target[:, position] - state[:, position])
            + self.damping * (target[:, velocity] - state[:, velocity])
            + self.residual_nm * residual
        )
        return torch.maximum(torch.minimum(torque, self.limits_nm), -self.limits_nm)

    def forward(self, state: Tensor, target: Tensor, seen: Tensor) -> tuple[Tensor, Tensor]:
        """Return the torques and the residual, for export."""
        residual = self.mean(seen)
        return self.torque(state, target, residual), residual


def _turned(vectors: Array, yaw: Array) -> Array:
    """Return horizontal vectors [N, 2] along the axes of a heading."""
    c, s = np.cos(yaw), np.sin(yaw)
    x, y = vectors[:, 0], vectors[:, 1]
    return np.stack((c * x + s * y, c * y - s * x), axis=1)


def _wrapped(angle: Array) -> Array:
    return (angle + np.pi) % (2 * np.pi) - np.pi
