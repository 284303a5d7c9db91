# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""The parts of one update by name: what goes in, and what a loss may look at."""

from __future__ import annotations

from typing import NamedTuple

from lsiq_core.config import AlgorithmConfig
from lsiq_core.learning.networks import Networks, PolicySample
from lsiq_core.learning.optimiser import State
from torch import Tensor


class Rows(NamedTuple):
    """Packed transitions, [., 2 D + A + 1] each."""

    expert: Tensor  # [E, ...]; the actions are replaced where they are not known
    policy: Tensor  # [B, ...]
    known: Tensor | None = None  # what the inverse dynamics model learns from; None: policy


class Rates(NamedTuple):
    """Learning rates, as tensors so that a schedule needs no recompilation."""

    actor: Tensor
    critic: Tensor
    idm: Tensor
    discriminator: Tensor
    beta: Tensor


class Draws(NamedTuple):
    """Standard normal noise for one action at each row of both batches."""

    expert: Tensor  # [E, A]
    policy: Tensor  # [B, A]


class UpdateNoise(NamedTuple):
    """All standard normal noise of one update."""

    next_action: Draws  # actions at the next states, in the critic's target
    action: Draws  # fresh actions at the states, in the critic's loss
    actor: Tensor  # [E + B, A], actions at the states that the actor is improved at
    entropy_critic: Draws  # actions at the next states, in the entropy critic's target
    unseen_action: Tensor  # [E or 0, A], the policy's own actions in place of the expert's
    discriminator: Tensor  # [min(E, B), 1] places between the batches; VAIL: [E + B, Z] codes


class Agent(NamedTuple):
    """What a loss looks at beside the parameters that its gradient is taken for."""

    config: AlgorithmConfig
    networks: Networks
    state: State

    def beta(self) -> Tensor:
        """Return the weight of the entropy."""
        return self.state['log_beta'].exp()

    def sample(self, obs: Tensor, noise: Tensor) -> PolicySample:
        """Return the present policy's actions at these states."""
        return self.networks.policy.sample(self.state['actor'], obs, noise)

    def target_q(self, obs: Tensor, action: Tensor) -> Tensor:
        """Return the target critic's values, [B]."""
        return self.networks.critic(self.state['critic_target'], obs, action)
