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

from typing import NamedTuple

from lsiq_core.data.batch import Batches, Metrics
from lsiq_core.learning.update import Agent, UpdateNoise
import torch
from torch import Tensor

CRITICS = ('critic', 'entropy_critic')

_CEILING_UP, _CEILING_DOWN = 1e-2, 1e-4  # as the paper's code moves the running maximum


class Regularisation(NamedTuple):
    """What LSIQ-HC adds to the entropy, policy first, [B + E] each; nothing for LSIQ-H."""

    squared_reward: Tensor | float = 0.0  # k r_Q(s, a)^2
    absorbed: Tensor | float = 0.0  # the value of an absorbing successor, where nothing is chosen


NOTHING = Regularisation()


def entropy_critic_loss(
    entropy_critic: Tensor,
    agent: Agent,
    batches: Batches,
    noise: UpdateNoise,
    added: Regularisation = NOTHING,
) -> tuple[Tensor, Metrics]:
    """Return the Bellman error of the entropy critic on both batches (Eq. trueQ_opt)."""
    expert, policy = batches
    num_policy = len(policy.obs)
    obs = torch.cat((policy.obs, expert.obs))
    action = torch.cat((policy.action, expert.action))
    absorbing = torch.cat((policy.absorbing, expert.absorbing))
    critic = agent.networks.critic
    with torch.no_grad():
        next_obs = torch.cat((policy.next_obs, expert.next_obs))
        draws = noise.entropy_critic
        drawn = agent.sample(next_obs, torch.cat((draws.policy, draws.expert)))
        entropy = -drawn.log_prob
        ceiling = _moved_ceiling(agent.state['entropy_ceiling'], entropy[:num_policy])
        if agent.config.entropy_clipping:
            expert_entropy = entropy[num_policy:].maximum(ceiling)
            entropy = torch.cat((entropy[:num_policy], expert_entropy))
        successor = critic(agent.state['entropy_critic_target'], next_obs, drawn.action)
        continued = agent.beta() * entropy + successor
        future = (1.0 - absorbing) * continued + absorbing * added.absorbed
        target = added.squared_reward + agent.config.discount * future
    predicted = critic(entropy_critic, obs, action)
    loss = (predicted - target).square().mean()
    metrics = {
        'entropy_critic/loss': loss.detach(),
        'entropy_critic/policy': predicted[:num_policy].detach().mean(),
        'entropy_critic/expert': predicted[num_policy:].detach().mean(),
        'entropy_critic/entropy_ceiling': ceiling,
    }
    return loss, metrics


def _moved_ceiling(ceiling: Tensor, entropy: Tensor) -> Tensor:
    """Return the running maximum of the policy's entropy: quick to rise, slow to fall."""
    highest = entropy.max()
    rate = torch.where(highest > ceiling, _CEILING_UP, _CEILING_DOWN)
    return torch.lerp(ceiling, highest, rate)
