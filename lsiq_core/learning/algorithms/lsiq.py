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

from lsiq_core.config import AlgorithmConfig
from lsiq_core.data.batch import Batch, Metrics
from lsiq_core.learning.algorithms.bc import distance
from lsiq_core.learning.networks import Networks, PolicySample
from lsiq_core.learning.optimiser import State
import torch
from torch import Tensor

CRITICS = ('critic',)


def value(
    config: AlgorithmConfig, q: Tensor, log_prob: Tensor, beta: Tensor, *, soft: bool
) -> Tensor:
    """Return the (soft) value of states whose action was sampled, clipped where asked, [B]."""
    v = q - beta * log_prob if soft else q
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
    Return the least-squares Bellman error of Eq. full_lsiq.

    :param critic: parameters that the gradient is taken for.
    :param noise: standard normal, rows for the next states of the policy and of the
        expert, then for the states of both, [2 (E + B), A].
    :param soft: whether Q contains the entropy (LSIQ) or an extra critic does (H, HC).
    """
    num_policy, num_expert = len(policy.obs), len(expert.obs)
    next_noise, noise = noise.split((num_policy + num_expert, num_policy + num_expert))
    beta = state['log_beta'].exp()
    bootstraps_expert = not config.fixed_expert_target or config.policy_term == 'fresh'
    if bootstraps_expert:
        next_obs = torch.cat((policy.next_obs, expert.next_obs))
    else:
        next_obs = policy.next_obs
    with torch.no_grad():
        drawn = networks.policy.sample(state['actor'], next_obs, next_noise[: len(next_obs)])
        next_q = networks.critic(state['critic_target'], next_obs, drawn.action)
        next_value = value(config, next_q, drawn.log_prob, beta, soft=soft)
        policy_target = bootstrap(
            config, config.r_min, next_value[:num_policy], policy.absorbing, config.r_min
        )
        expert_target = torch.full((num_expert,), config.q_max)  # Eq. q_target
        if not config.fixed_expert_target:
            expert_target = bootstrap(
                config, config.r_max, next_value[num_policy:], expert.absorbing, config.r_max
            )
    q = networks.critic(
        critic, torch.cat((expert.obs, policy.obs)), torch.cat((expert.action, policy.action))
    )
    expert_q, policy_q = q.split((num_expert, num_policy))
    expert_error = (expert_q - expert_target).square()
    policy_error = (policy_q - policy_target).square()
    if config.policy_term == 'fresh':
        policy_error = _fresh_error(
            critic, config, networks, state, expert, policy, noise, next_value, soft
        )
    loss = config.mixing * expert_error.mean() + (1.0 - config.mixing) * policy_error.mean()
    metrics = {
        **value_metrics(loss, expert_q, policy_q, policy.absorbing),
        'critic/target_policy': policy_target.mean(),
    }
    return loss, metrics


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
    critic: Tensor,
    config: AlgorithmConfig,
    networks: Networks,
    state: State,
    expert: Batch,
    policy: Batch,
    noise: Tensor,
    next_value: Tensor,
    soft: bool,
) -> Tensor:
    """Return (V(s) - (r_min + gamma V(s')))^2 over both batches, as the paper's code has it."""
    with torch.no_grad():
        obs = torch.cat((policy.obs, expert.obs))
        drawn = networks.policy.sample(state['actor'], obs, noise)
        absorbing = torch.cat((policy.absorbing, expert.absorbing))
        target = bootstrap(config, config.r_min, next_value, absorbing, config.r_min)
    v = networks.critic(critic, obs, drawn.action)
    if soft:
        v = v - state['log_beta'].exp() * drawn.log_prob
    return (v - target).square()


def actor_loss(
    actor: Tensor,
    config: AlgorithmConfig,
    networks: Networks,
    state: State,
    obs: Tensor,
    noise: Tensor,
    mean_penalty: float,
    critics: tuple[str, ...] = CRITICS,
    cloned: Tensor | None = None,
    cloning: float = 0.0,
    outlier: float | None = None,
) -> tuple[Tensor, Metrics]:
    """
    Return KL(pi || exp Q / Z) up to a constant: beta log pi - Q, in units of Q_max.

    :param critics: the state's entries whose sum is the policy's Q: Q alone, or with the
        entropy and regularisation critic (Q dagger below Eq. true_Q).
    :param cloned: actions of the expert, known or predicted, in the first rows of ``obs``.
    :param cloning: weight of the mode's distance from them.
    :param outlier: distance beyond which it counts linearly.
    """
    drawn: PolicySample = networks.policy.sample(actor, obs, noise)
    q = sum(networks.critic(state[name], obs, drawn.action) for name in critics)
    beta = state['log_beta'].exp()
    objective = (beta * drawn.log_prob - q).mean() / config.q_max
    loss = objective + mean_penalty * drawn.mean.square().mean()
    if cloned is not None:
        mode = drawn.mean[: len(cloned)].tanh()
        loss = loss + cloning * distance(mode, cloned, networks.policy.action_gain, outlier)
    metrics = {
        'actor/loss': loss.detach(),
        'actor/entropy': -drawn.log_prob.detach().mean(),
        'actor/saturation': (drawn.action.detach().abs() > 0.99).float().mean(),
    }
    return loss, metrics


def _masked_mean(values: Tensor, mask: Tensor) -> Tensor:
    """Return the mean where the mask is one; NaN says that there was none."""
    return (values * mask).sum() / mask.sum()
