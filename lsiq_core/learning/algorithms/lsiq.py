# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
LSIQ: least squares inverse Q-learning without extra critics.

The objective is Eq. full_lsiq of the paper: the expert's Q is regressed to Q_max, the
policy's Q to r_min plus the discounted value of the successor, which for an absorbing
successor is known in closed form. Minimising it maximises the original inverse
reinforcement learning objective (prop:ls_obj).

Deviations, all switches of :class:`~lsiq_core.config.AlgorithmConfig`: the paper's code
regresses Q of a fresh action (``policy_term: fresh``), its own equation that of the
replayed one (``stored``, the default). Without an entropy critic Q is soft, and target
clipping clips the soft value.
"""

from __future__ import annotations

from typing import NamedTuple

from lsiq_core.config import AlgorithmConfig
from lsiq_core.data.batch import Batches, Metrics
from lsiq_core.learning.algorithms.bc import distance
from lsiq_core.learning.update import Agent, UpdateNoise
import torch
from torch import Tensor

CRITICS = ('critic',)


def target_value(agent: Agent, obs: Tensor, noise: Tensor, *, soft: bool) -> Tensor:
    """Return the target critic's (soft) value at a sampled action, clipped where asked, [B]."""
    config, drawn = agent.config, agent.sample(obs, noise)
    q = agent.target_q(obs, drawn.action)
    v = q - agent.beta() * drawn.log_prob if soft else q
    return v.clamp(config.q_min, config.q_max) if config.clip_targets else v


def bootstrap(
    config: AlgorithmConfig,
    reward: Tensor | float,
    next_value: Tensor,
    absorbing: Tensor,
    absorbing_reward: float,
) -> Tensor:
    """
    Return reward plus discounted successor value, [B].

    An absorbing successor earns its reward for ever (Eq. iq_inverse_operator), or, with
    IQ-Learn's operator, is worth nothing (Eq. iqlearn_operator).
    """
    absorbed = 0.0
    if config.inverse_operator == 'lsiq':
        absorbed = absorbing_reward / (1.0 - config.discount)
    successor = (1.0 - absorbing) * next_value + absorbing * absorbed
    return reward + config.discount * successor


def critic_loss(
    critic: Tensor, agent: Agent, batches: Batches, noise: UpdateNoise
) -> tuple[Tensor, Metrics]:
    """
    Return the least-squares Bellman error of Eq. full_lsiq.

    Q contains the entropy (LSIQ), unless the agent has an entropy critic (H, HC).

    :param critic: parameters that the gradient is taken for.
    """
    config, (expert, policy) = agent.config, batches
    num_policy, num_expert = len(policy.obs), len(expert.obs)
    if not config.fixed_expert_target or config.policy_term == 'fresh':
        next_obs = torch.cat((policy.next_obs, expert.next_obs))
        next_noise = torch.cat((noise.next_action.policy, noise.next_action.expert))
    else:
        next_obs, next_noise = policy.next_obs, noise.next_action.policy
    with torch.no_grad():
        next_value = target_value(agent, next_obs, next_noise, soft=_is_soft(agent))
        policy_target = bootstrap(
            config, config.r_min, next_value[:num_policy], policy.absorbing, config.r_min
        )
        device = expert.obs.device
        expert_target = torch.full((num_expert,), config.q_max, device=device)  # Eq. q_target
        if not config.fixed_expert_target:
            expert_target = bootstrap(
                config, config.r_max, next_value[num_policy:], expert.absorbing, config.r_max
            )
    q = agent.networks.critic(
        critic, torch.cat((expert.obs, policy.obs)), torch.cat((expert.action, policy.action))
    )
    expert_q, policy_q = q.split((num_expert, num_policy))
    expert_error = (expert_q - expert_target).square()
    policy_error = (policy_q - policy_target).square()
    if config.policy_term == 'fresh':
        policy_error = _fresh_error(critic, agent, batches, noise, next_value)
    loss = config.alpha * expert_error.mean() + (1.0 - config.alpha) * policy_error.mean()
    metrics = {
        **value_metrics(loss, expert_q, policy_q, policy.absorbing),
        'critic/target_policy': policy_target.mean(),
    }
    return loss, metrics


def _is_soft(agent: Agent) -> bool:
    return 'entropy_critic' not in agent.state


def value_metrics(loss: Tensor, expert_q: Tensor, policy_q: Tensor, absorbing: Tensor) -> Metrics:
    """Return what every critic reports of its values, as Fig. ablation_terminal_state shows."""
    q = policy_q.detach()
    return {
        'critic/loss': loss.detach(),
        'critic/q_expert': expert_q.detach().mean(),
        'critic/q_policy': q.mean(),
        'critic/q_absorbing': _masked_mean(q, absorbing),
        'critic/q_other': _masked_mean(q, 1.0 - absorbing),
    }


def _fresh_error(
    critic: Tensor, agent: Agent, batches: Batches, noise: UpdateNoise, next_value: Tensor
) -> Tensor:
    """Return (V(s) - (r_min + gamma V(s')))^2 over both batches, as the paper's code has it."""
    config, (expert, policy) = agent.config, batches
    with torch.no_grad():
        obs = torch.cat((policy.obs, expert.obs))
        drawn = agent.sample(obs, torch.cat((noise.action.policy, noise.action.expert)))
        absorbing = torch.cat((policy.absorbing, expert.absorbing))
        target = bootstrap(config, config.r_min, next_value, absorbing, config.r_min)
    v = agent.networks.critic(critic, obs, drawn.action)
    if _is_soft(agent):
        v = v - agent.beta() * drawn.log_prob
    return (v - target).square()


class ActorTerms(NamedTuple):
    """What the actor's loss is made of beside the states and the noise."""

    critics: tuple[str, ...] = CRITICS
    """
    The state's entries whose sum is the policy's Q: Q alone, or with the entropy and
    regularisation critic (Q dagger below Eq. true_Q).
    """
    mean_penalty: float = 0.0  # weight of the squared pre-tanh mean, in units of the gain
    bc_weight: float = 0.0  # weight of the mode's distance from the expert's actions
    huber_delta: float | None = None  # distance beyond which it counts linearly
    expert_action: Tensor | None = None  # known or predicted, of the first rows of ``obs``


def actor_loss(
    actor: Tensor, agent: Agent, obs: Tensor, noise: Tensor, terms: ActorTerms
) -> tuple[Tensor, Metrics]:
    """Return KL(pi || exp Q / Z) up to a constant: beta log pi - Q, in units of Q_max."""
    networks = agent.networks
    drawn = networks.policy.sample(actor, obs, noise)
    q = sum(networks.critic(agent.state[name], obs, drawn.action) for name in terms.critics)
    objective = (agent.beta() * drawn.log_prob - q).mean() / agent.config.q_max
    output = drawn.mean / networks.policy.action_gain
    loss = objective + terms.mean_penalty * output.square().mean()
    shown = terms.expert_action
    if shown is not None:
        mode, gain = drawn.mean[: len(shown)].tanh(), networks.policy.action_gain
        loss = loss + terms.bc_weight * distance(mode, shown, gain, terms.huber_delta)
    metrics = {
        'actor/loss': loss.detach(),
        'actor/entropy': -drawn.log_prob.detach().mean(),
        'actor/saturation': (drawn.action.detach().abs() > 0.99).float().mean(),
    }
    return loss, metrics


def _masked_mean(values: Tensor, mask: Tensor) -> Tensor:
    """Return the mean where the mask is one; NaN says that there was none."""
    return (values * mask).sum() / mask.sum()
