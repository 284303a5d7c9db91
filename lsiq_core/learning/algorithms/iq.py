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

from lsiq_core.data.batch import Batches, Metrics
from lsiq_core.learning.algorithms.lsiq import value_metrics
from lsiq_core.learning.update import Agent, Draws, UpdateNoise
import torch
from torch import Tensor

CRITICS = ('critic',)


class Estimates(NamedTuple):
    """Values of both batches, expert first, [E + B]."""

    q: Tensor  # Q(s, a) of the transitions
    value: Tensor  # V(s), of a fresh action
    discounted: Tensor  # y = (1 - nu) gamma V(s'), without a gradient


def soft_value(critic: Tensor, agent: Agent, obs: Tensor, noise: Tensor) -> Tensor:
    """Return V(s) = Q(s, a) - beta log pi(a|s) of a sampled action, [B]."""
    drawn = agent.sample(obs, noise)
    q = agent.networks.critic(critic, obs, drawn.action.detach())
    return q - agent.beta() * drawn.log_prob.detach()


def discounted_value(
    agent: Agent, next_obs: Tensor, absorbing: Tensor, draws: Draws | Tensor
) -> Tensor:
    """Return (1 - nu) gamma V(s') of Eq. iqlearn_operator by the target critic, [B]."""
    noise = draws if isinstance(draws, Tensor) else torch.cat(draws)
    with torch.no_grad():
        following = soft_value(agent.state['critic_target'], agent, next_obs, noise)
        return (1.0 - absorbing) * agent.config.discount * following


def estimates(critic: Tensor, agent: Agent, batches: Batches, noise: UpdateNoise) -> Estimates:
    """Return what both forms of the objective are made of."""
    obs, action, next_obs, absorbing, _ = batches.joined()
    return Estimates(
        agent.networks.critic(critic, obs, action),
        soft_value(critic, agent, obs, torch.cat(noise.action)),
        discounted_value(agent, next_obs, absorbing, noise.next_action),
    )


def objective(
    agent: Agent, batches: Batches, found: Estimates, occupancy: Tensor
) -> tuple[Tensor, Metrics]:
    """
    Return minus IQ-Learn's objective.

    :param occupancy: the estimate of the policy's expected reward plus entropy.
    """
    config, sizes = agent.config, [len(batch.obs) for batch in batches]
    reward = found.q - found.discounted  # r_Q of Eq. iqlearn_operator
    expert_reward, policy_reward = reward.split(sizes)
    penalty = config.c * (  # Eq. reg
        config.alpha * expert_reward.square().mean()
        + (1.0 - config.alpha) * policy_reward.square().mean()
    )
    loss = occupancy - expert_reward.mean() + penalty
    expert_q, policy_q = found.q.split(sizes)
    metrics = {
        **value_metrics(loss, expert_q, policy_q, batches.policy.absorbing),
        'critic/reward_expert': expert_reward.detach().mean(),
        'critic/reward_policy': policy_reward.detach().mean(),
    }
    return loss, metrics


def critic_loss(
    critic: Tensor, agent: Agent, batches: Batches, noise: UpdateNoise
) -> tuple[Tensor, Metrics]:
    """Return minus the objective, the policy's term as mean V(s) - y over all states."""
    found = estimates(critic, agent, batches, noise)
    return objective(agent, batches, found, (found.value - found.discounted).mean())
