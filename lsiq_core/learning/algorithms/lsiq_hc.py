# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
LSIQ-HC: a hard Q-function and one critic for entropy and regularisation together.

The regulariser of Eq. reg depends on the policy, so the policy's own problem contains
k E[r^2] with k = c (1 - alpha). The combined critic G of Eq. trueQ_opt collects it beside
the entropy; Q + G is then the exact objective of the policy (Q dagger).
"""

from __future__ import annotations

from lsiq_core.data.batch import Batch, Batches, Metrics
from lsiq_core.learning.algorithms.lsiq import bootstrap, target_value
from lsiq_core.learning.algorithms.lsiq_h import CRITICS, entropy_critic_loss, Regularisation
from lsiq_core.learning.update import Agent, UpdateNoise
import torch
from torch import Tensor

__all__ = ['combined_loss', 'CRITICS', 'implicit_reward']


def implicit_reward(agent: Agent, batch: Batch, noise: Tensor, absorbing_reward: float) -> Tensor:
    """
    Return r_Q = Q(s, a) - gamma V(s') by Eq. iq_inverse_operator, clipped to its bounds, [B].

    The optimal reward lies in [r_min, r_max] (prop:bound_r_mix); an untrained Q need not.
    """
    config = agent.config
    next_value = target_value(agent, batch.next_obs, noise, soft=False)
    discounted = bootstrap(config, 0.0, next_value, batch.absorbing, absorbing_reward)
    q = agent.networks.critic(agent.state['critic'], batch.obs, batch.action)
    return (q - discounted).clamp(config.r_min, config.r_max)


def combined_loss(
    entropy_critic: Tensor, agent: Agent, batches: Batches, noise: UpdateNoise
) -> tuple[Tensor, Metrics]:
    """Return the Bellman error of G (Eq. trueQ_opt) on both batches."""
    config, (expert, policy) = agent.config, batches
    k = config.c * (1.0 - config.alpha)
    draws = noise.entropy_critic
    with torch.no_grad():
        policy_reward = implicit_reward(agent, policy, draws.policy, config.r_min)
        expert_reward = implicit_reward(agent, expert, draws.expert, config.r_max)
        squared = k * torch.cat((policy_reward, expert_reward)).square()
    # An absorbing state earns r_min (policy) or r_max (expert) for ever (Sec. absorbing_states);
    # IQ-Learn's operator has it earn nothing.
    forever = k / (1.0 - config.discount) if config.inverse_operator == 'lsiq' else 0.0
    device = policy.obs.device
    earned = torch.cat(
        (
            torch.full((len(policy.obs),), config.r_min, device=device),
            torch.full((len(expert.obs),), config.r_max, device=device),
        )
    )
    added = Regularisation(squared, forever * earned.square())
    return entropy_critic_loss(entropy_critic, agent, batches, noise, added)
