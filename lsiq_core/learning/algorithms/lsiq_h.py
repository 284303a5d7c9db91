# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
LSIQ-H: a hard Q-function and an entropy critic.

The soft Q is decomposed into Q + H (Eq. decomp_soft_Q). Q is trained as in LSIQ but with
hard values, so that the fixed target and the clipping are exact; H collects the discounted
entropy that the policy has yet to earn.
"""

from __future__ import annotations

from lsiq_core.config import AlgorithmConfig
from lsiq_core.data.batch import Batch, Metrics
from lsiq_core.learning.networks import Networks
from lsiq_core.learning.optimiser import State
import torch
from torch import Tensor

CRITICS = ('critic', 'bonus')

_CEILING_UP, _CEILING_DOWN = 1e-2, 1e-4  # as the paper's code moves the running maximum


def bonus_loss(
    bonus: Tensor,
    config: AlgorithmConfig,
    networks: Networks,
    state: State,
    expert: Batch,
    policy: Batch,
    noise: Tensor,
    squared_reward: Tensor | float = 0.0,
    absorbed: Tensor | float = 0.0,
) -> tuple[Tensor, Metrics]:
    """
    Return the Bellman error of the bonus critic on both batches (Eq. trueQ_opt with k = 0).

    :param noise: standard normal for the next states, policy first, [B + E, A].
    :param squared_reward: k r_Q(s, a)^2, policy first, [B + E]; zero for H.
    :param absorbed: the bonus of an absorbing successor, where nothing is chosen, [B + E].
    """
    num_policy = len(policy.obs)
    obs = torch.cat((policy.obs, expert.obs))
    action = torch.cat((policy.action, expert.action))
    absorbing = torch.cat((policy.absorbing, expert.absorbing))
    with torch.no_grad():
        next_obs = torch.cat((policy.next_obs, expert.next_obs))
        drawn = networks.policy.sample(state['actor'], next_obs, noise)
        entropy = -drawn.log_prob
        ceiling = _moved_ceiling(state['entropy_ceiling'], entropy[:num_policy])
        if config.entropy_clipping:
            expert_entropy = entropy[num_policy:].maximum(ceiling)
            entropy = torch.cat((entropy[:num_policy], expert_entropy))
        beta = state['log_beta'].exp()
        successor = networks.critic(state['bonus_target'], next_obs, drawn.action)
        continued = beta * entropy + successor
        future = (1.0 - absorbing) * continued + absorbing * absorbed
        target = squared_reward + config.discount * future
    predicted = networks.critic(bonus, obs, action)
    loss = (predicted - target).square().mean()
    metrics = {
        'bonus/loss': loss.detach(),
        'bonus/policy': predicted[:num_policy].detach().mean(),
        'bonus/expert': predicted[num_policy:].detach().mean(),
        'bonus/entropy_ceiling': ceiling,
    }
    return loss, metrics


def _moved_ceiling(ceiling: Tensor, entropy: Tensor) -> Tensor:
    """Return the running maximum of the policy's entropy: quick to rise, slow to fall."""
    highest = entropy.max()
    rate = torch.where(highest > ceiling, _CEILING_UP, _CEILING_DOWN)
    return torch.lerp(ceiling, highest, rate)
