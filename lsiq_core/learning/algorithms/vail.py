# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
VAIL: GAIL whose discriminator sees the transition through an information bottleneck.

Peng et al. 2019: an encoder gives a Gaussian over z, the discriminator judges z, and the mean
divergence of the encoding from a standard normal is held at I_c by a multiplier that moves
by dual ascent. The reward is -log(1 - D) at the mean of z. The rest is
:mod:`lsiq_core.learning.algorithms.gail`.
"""

from __future__ import annotations

from dataclasses import dataclass

from lsiq_core.config import DiscriminatorConfig
from lsiq_core.data.batch import Batch, Batches, Metrics
from lsiq_core.learning.algorithms.gail import critic_loss, CRITICS, cross_entropy, judged, reward
from lsiq_core.learning.networks import Mlp
from lsiq_core.learning.optimiser import State
from lsiq_core.learning.update import Agent
import torch
from torch import Tensor

__all__ = ['Bottleneck', 'critic_loss', 'CRITICS', 'discriminator_loss']

_LOG_STD_LIMIT = 5.0


@dataclass(frozen=True)
class Bottleneck:
    """Encoder and linear discriminator in one flat vector."""

    encoder: Mlp
    head: Mlp
    on_actions: bool  # judges (s, a), otherwise (s, s')
    information: float  # I_c, nats
    dual_rate: float
    first_weight: float

    @classmethod
    def build(cls, config: DiscriminatorConfig, size: int, on_actions: bool) -> Bottleneck:
        """Return the architecture for inputs of this size."""
        vail = config.vail
        encoder = Mlp((size, *vail.hidden, 2 * vail.latent), activation='tanh')
        head = Mlp((vail.latent, 1))
        limits = (vail.information, vail.dual_rate, vail.bottleneck_weight)
        return cls(encoder, head, on_actions, *limits)

    def init(self, generator: torch.Generator) -> State:
        """Return its parameters by name, and the multiplier of the constraint."""
        parameters = torch.cat((self.encoder.init(generator), self.head.init(generator)))
        weight = torch.tensor(self.first_weight)
        return {'discriminator': parameters, 'bottleneck_weight': weight}

    def inputs(self, batch: Batch) -> Tensor:
        """Return what is judged, [B, D + A] or [B, 2 D]."""
        return judged(batch, self.on_actions)

    def encode(self, flat: Tensor, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Return mean and log deviation of z, [B, Z] each."""
        encoder = flat[: self.encoder.num_parameters]
        mean, log_std = self.encoder(encoder, inputs).chunk(2, dim=-1)
        return mean, log_std.clamp(-_LOG_STD_LIMIT, _LOG_STD_LIMIT)

    def judge(self, flat: Tensor, latent: Tensor) -> Tensor:
        """Return the logit of D(z), [B]."""
        return self.head(flat[self.encoder.num_parameters :], latent).squeeze(-1)

    def reward(self, flat: Tensor, batch: Batch) -> Tensor:
        """Return -log(1 - D + 1e-8) at the mean encoding, [B]."""
        return reward(self.judge(flat, self.encode(flat, self.inputs(batch))[0]))


def divergence(mean: Tensor, log_std: Tensor) -> Tensor:
    """Return KL(N(mean, std) || N(0, 1)) of each row, [B]."""
    return (0.5 * (mean.square() + (2.0 * log_std).exp() - 1.0) - log_std).sum(-1)


def discriminator_loss(
    flat: Tensor, agent: Agent, batches: Batches, noise: Tensor
) -> tuple[Tensor, Metrics]:
    """
    Return the cross entropy on sampled z plus the weighted excess of information.

    The metric ``discriminator/bottleneck_weight`` is the multiplier after its dual step,
    max(0, weight + rate (KL - I_c)).

    :param noise: standard normal for z, expert first, [E + B, Z].
    """
    judge, weight = agent.networks.discriminator, agent.state['bottleneck_weight']
    inputs = torch.cat([judge.inputs(batch) for batch in batches])
    mean, log_std = judge.encode(flat, inputs)
    logit = judge.judge(flat, mean + log_std.exp() * noise)
    sizes = [len(batch.obs) for batch in batches]
    loss, metrics = cross_entropy(*logit.split(sizes))
    shown, made = divergence(mean, log_std).split(sizes)
    information = 0.5 * (shown.mean() + made.mean())  # over the mixture of both
    excess = information - judge.information
    metrics['discriminator/information'] = information.detach()
    metrics['discriminator/bottleneck_weight'] = (
        weight + judge.dual_rate * excess.detach()
    ).clamp(min=0.0)
    return loss + weight * excess, metrics
