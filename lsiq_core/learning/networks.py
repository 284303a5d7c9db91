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
            pieces += _linear(fan_in, fan_out, gain, generator)
            if self.layer_norm and layer < last:
                pieces += [torch.ones(fan_out), torch.zeros(fan_out)]
        return torch.cat(pieces)

    def split(self, flat: Tensor) -> list[Tensor]:
        """Return the parameters as views into the flat vector."""
        return _split(flat, self.shapes)

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


@dataclass(frozen=True)
class Residual:
    """
    A residual network of SimBa's kind, which learns more from each update than an Mlp.

    A linear layer to ``width``; ``blocks`` times a layer norm, a linear layer to twice the
    width, ReLU and a linear layer back, added to what came in; a layer norm; the output.
    """

    inputs: int
    outputs: int
    width: int = 96
    blocks: int = 2

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """Return the shapes of all parameters in the order of the flat vector."""
        wide, norm = 2 * self.width, ((self.width,), (self.width,))
        block = (*norm, (wide, self.width), (wide,), (self.width, wide), (self.width,))
        first = ((self.width, self.inputs), (self.width,))
        last = ((self.outputs, self.width), (self.outputs,))
        return (*first, *self.blocks * block, *norm, *last)

    @property
    def num_parameters(self) -> int:
        """Return the length of the flat vector."""
        return sum(math.prod(shape) for shape in self.shapes)

    def init(self, generator: torch.Generator) -> Tensor:
        """Draw weights as :class:`Mlp` does; layer norms begin as plain normalisations."""
        norm = [torch.ones(self.width), torch.zeros(self.width)]
        pieces = _linear(self.inputs, self.width, 1.0, generator)
        for _ in range(self.blocks):
            pieces += norm
            pieces += _linear(self.width, 2 * self.width, math.sqrt(2.0), generator)
            pieces += _linear(2 * self.width, self.width, 1.0, generator)
        pieces += [*norm, *_linear(self.width, self.outputs, 1.0, generator)]
        return torch.cat(pieces)

    def __call__(self, flat: Tensor, x: Tensor) -> Tensor:
        """
        Apply the network.

        :param flat: parameters [P].
        :param x: inputs [B, inputs].
        :return: outputs [B, outputs].
        """
        parameters = iter(_split(flat, self.shapes))
        x = F.linear(x, next(parameters), next(parameters))
        for _ in range(self.blocks):
            inner = F.layer_norm(x, x.shape[-1:], next(parameters), next(parameters))
            inner = F.relu(F.linear(inner, next(parameters), next(parameters)), inplace=True)
            x = x + F.linear(inner, next(parameters), next(parameters))
        x = F.layer_norm(x, x.shape[-1:], next(parameters), next(parameters))
        return F.linear(x, next(parameters), next(parameters))


def _linear(fan_in: int, fan_out: int, gain: float, generator: torch.Generator) -> list[Tensor]:
    """Return Xavier-uniform weights and default biases of one layer, flat."""
    bound = gain * (6 / (fan_in + fan_out)) ** 0.5
    return [
        _uniform(fan_out * fan_in, bound, generator),
        _uniform(fan_out, fan_in**-0.5, generator),
    ]


def _split(flat: Tensor, shapes: tuple[tuple[int, ...], ...]) -> list[Tensor]:
    """Return the parameters as views into the flat vector."""
    lengths = [math.prod(shape) for shape in shapes]
    return [piece.view(shape) for piece, shape in zip(flat.split(lengths), shapes)]


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
    action_gain: float = 1.0  # one, of mean and deviation, means this part of the action box

    def distribution(self, flat: Tensor, obs: Tensor) -> tuple[Tensor, Tensor]:
        """Return mean and log standard deviation before the squashing, [B, A] each."""
        mean, log_std = self.mlp(flat, obs).chunk(2, dim=-1)
        log_std = log_std.clamp(self.log_std_min, self.log_std_max) + math.log(self.action_gain)
        return mean * self.action_gain, log_std

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

    mlp: Mlp | Residual
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
