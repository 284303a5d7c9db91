# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Proximal policy optimisation, as far as the expert needs it."""

from __future__ import annotations

from dataclasses import dataclass, fields
import math

from lsiq_core.robot import RobotSpec
from sim.tracking.policy import ExpertPolicy
import torch
from torch import nn, Tensor


@dataclass(frozen=True)
class PpoConfig:
    """What is known to work; the time constant of the discount is 0.7 s."""

    gamma: float = math.exp(-0.01 / 0.7)
    trace_decay: float = 0.95  # lambda of the generalised advantage estimate
    clip: float = 0.2
    epochs: int = 6
    minibatch: int = 1024
    learning_rate: float = 5e-4
    initial_std: float = 0.25
    kl_low: float = 0.01  # learn faster below
    kl_high: float = 0.03  # learn slower above
    kl_stop: float = 0.05  # and stop here until the next data
    value_weight: float = 0.5
    max_grad_norm: float = 1.0


class Learner(nn.Module):
    """The policy, how much it explores, and its value function."""

    def __init__(self, config: PpoConfig, robot: RobotSpec) -> None:
        """
        Create all networks.

        :param config: for the exploration at the start.
        :param robot: its file.
        """
        super().__init__()
        self.policy = ExpertPolicy(robot)
        joints = len(self.policy.gait.joints)
        self.log_std = nn.Parameter(torch.full((joints,), math.log(config.initial_std)))
        self.critic = nn.Sequential(
            nn.Linear(self.policy.num_features, 128),
            nn.ELU(),
            nn.Linear(128, 128),
            nn.ELU(),
            nn.Linear(128, 1),
        )

    def value(self, features: Tensor) -> Tensor:
        """Return the expected discounted reward, [B]."""
        normal = (features - self.policy.feature_mean) / self.policy.feature_std
        return self.critic(normal).squeeze(-1)

    def log_prob(self, mean: Tensor, residual: Tensor) -> Tensor:
        """Return the log-density of residuals under the policy, [B]."""
        z = (residual - mean) / self.log_std.exp()
        return (-0.5 * z**2 - self.log_std - 0.5 * math.log(2 * math.pi)).sum(-1)


@dataclass
class RolloutBuffer:
    """One round of experience, flattened to [B, ...] before learning."""

    features: Tensor  # [B, 33]
    residual: Tensor  # [B, 10]
    mean: Tensor  # [B, 10], of the policy that acted
    log_prob: Tensor  # [B]
    advantage: Tensor  # [B]
    target: Tensor  # [B], of the value

    def rows(self, index: Tensor) -> RolloutBuffer:
        """Take a minibatch."""
        return RolloutBuffer(*(getattr(self, item.name)[index] for item in fields(self)))


def advantages(
    reward: Tensor,
    value: Tensor,
    next_value: Tensor,
    terminated: Tensor,
    ended: Tensor,
    config: PpoConfig,
) -> Tensor:
    """
    Return generalised advantage estimates.

    :param reward: [T, N] like all others.
    :param value: of the states acted in.
    :param next_value: of their true successors, even where an episode ended.
    :param terminated: fell: nothing follows.
    :param ended: fell or ran out of time: the next row belongs to another episode.
    """
    delta = reward + config.gamma * next_value * (~terminated) - value
    advantage = torch.zeros_like(delta)
    running = torch.zeros_like(delta[0])
    for t in range(len(delta) - 1, -1, -1):
        running = delta[t] + config.gamma * config.trace_decay * running * (~ended[t])
        advantage[t] = running
    return advantage


def ppo_loss(learner: Learner, batch: RolloutBuffer, config: PpoConfig) -> tuple[Tensor, Tensor]:
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
    learner: Learner,
    optimiser: torch.optim.Optimizer,
    experience: RolloutBuffer,
    config: PpoConfig,
    generator: torch.Generator,
) -> dict[str, float]:
    """Learn from one round of experience."""
    count = len(experience.features)
    kls: list[float] = []
    for _ in range(config.epochs):
        for index in torch.randperm(count, generator=generator).split(config.minibatch):
            loss, kl = ppo_loss(learner, experience.rows(index), config)
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(learner.parameters(), config.max_grad_norm)
            optimiser.step()
            kls.append(float(kl))
        if kls[-1] > config.kl_stop:
            break
    _adapt(optimiser, kls[-1], config)
    return {'kl': kls[-1], 'learning_rate': optimiser.param_groups[0]['lr']}


def _adapt(optimiser: torch.optim.Optimizer, kl: float, config: PpoConfig) -> None:
    rate = optimiser.param_groups[0]['lr']
    if kl > config.kl_high:
        rate /= 1.5
    elif kl < config.kl_low:
        rate *= 1.5
    for group in optimiser.param_groups:
        group['lr'] = min(max(rate, 1e-5), 2e-3)
