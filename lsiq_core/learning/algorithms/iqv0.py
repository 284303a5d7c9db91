# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
IQv0: IQ-Learn with the telescoped policy term.

The policy's expected reward telescopes to (1 - gamma) E[V(s_0)] over its start states
(Garg et al. 2021); as the public experiments do, every expert state counts as one. The rest
is :mod:`lsiq_core.learning.algorithms.iq`.
"""

from __future__ import annotations

from lsiq_core.config import AlgorithmConfig
from lsiq_core.data.batch import Batch, Metrics
from lsiq_core.learning.algorithms.iq import CRITICS, estimates, objective
from lsiq_core.learning.networks import Networks
from lsiq_core.learning.optimiser import State
from torch import Tensor

__all__ = ['CRITICS', 'critic_loss']


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
    """Return minus the objective, the policy's term as (1 - gamma) mean V over expert states."""
    found = estimates(critic, config, networks, state, expert, policy, noise)
    start = (1.0 - config.discount) * found.value[: len(expert.obs)].mean()
    return objective(config, found, start, policy)
