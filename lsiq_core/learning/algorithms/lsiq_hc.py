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

from lsiq_core.config import AlgorithmConfig
from lsiq_core.data.batch import Batch, Metrics
from lsiq_core.learning.algorithms.lsiq import bootstrap, value
from lsiq_core.learning.algorithms.lsiq_h import bonus_loss, CRITICS
from lsiq_core.learning.networks import Networks
from lsiq_core.learning.optimiser import State
import torch
from torch import Tensor

__all__ = ['CRITICS', 'combined_loss', 'implicit_reward']


def implicit_reward(
    config: AlgorithmConfig,
    networks: Networks,
    state: State,
    batch: Batch,
    noise: Tensor,
    absorbing_reward: float,
) -> Tensor:
    """
    Return r_Q = Q(s, a) - gamma V(s') by Eq. iq_inverse_operator, clipped to its bounds, [B].

    The optimal reward lies in [r_min, r_max] (prop:bound_r_mix); an untrained Q need not.
    """
    drawn = networks.policy.sample(state['actor'], batch.next_obs, noise)
    next_q = networks.critic(state['critic_target'], batch.next_obs, drawn.action)
    next_value = value(config, next_q, drawn.log_prob, state['log_beta'].exp(), soft=False)
    discounted = bootstrap(config, 0.0, next_value, batch.absorbing, absorbing_reward)
    q = networks.critic(state['critic'], batch.obs, batch.action)
    return (q - discounted).clamp(config.r_min, config.r_max)


def combined_loss(
    bonus: Tensor,
    config: AlgorithmConfig,
    networks: Networks,
    state: State,
    expert: Batch,
    policy: Batch,
    noise: Tensor,
) -> tuple[Tensor, Metrics]:
    """Return the Bellman error of G (Eq. trueQ_opt) on both batches."""
    k = config.regulariser * (1.0 - config.mixing)
    num_policy = len(policy.obs)
    with torch.no_grad():
        policy_reward = implicit_reward(
            config, networks, state, policy, noise[:num_policy], config.r_min
        )
        expert_reward = implicit_reward(
            config, networks, state, expert, noise[num_policy:], config.r_max
        )
        squared = k * torch.cat((policy_reward, expert_reward)).square()
    # An absorbing state earns r_min (policy) or r_max (expert) for ever (Sec. absorbing_states);
    # IQ-Learn's operator has it earn nothing.
    forever = k / (1.0 - config.discount) if config.inverse_operator == 'lsiq' else 0.0
    earned = torch.cat(
        (torch.full((num_policy,), config.r_min), torch.full((len(expert.obs),), config.r_max))
    )
    absorbed = forever * earned.square()
    loss, metrics = bonus_loss(
        bonus, config, networks, state, expert, policy, noise, squared, absorbed
    )
    return loss, metrics
