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

from lsiq_core.batch import Batch, Metrics
from lsiq_core.networks import Networks
from torch import Tensor


def actor_loss(actor: Tensor, networks: Networks, expert: Batch) -> tuple[Tensor, Metrics]:
    """Return the mean squared distance of the mode from the expert's action."""
    error = networks.policy.mode(actor, expert.obs) - expert.action
    loss = error.square().sum(-1).mean()
    return loss, {'actor/loss': loss.detach()}
