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

from lsiq_core.data.batch import Batches, Metrics
from lsiq_core.learning.algorithms.iq import CRITICS, discounted_value
from lsiq_core.learning.algorithms.lsiq import value_metrics
from lsiq_core.learning.update import Agent, UpdateNoise
from torch import Tensor

__all__ = ['critic_loss', 'CRITICS']

_EXPERT_REWARD, _POLICY_REWARD = 1.0, 0.0


def critic_loss(
    critic: Tensor, agent: Agent, batches: Batches, noise: UpdateNoise
) -> tuple[Tensor, Metrics]:
    """Return the squared soft Bellman error with constant rewards."""
    sizes = [len(batch.obs) for batch in batches]
    obs, action, next_obs, absorbing, _ = batches.joined()
    discounted = discounted_value(agent, next_obs, absorbing, noise.next_action)
    q = agent.networks.critic(critic, obs, action)
    expert_error, policy_error = (q - discounted).split(sizes)
    alpha = agent.config.alpha
    loss = (
        alpha * (expert_error - _EXPERT_REWARD).square().mean()
        + (1.0 - alpha) * (policy_error - _POLICY_REWARD).square().mean()
    )
    expert_q, policy_q = q.split(sizes)
    return loss, value_metrics(loss, expert_q, policy_q, batches.policy.absorbing)
