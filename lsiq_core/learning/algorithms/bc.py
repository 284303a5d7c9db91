# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
BC: behavioural cloning, the floor that imitation without a simulation reaches.

The policy's mode is regressed to the expert's action in squared error. There is no critic.
From observations the inverse dynamics model fills in the actions (BCO, Torabi et al. 2018).
The deviation of the policy is not trained and only serves to explore for that model.
"""

from __future__ import annotations

from lsiq_core.data.batch import Batch, Metrics
from lsiq_core.learning.networks import Networks
import torch
from torch import Tensor
from torch.nn import functional as F


def distance(mode: Tensor, action: Tensor, gain: float, huber_delta: float | None) -> Tensor:
    """
    Return the mean over a batch of the squared distance of modes from actions, [B, A] each.

    :param gain: the action that counts as one.
    :param huber_delta: beyond this a difference counts linearly; none squares them all.
    """
    error = (mode - action) / gain
    if huber_delta is None:
        return error.square().sum(-1).mean()
    bounded = F.huber_loss(error, torch.zeros_like(error), reduction='none', delta=huber_delta)
    return 2.0 * bounded.sum(-1).mean()  # near zero the square, not its half


def actor_loss(
    actor: Tensor, networks: Networks, expert: Batch, huber_delta: float | None = None
) -> tuple[Tensor, Metrics]:
    """Return the mean distance of the mode from the expert's action."""
    policy = networks.policy
    mode = policy.mode(actor, expert.obs)
    loss = distance(mode, expert.action, policy.action_gain, huber_delta)
    return loss, {'actor/loss': loss.detach()}
