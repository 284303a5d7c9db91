# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
Networks as pure functions of one flat parameter vector each.

A flat vector makes the optimiser, the target average and the checkpoint one line each,
and lets one definition of a loss run eagerly or inside a compiled graph.
"""

from __future__ import annotations

from dataclasses import dataclass
import math
from typing import Any, NamedTuple

import torch
from torch import Tensor
import torch.nn.functional as F


@dataclass(frozen=True)
class Mlp:
    """A multilayer perceptron with ReLU or tanh, and layer norm before it where asked."""

    sizes: tuple[int, ...]
    layer_norm: bool = False
    activation: str = 'relu'

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """Return the shapes of all parameters in the order of the flat vector."""
        shapes: list[tuple[int, ...]] = []
        last = len(self.sizes) - 2
        for layer, (fan_in, fan_out) in enumerate(zip(self.sizes, self.sizes[1:])):
            shapes += [(fan_out, fan_in), (fan_out,)]
            if self.layer_norm and layer < last:
                shapes += [(fan_out,), (fan_out,)]
        return tuple(shapes)

    @property
    def num_parameters(self) -> int:
        """Return the length of the flat vector."""
        return sum(math.prod(shape) for shape in self.shapes)

    def init(self, generator: torch.Generator) -> Tensor:
        """Draw Xavier-uniform weights (gain sqrt 2, output 1) as the paper's code does."""
        pieces: list[Tensor] = []
        last = len(self.sizes) - 2
        for layer, (fan_in, fan_out) in enumerate(zip(self.sizes, self.sizes[1:])):
            gain = 1.0 if layer == last else math.sqrt(2.0)
            pieces.append(
                _uniform(fan_out * fan_in, gain * (6 / (fan_in + fan_out)) ** 0.5, generator)
            )
            pieces.append(_uniform(fan_out, fan_in**-0.5, generator))
            if self.layer_norm and layer < last:
                pieces += [torch.ones(fan_out), torch.zeros(fan_out)]
        return torch.cat(pieces)

    def split(self, flat: Tensor) -> list[Tensor]:
        """Return the parameters as views into the flat vector."""
        lengths = [math.prod(shape) for shape in self.shapes]
        return [piece.view(shape) for piece, shape in zip(flat.split(lengths), self.shapes)]

    def __call__(self, flat: Tensor, x: Tensor) -> Tensor:
        """
        Apply the network.

        :param flat: parameters [P].
        :param x: inputs [B, sizes[0]].
        :return: outputs [B, sizes[-1]].
        """
        parameters = iter(self.split(flat))
        for layer in range(len(self.sizes) - 1):
            x = F.linear(x, next(parameters), next(parameters))
            if layer < len(self.sizes) - 2:
                if self.layer_norm:
                    x = F.layer_norm(x, x.shape[-1:], next(parameters), next(parameters))
                x = x.tanh() if self.activation == 'tanh' else F.relu(x, inplace=True)
        return x


def _uniform(length: int, bound: float, generator: torch.Generator) -> Tensor:
    return torch.empty(length).uniform_(-bound, bound, generator=generator)


class PolicySample(NamedTuple):
    """Actions drawn from the policy, with what the losses need of them."""

    action: Tensor  # [B, A] in [-1, 1]
    log_prob: Tensor  # [B]
    mean: Tensor  # [B, A] before the squashing


@dataclass(frozen=True)
class SquashedGaussian:
    """The policy: a Gaussian squashed by tanh into the action box [-1, 1]."""

    mlp: Mlp
    log_std_min: float = -5.0
    log_std_max: float = 2.0
    action_gain: float = 1.0  # an output of one means this part of the action box

    def distribution(self, flat: Tensor, obs: Tensor) -> tuple[Tensor, Tensor]:
        """Return mean and log standard deviation before the squashing, [B, A] each."""
        mean, log_std = self.mlp(flat, obs).chunk(2, dim=-1)
        return mean * self.action_gain, log_std.clamp(self.log_std_min, self.log_std_max)

    def sample(self, flat: Tensor, obs: Tensor, noise: Tensor) -> PolicySample:
        """Turn standard normal noise [B, A] into actions and their log densities."""
        mean, log_std = self.distribution(flat, obs)
        latent = mean + log_std.exp() * noise
        gaussian = -0.5 * noise.square() - log_std - 0.5 * math.log(2 * math.pi)
        # log(1 - tanh(u)^2) = 2 (log 2 - u - softplus(-2u)), exact where tanh saturates.
        squash = 2.0 * (math.log(2.0) - latent - F.softplus(-2.0 * latent))
        return PolicySample(latent.tanh(), (gaussian - squash).sum(-1), mean)

    def mode(self, flat: Tensor, obs: Tensor) -> Tensor:
        """Return the deterministic action [B, A]."""
        return self.distribution(flat, obs)[0].tanh()


@dataclass(frozen=True)
class StateActionValue:
    """A critic; its output is scaled so that the network itself works near one."""

    mlp: Mlp
    scale: float = 1.0
    action_gain: float = 1.0  # an action of this size is an input of one

    def __call__(self, flat: Tensor, obs: Tensor, action: Tensor) -> Tensor:
        """Return values [B]."""
        inputs = torch.cat((obs, action / self.action_gain), dim=-1)
        return self.scale * self.mlp(flat, inputs).squeeze(-1)


@dataclass(frozen=True)
class Networks:
    """The architectures that the losses close over; their parameters live elsewhere."""

    policy: SquashedGaussian
    critic: StateActionValue
    discriminator: Any = None  # of gail or vail
