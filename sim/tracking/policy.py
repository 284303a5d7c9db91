# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
The expert as one torch module: state, phase and lateral offset in, torques out.

A PD controller follows the reference gait, and a small network adds a residual torque:

    tau = kp (q_ref - q) + kd (dq_ref - dq) + scale a(state, phase, offset)

Walking is symmetric, so the network only knows the half cycle in which the left leg swings;
in the other half it sees the mirrored robot and its answer is mirrored back.
"""

from __future__ import annotations

import math

from lsiq_core.robot import RobotSpec
from lsiq_core.types import BASE_POSE, BASE_TWIST
from sim.gait import Gait, LEG, tracking_settings
from sim.robot import kinematic_columns, MujocoRobot
from sim.tracking.networks import mlp
import torch
from torch import nn, Tensor

LATERAL_LIMIT_M = 0.3
CLOCK_AND_OFFSET = 3  # features beside the state: two of the phase, one of the lateral offset
# Terms of the base that a mirror negates.
SIDEWAYS = ('roll', 'yaw', 'world_velocity_y', 'roll_rate', 'yaw_rate')


def mirror_order(joints: int) -> list[int]:
    """Return the order of a kinematic observation seen in a mirror: legs swapped."""
    at = kinematic_columns(len(BASE_POSE) + len(BASE_TWIST) + 2 * joints)
    order = list(range(at.velocities.stop))
    for legs in (at.positions, at.velocities):
        first, last = legs.start, legs.stop
        order[legs] = [*range(first + LEG, last), *range(first, first + LEG)]
    return order


def mirror_signs(joints: int) -> Tensor:
    """Return -1 where a mirror negates a value of a kinematic observation, else 1."""
    at = kinematic_columns(len(BASE_POSE) + len(BASE_TWIST) + 2 * joints)
    signs = torch.ones(at.velocities.stop)
    for terms, columns in ((BASE_POSE, at.pose), (BASE_TWIST, at.twist)):
        for index, term in enumerate(terms):
            if term.name.partition('/')[2] in SIDEWAYS:
                signs[columns.start + index] = -1
    return signs


class ExpertPolicy(nn.Module):
    """The controller with its network and the normaliser of the network's input."""

    stiffness: Tensor  # [10] like the next three, left leg then right
    damping: Tensor
    residual_nm: Tensor
    limits_nm: Tensor
    feature_mean: Tensor  # [33]
    feature_std: Tensor
    sideways: Tensor  # [30], -1 where a mirror negates
    mirror_order: Tensor
    swap_legs: Tensor

    def __init__(self, robot: RobotSpec, hidden: int = 128) -> None:
        """
        Create the network.

        :param robot: whose ``tracking`` says what to follow and how stiffly.
        :param hidden: width of its two hidden layers.
        """
        super().__init__()
        settings, self.gait = tracking_settings(robot), Gait(robot)
        joints = len(self.gait.joints)
        state = len(BASE_POSE) + len(BASE_TWIST) + 2 * joints
        features = state + CLOCK_AND_OFFSET
        self._at = kinematic_columns(state)
        self._swing_ankle_share = settings.swing_ankle_share
        self.actor = mlp(features, hidden, joints)
        last = self.actor[-1]
        assert isinstance(last, nn.Linear)
        with torch.no_grad():
            # The first steps are the bare reference: a random residual would only fall.
            last.weight.mul_(0.01)
            last.bias.zero_()
        limits = {joint.name: joint.effort_high_nm for joint in MujocoRobot(robot).facts}
        for name, values in (
            ('stiffness', settings.stiffness_nm_rad.values() * 2),
            ('damping', settings.damping_nm_s_rad.values() * 2),
            ('residual_nm', settings.residual_nm.values() * 2),
            ('limits_nm', [limits[joint] for joint in self.gait.joints]),
            ('feature_mean', [0.0] * features),
            ('feature_std', [1.0] * features),
        ):
            self.register_buffer(name, torch.tensor(values))
        self.register_buffer('sideways', mirror_signs(joints))
        self.register_buffer('mirror_order', torch.tensor(mirror_order(joints)))
        self.register_buffer('swap_legs', torch.tensor([*range(LEG, 2 * LEG), *range(LEG)]))

    @property
    def num_features(self) -> int:
        """Return how many values the network sees."""
        return len(self.feature_mean)

    def forward(self, state: Tensor, phase: Tensor, lateral_m: Tensor) -> Tensor:
        """
        Return the torques.

        :param state: [B, 30] kinematic observations.
        :param phase: [B] of the left leg, in [0, 1).
        :param lateral_m: [B] how far left of its line the robot walks.
        :return: [B, 10] N m, within the motors' limits.
        """
        features = self.features(state, phase, lateral_m)
        return self.torque(state, phase, self.mean(features))

    def features(self, state: Tensor, phase: Tensor, lateral_m: Tensor) -> Tensor:
        """Return what the network sees before normalisation, [B, 33]."""
        mirrored = (phase >= 0.5)[:, None]
        offset = lateral_m.clamp(-LATERAL_LIMIT_M, LATERAL_LIMIT_M)[:, None]
        reflection = state[:, self.mirror_order] * self.sideways
        state = torch.where(mirrored, reflection, state)
        offset = torch.where(mirrored, -offset, offset)
        angle = 4 * math.pi * phase[:, None]  # once around in half a cycle
        return torch.cat((state, torch.sin(angle), torch.cos(angle), offset), -1)

    def normalise(self, features: Tensor) -> Tensor:
        """Return features as the networks take them."""
        return (features - self.feature_mean) / self.feature_std

    def mean(self, features: Tensor) -> Tensor:
        """Return the residual that the network wants, mirrored as its features are."""
        return self.actor(self.normalise(features))

    def torque(self, state: Tensor, phase: Tensor, residual: Tensor) -> Tensor:
        """
        Return the torques of a residual that is mirrored as its features are.

        :param residual: [B, 10] in units of the residual scale.
        """
        mirrored = (phase >= 0.5)[:, None]
        residual = torch.where(mirrored, residual[:, self.swap_legs], residual)
        positions, velocities = state[:, self._at.positions], state[:, self._at.velocities]
        torque = (
            self.stiffness * (self.gait.joint_angles(phase, torch) - positions)
            + self.damping * (self.gait.joint_velocities(phase, torch) - velocities)
            + self.residual_scale(phase) * residual
        )
        return torch.maximum(torch.minimum(torque, self.limits_nm), -self.limits_nm)

    def residual_scale(self, phase: Tensor) -> Tensor:
        """Return the torque that a residual of one adds at each joint, [B, 10] N m."""
        legs = torch.stack((phase, phase + 0.5), -1)
        swinging = (2 * torch.sin(2 * math.pi * legs)).clamp(0, 1)
        ankle = (1 - (1 - self._swing_ankle_share) * swinging)[..., None]
        share = torch.cat((torch.ones_like(ankle).expand(-1, -1, LEG - 1), ankle), -1)
        return self.residual_nm * share.flatten(1)
