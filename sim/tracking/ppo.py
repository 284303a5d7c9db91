# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Proximal policy optimisation, as far as a tracker needs it."""

from __future__ import annotations

from dataclasses import dataclass, fields
import math

from sim.tracking.tracker import mlp, Tracker
import torch
from torch import nn, Tensor


@dataclass(frozen=True)
class PpoConfig:
    """What is known to work."""

    horizon_s: float = 0.7  # time constant of the discount
    robust_horizon_s: float = 2.0  # where worlds differ: a push is survived or not a second later
    trace_decay: float = 0.95  # lambda of the generalised advantage estimate
    clip: float = 0.2
    epochs: int = 5
    minibatch: int = 512
    learning_rate: float = 5e-4
    initial_std: float = 0.25
    kl_low: float = 0.01  # learn faster below
    kl_high: float = 0.03  # learn slower above
    kl_stop: float = 0.05  # and stop here until the next data
    value_weight: float = 0.5
    max_grad_norm: float = 1.0

    def gamma(self, rate_hz: float, randomised: bool) -> float:
        """Return the discount of one control step."""
        horizon_s = self.robust_horizon_s if randomised else self.horizon_s
        return math.exp(-1 / (rate_hz * horizon_s))


class ActorCritic(nn.Module):
    """The policy, how much it explores, and its value function."""

    def __init__(self, policy: Tracker, config: PpoConfig) -> None:
        """
        Create the value function.

        :param policy: who acts.
        :param config: for the exploration at the start.
        """
        super().__init__()
        self.policy = policy
        joints = policy.num_actions
        self.log_std = nn.Parameter(torch.full((joints,), math.log(config.initial_std)))
        self.critic = mlp(len(policy.feature_mean), 128, 1)

    def value(self, seen: Tensor) -> Tensor:
        """Return the expected discounted reward, [B]."""
        return self.critic(self.policy.normalise(seen)).squeeze(-1)

    def log_prob(self, mean: Tensor, residual: Tensor) -> Tensor:
        """Return the log-density of residuals under the policy, [B]."""
        z = (residual - mean) / self.log_std.exp()
        return (-0.5 * z**2 - self.log_std - 0.5 * math.log(2 * math.pi)).sum(-1)


@dataclass
class RolloutBuffer:
    """One round of experience, flattened to [B, ...] before learning."""

    features: Tensor  # [B, F]
    residual: Tensor  # [B, A]
    mean: Tensor  # [B, A], of the policy that acted
    log_prob: Tensor  # [B]
    advantage: Tensor  # [B]
    target: Tensor  # [B], of the value

    def rows(self, index: Tensor) -> RolloutBuffer:
        """Take a minibatch."""
        return RolloutBuffer(*(getattr(self, item.name)[index] for item in fields(self)))


@dataclass
class Outcomes:
    """What followed each step of a round, [T, N] each."""

    reward: Tensor
    value: Tensor  # of the states acted in
    next_value: Tensor  # of their true successors, even where an episode ended
    terminated: Tensor  # lost the reference: nothing follows
    ended: Tensor  # or ran out of time: the next row belongs to another episode


def advantages(outcomes: Outcomes, gamma: float, trace_decay: float) -> Tensor:
    """Return generalised advantage estimates, [T, N]."""
    delta = outcomes.reward + gamma * outcomes.next_value * (~outcomes.terminated)
    delta = delta - outcomes.value
    advantage = torch.zeros_like(delta)
    running = torch.zeros_like(delta[0])
    for t in range(len(delta) - 1, -1, -1):
        running = delta[t] + gamma * trace_decay * running * (~outcomes.ended[t])
        advantage[t] = running
    return advantage


def ppo_loss(
    learner: ActorCritic, batch: RolloutBuffer, config: PpoConfig
) -> tuple[Tensor, Tensor]:
    """Return the clipped objective with the value's error, and the KL from who acted."""
    mean = learner.policy.mean(batch.features)
    ratio = (learner.log_prob(mean, batch.residual) - batch.log_prob).exp()
    clipped = ratio.clamp(1 - config.clip, 1 + config.clip)
    gain = torch.minimum(ratio * batch.advantage, clipped * batch.advantage).mean()
    value_error = (learner.value(batch.features) - batch.target).square().mean()
    # With the same spread, two Gaussians differ by their means alone.
    kl = 0.5 * (((mean - batch.mean) / learner.log_std.exp()) ** 2).sum(-1).mean()
    return config.value_weight * value_error - gain, kl.detach()


def update(
    learner: ActorCritic,
    optimiser: torch.optim.Optimizer,
    buffer: RolloutBuffer,
    config: PpoConfig,
    generator: torch.Generator,
) -> dict[str, float]:
    """Learn from one round of experience."""
    count = len(buffer.features)
    kl = 0.0
    for _ in range(config.epochs):
        for index in torch.randperm(count, generator=generator).split(config.minibatch):
            loss, distance = ppo_loss(learner, buffer.rows(index), config)
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(learner.parameters(), config.max_grad_norm)
            optimiser.step()
            kl = float(distance)
        if kl > config.kl_stop:
            break
    _adapt(optimiser, kl, config)
    return {'kl': kl, 'learning_rate': optimiser.param_groups[0]['lr']}


def _adapt(optimiser: torch.optim.Optimizer, kl: float, config: PpoConfig) -> None:
    """Keep the policy moving by as much as its data allow."""
    rate = optimiser.param_groups[0]['lr']
    if kl > config.kl_high:
        rate /= 1.5
    elif kl < config.kl_low:
        rate *= 1.5
    for group in optimiser.param_groups:
        group['lr'] = min(max(rate, 1e-5), 2e-3)


class FeatureScale:
    """Mean and spread of what the network has seen so far."""

    def __init__(self, size: int) -> None:
        """Start from nothing seen."""
        self.count = 0.0
        self.total = torch.zeros(size, dtype=torch.float64)
        self.squares = torch.zeros(size, dtype=torch.float64)

    def take(self, features: Tensor, policy: Tracker) -> None:
        """Add features and write the scale into the policy."""
        exact = features.double()
        self.count += len(exact)
        self.total += exact.sum(0)
        self.squares += exact.square().sum(0)
        mean = self.total / self.count
        variance = (self.squares / self.count - mean.square()).clamp_min(0)
        policy.feature_mean.copy_(mean)
        policy.feature_std.copy_(variance.sqrt().clamp_min(0.01))

    def state(self) -> dict[str, Tensor]:
        """Return what a continuation needs."""
        count = torch.tensor(self.count, dtype=torch.float64)
        return {'count': count, 'total': self.total, 'squares': self.squares}

    def restore(self, state: dict[str, Tensor]) -> None:
        """Take it back."""
        self.count = float(state['count'])
        self.total, self.squares = state['total'], state['squares']


def finished_round(
    rows: list[tuple[Tensor, ...]], outcomes: Outcomes, gamma: float, trace_decay: float
) -> RolloutBuffer:
    """
    Put one round together.

    :param rows: of each step the features, residuals, means and log-densities, [N, ...].
    :param outcomes: what followed.
    """
    advantage = advantages(outcomes, gamma, trace_decay).flatten()
    target = advantage + outcomes.value.flatten()
    advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
    features, residual, mean, log_prob = (torch.cat(x) for x in zip(*rows))
    return RolloutBuffer(features, residual, mean, log_prob, advantage, target)
