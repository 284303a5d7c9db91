# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
SQIL: soft Q-learning with reward 1 on the expert's transitions and 0 on the policy's.

Reddy et al. 2020: one squared soft Bellman error over both batches. No clipping, and
absorbing states are worth zero, whatever the switches of LS-IQ say.
"""

from __future__ import annotations

from lsiq_core.config import AlgorithmConfig
from lsiq_core.data.batch import Batch, Metrics
from lsiq_core.learning.algorithms.iq import CRITICS, soft_value
from lsiq_core.learning.algorithms.lsiq import value_metrics
from lsiq_core.learning.networks import Networks
from lsiq_core.learning.optimiser import State
import torch
from torch import Tensor

__all__ = ['CRITICS', 'critic_loss']

_EXPERT_REWARD, _POLICY_REWARD = 1.0, 0.0


def critic_loss(
    critic: Tensor,
    config: AlgorithmConfig,
    networks: Networks,
    state: State,
    expert: Batch,
    policy: Batch,
    noise: Tensor,
    soft: bool = True,
) -> tuple[Tensor, Metrics]:
    """
    Return the squared soft Bellman error with constant rewards.

    :param noise: standard normal; its first rows are for the next states, [>= E + B, A].
    """
    sizes = (len(expert.obs), len(policy.obs))
    obs, action, next_obs, absorbing = (torch.cat(pair) for pair in zip(expert, policy))
    with torch.no_grad():
        following = soft_value(
            state['critic_target'], networks, state, next_obs, noise[: sum(sizes)]
        )
        discounted = (1.0 - absorbing) * config.discount * following
    q = networks.critic(critic, obs, action)
    expert_error, policy_error = (q - discounted).split(sizes)
    loss = (
        config.mixing * (expert_error - _EXPERT_REWARD).square().mean()
        + (1.0 - config.mixing) * (policy_error - _POLICY_REWARD).square().mean()
    )
    expert_q, policy_q = q.split(sizes)
    return loss, value_metrics(loss, expert_q, policy_q, policy.absorbing)
