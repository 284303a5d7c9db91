# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
IQ: IQ-Learn with the chi-square regulariser on the mixture (Garg et al. 2021).

Maximises Eq. iq_objec_orig with the regulariser of Eq. reg, as the public experiments do:
the policy's term is estimated by values, E[V(s) - gamma V(s')] over all states, expert and
policy. The loss is minus that. Absorbing states are worth zero (Eq. iqlearn_operator) and
nothing is clipped, whatever the switches of LS-IQ say: they are what LS-IQ adds.
"""

from __future__ import annotations

from typing import NamedTuple

from lsiq_core.config import AlgorithmConfig
from lsiq_core.data.batch import Batch, Metrics
from lsiq_core.learning.algorithms.lsiq import value_metrics
from lsiq_core.learning.networks import Networks
from lsiq_core.learning.optimiser import State
import torch
from torch import Tensor

CRITICS = ('critic',)


class Estimates(NamedTuple):
    """Values of both batches, expert first, [E + B]."""

    q: Tensor  # Q(s, a) of the transitions
    value: Tensor  # V(s), of a fresh action
    discounted: Tensor  # y = (1 - nu) gamma V(s'), without a gradient


def soft_value(
    critic: Tensor, networks: Networks, state: State, obs: Tensor, noise: Tensor
) -> Tensor:
    """Return V(s) = Q(s, a) - beta log pi(a|s) of a sampled action, [B]."""
    drawn = networks.policy.sample(state['actor'], obs, noise)
    q = networks.critic(critic, obs, drawn.action.detach())
    return q - state['log_beta'].exp() * drawn.log_prob.detach()


def estimates(
    critic: Tensor,
    config: AlgorithmConfig,
    networks: Networks,
    state: State,
    expert: Batch,
    policy: Batch,
    noise: Tensor,
) -> Estimates:
    """
    Return what both forms of the objective are made of.

    :param noise: standard normal, rows for the next states, then for the states of both
        batches, [2 (E + B), A].
    """
    obs, action, next_obs, absorbing = (torch.cat(pair) for pair in zip(expert, policy))
    next_noise, noise = noise.split((len(obs), len(obs)))
    with torch.no_grad():
        following = soft_value(state['critic_target'], networks, state, next_obs, next_noise)
        discounted = (1.0 - absorbing) * config.discount * following  # Eq. iqlearn_operator
    return Estimates(
        networks.critic(critic, obs, action),
        soft_value(critic, networks, state, obs, noise),
        discounted,
    )


def objective(
    config: AlgorithmConfig, found: Estimates, occupancy: Tensor, policy: Batch
) -> tuple[Tensor, Metrics]:
    """
    Return minus IQ-Learn's objective.

    :param occupancy: the estimate of the policy's expected reward plus entropy.
    """
    num_policy = len(policy.obs)
    num_expert = len(found.q) - num_policy
    reward = found.q - found.discounted  # r_Q of Eq. iqlearn_operator
    expert_reward, policy_reward = reward.split((num_expert, num_policy))
    penalty = config.regulariser * (  # Eq. reg
        config.mixing * expert_reward.square().mean()
        + (1.0 - config.mixing) * policy_reward.square().mean()
    )
    loss = occupancy - expert_reward.mean() + penalty
    expert_q, policy_q = found.q.split((num_expert, num_policy))
    metrics = {
        **value_metrics(loss, expert_q, policy_q, policy.absorbing),
        'critic/reward_expert': expert_reward.detach().mean(),
        'critic/reward_policy': policy_reward.detach().mean(),
    }
    return loss, metrics


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
    """Return minus the objective, the policy's term as mean V(s) - y over all states."""
    found = estimates(critic, config, networks, state, expert, policy, noise)
    return objective(config, found, (found.value - found.discounted).mean(), policy)
