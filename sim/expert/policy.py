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

from sim.atlas import gait
from sim.atlas.table import CONTROL_FRACTION, LINKS
import torch
from torch import nn, Tensor

# Of flexion, adduction, rotation, knee and ankle. Held over 10 ms, damping is stable only
# while kd dt / I stays below about 0.5; a swinging foot has I = 0.02 kg m^2.
STIFFNESS = (1000.0, 1500.0, 100.0, 400.0, 60.0)  # N m / rad
DAMPING = (30.0, 70.0, 2.5, 8.0, 1.0)  # N m s / rad
RESIDUAL_NM = (300.0, 200.0, 60.0, 300.0, 250.0)
# For the same reason the ankle's residual fades while its foot is in the air.
SWING_ANKLE_SHARE = 0.15
LATERAL_LIMIT_M = 0.3

NUM_STATE, NUM_JOINTS = 30, 10
NUM_FEATURES = NUM_STATE + 3
# The order of a kinematic observation seen in a mirror: legs swapped, sideways negated.
MIRROR_ORDER = (
    *range(4), *range(9, 14), *range(4, 9), *range(14, 20), *range(25, 30), *range(20, 25)
)  # fmt: skip
SIDEWAYS = (2, 3, 15, 18, 19)  # list, rotation, lateral velocity, list and rotation rates
_SWAP_LEGS = (*range(5, 10), *range(5))


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

    def __init__(self, hidden: int = 128) -> None:
        """
        Create the network.

        :param hidden: width of its two hidden layers.
        """
        super().__init__()
        self.actor = nn.Sequential(
            nn.Linear(NUM_FEATURES, hidden),
            nn.ELU(),
            nn.Linear(hidden, hidden),
            nn.ELU(),
            nn.Linear(hidden, NUM_JOINTS),
        )
        last = self.actor[-1]
        assert isinstance(last, nn.Linear)
        with torch.no_grad():
            # The first steps are the bare reference: a random residual would only fall.
            last.weight.mul_(0.01)
            last.bias.zero_()
        sideways = torch.ones(NUM_STATE)
        sideways[list(SIDEWAYS)] = -1
        gears = {link.hinge.name: link.hinge.gear_nm for link in LINKS if link.hinge}
        limits = [
            CONTROL_FRACTION * gears[f'{name}_{side}']
            for side in 'lr'
            for name in (
                'hip_flexion',
                'hip_adduction',
                'hip_rotation',
                'knee_angle',
                'ankle_angle',
            )
        ]
        for name, values in (
            ('stiffness', STIFFNESS * 2),
            ('damping', DAMPING * 2),
            ('residual_nm', RESIDUAL_NM * 2),
            ('limits_nm', limits),
            ('feature_mean', [0.0] * NUM_FEATURES),
            ('feature_std', [1.0] * NUM_FEATURES),
        ):
            self.register_buffer(name, torch.tensor(values))
        self.register_buffer('sideways', sideways)
        self.register_buffer('mirror_order', torch.tensor(MIRROR_ORDER))
        self.register_buffer('swap_legs', torch.tensor(_SWAP_LEGS))

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

    def mean(self, features: Tensor) -> Tensor:
        """Return the residual that the network wants, mirrored as its features are."""
        return self.actor((features - self.feature_mean) / self.feature_std)

    def torque(self, state: Tensor, phase: Tensor, residual: Tensor) -> Tensor:
        """
        Return the torques of a residual that is mirrored as its features are.

        :param residual: [B, 10] in units of the residual scale.
        """
        mirrored = (phase >= 0.5)[:, None]
        residual = torch.where(mirrored, residual[:, self.swap_legs], residual)
        positions, velocities = state[:, 4:14], state[:, 20:30]
        torque = (
            self.stiffness * (gait.joint_angles(phase, torch) - positions)
            + self.damping * (gait.joint_velocities(phase, torch) - velocities)
            + self.residual_scale(phase) * residual
        )
        return torch.maximum(torch.minimum(torque, self.limits_nm), -self.limits_nm)

    def residual_scale(self, phase: Tensor) -> Tensor:
        """Return the torque that a residual of one adds at each joint, [B, 10] N m."""
        legs = torch.stack((phase, phase + 0.5), -1)
        swinging = (2 * torch.sin(2 * math.pi * legs)).clamp(0, 1)
        ankle = (1 - (1 - SWING_ANKLE_SHARE) * swinging)[..., None]
        share = torch.cat((torch.ones_like(ankle).expand(-1, -1, 4), ankle), -1)
        return self.residual_nm * share.flatten(1)
