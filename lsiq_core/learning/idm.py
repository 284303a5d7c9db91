# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
The inverse dynamics model: it tells which action led from s to s'.

Deterministic regression on the policy's own transitions (Eq. idm_loss), used to fill in
the actions that the demonstrations do not show (Eq. on_objective). The dynamics are shared
by expert and policy, so what is learned on one serves the other.
"""

from __future__ import annotations

from dataclasses import dataclass

from lsiq_core.data.batch import Batch, Metrics
from lsiq_core.learning.networks import Mlp, Residual
import torch
from torch import Tensor

_TANH_SCALES = (1.0, 4.0, 16.0)


@dataclass(frozen=True)
class InverseDynamics:
    """Predicts normalised actions [B, A] from pairs of normalised observations."""

    mlp: Mlp | Residual
    inputs: str
    """'states', 'difference' or 'multiscale', as InverseDynamicsConfig explains."""
    window: bool = False
    """Whether it also sees how the state came and how it went on."""

    @staticmethod
    def input_size(inputs: str, window: bool, obs_dim: int) -> int:
        """Return how many features the model sees."""
        parts = {'states': 2, 'difference': 2, 'multiscale': 2 + len(_TANH_SCALES)}[inputs]
        return obs_dim * (parts + (2 if window else 0))

    def features(self, batch: Batch, difference_scale: Tensor) -> Tensor:
        """
        Return the model's inputs.

        One control step moves the state by a small part of its range, and the action shows in
        that small part; divided by its own scale it is as large as the rest. Impacts make
        differences of many sizes, which the tanh at several scales keep apart. Where a velocity
        is clipped, two positions give its mean over the step; how it changes, which is what an
        action does, takes the changes before and after.
        """
        obs, next_obs = batch.obs, batch.next_obs
        wider = []
        if self.window:
            before, after = batch.around.chunk(2, dim=1)
            for change in (obs - before, after - next_obs):
                wider.append((change / difference_scale).clamp(-10.0, 10.0))
        if self.inputs == 'states':
            return torch.cat((obs, next_obs, *wider), dim=1)
        difference = (next_obs - obs) / difference_scale
        if self.inputs == 'multiscale':
            wider += [(difference / scale).tanh() for scale in _TANH_SCALES]
        return torch.cat((obs, difference.clamp(-10.0, 10.0), *wider), dim=1)

    def predict(self, flat: Tensor, batch: Batch, difference_scale: Tensor) -> Tensor:
        """Return the actions of a batch as predicted, clipped to the action box, [B, A]."""
        return self.mlp(flat, self.features(batch, difference_scale)).clamp(-1.0, 1.0)

    def loss(self, flat: Tensor, batch: Batch, difference_scale: Tensor) -> tuple[Tensor, Metrics]:
        """Return the squared error of Eq. idm_loss on transitions with known actions."""
        predicted = self.mlp(flat, self.features(batch, difference_scale))
        loss = (predicted - batch.action).square().sum(-1).mean()
        return loss, {'idm/loss': loss.detach()}
