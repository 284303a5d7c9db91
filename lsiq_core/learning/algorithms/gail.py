# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
GAIL: a discriminator tells expert from policy, the policy earns what fools it.

Ho and Ermon 2016, with the reward -log(1 - D). The paper's baseline improves the policy by
TRPO on fresh samples; here the reward feeds the same soft actor-critic from the replay that
all algorithms share, as Kostrikov et al. 2019 do (docs/adr/0040). Their gradient penalty keeps
the discriminator smooth. Absorbing states are worth zero, as in the original.

From observations the discriminator judges (s, s') instead of (s, a) (GAIfO, Torabi et al. 2019).
"""

from __future__ import annotations

from dataclasses import dataclass

from lsiq_core.config import DiscriminatorConfig
from lsiq_core.data.batch import Batch, Batches, Metrics
from lsiq_core.learning.algorithms.iq import CRITICS, discounted_value
from lsiq_core.learning.algorithms.lsiq import value_metrics
from lsiq_core.learning.networks import Mlp
from lsiq_core.learning.optimiser import State
from lsiq_core.learning.update import Agent, UpdateNoise
import torch
from torch import Tensor
import torch.nn.functional as F

__all__ = ['CRITICS', 'critic_loss', 'Discriminator', 'discriminator_loss']


@dataclass(frozen=True)
class Discriminator:
    """Gives the logit of D, the probability that a transition is the expert's."""

    mlp: Mlp
    on_actions: bool  # judges (s, a), otherwise (s, s')
    gradient_penalty: float

    @classmethod
    def build(cls, config: DiscriminatorConfig, size: int, on_actions: bool) -> Discriminator:
        """Return the architecture for inputs of this size."""
        mlp = Mlp((size, *config.gail.hidden, 1), activation='tanh')
        return cls(mlp, on_actions, config.gail.gradient_penalty)

    def init(self, generator: torch.Generator) -> State:
        """Return its parameters by name."""
        return {'discriminator': self.mlp.init(generator)}

    def inputs(self, batch: Batch) -> Tensor:
        """Return what is judged, [B, D + A] or [B, 2 D]."""
        return judged(batch, self.on_actions)

    def logit(self, flat: Tensor, inputs: Tensor) -> Tensor:
        """Return log D - log(1 - D), [B]."""
        return self.mlp(flat, inputs).squeeze(-1)

    def reward(self, flat: Tensor, batch: Batch) -> Tensor:
        """Return -log(1 - D + 1e-8), [B]."""
        return reward(self.logit(flat, self.inputs(batch)))


def judged(batch: Batch, on_actions: bool) -> Tensor:
    """Return (s, a), or (s, s') where actions are unseen, [B, D + A] or [B, 2 D]."""
    return torch.cat((batch.obs, batch.action if on_actions else batch.next_obs), dim=1)


def reward(logit: Tensor) -> Tensor:
    """Return -log(1 - D + 1e-8) of a logit, at most 18.4, [B]."""
    return -(torch.sigmoid(-logit) + 1e-8).log()


def cross_entropy(expert: Tensor, policy: Tensor) -> tuple[Tensor, Metrics]:
    """Return -E_expert[log D] - E_policy[log(1 - D)] of the logits of both."""
    loss = F.softplus(-expert).mean() + F.softplus(policy).mean()
    metrics = {
        'discriminator/loss': loss.detach(),
        'discriminator/right_on_expert': (expert.detach() > 0).float().mean(),
        'discriminator/right_on_policy': (policy.detach() < 0).float().mean(),
    }
    return loss, metrics


def discriminator_loss(
    flat: Tensor, agent: Agent, batches: Batches, noise: Tensor
) -> tuple[Tensor, Metrics]:
    """
    Return the cross entropy and the gradient penalty between the batches.

    :param noise: standard normal, places the points in between, [min(E, B), 1].
    """
    judge = agent.networks.discriminator
    shown, made = judge.inputs(batches.expert), judge.inputs(batches.policy)
    loss, metrics = cross_entropy(judge.logit(flat, shown), judge.logit(flat, made))
    if judge.gradient_penalty:
        count = min(len(shown), len(made))
        share = torch.special.ndtr(noise)  # uniform in (0, 1)
        between = share * shown[:count] + (1.0 - share) * made[:count]
        slope = torch.func.grad(lambda x: judge.logit(flat, x).sum())(between)
        penalty = ((slope.square().sum(1) + 1e-12).sqrt() - 1.0).square().mean()
        loss = loss + judge.gradient_penalty * penalty
    return loss, metrics


def critic_loss(
    critic: Tensor, agent: Agent, batches: Batches, noise: UpdateNoise
) -> tuple[Tensor, Metrics]:
    """Return the soft Bellman error of the policy's transitions under the learned reward."""
    networks, (expert, policy) = agent.networks, batches
    with torch.no_grad():
        earned = networks.discriminator.reward(agent.state['discriminator'], policy)
        draws = noise.next_action.policy
        target = earned + discounted_value(agent, policy.next_obs, policy.absorbing, draws)
        shown = expert.action  # where it is known; only reported
        if not networks.discriminator.on_actions:
            shown = networks.policy.mode(agent.state['actor'], expert.obs)
        expert_q = networks.critic(critic, expert.obs, shown)
    q = networks.critic(critic, policy.obs, policy.action)
    loss = (q - target).square().mean()
    metrics = {
        **value_metrics(loss, expert_q, q, policy.absorbing),
        'discriminator/reward_policy': earned.mean(),
    }
    return loss, metrics
