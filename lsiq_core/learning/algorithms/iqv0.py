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

from lsiq_core.data.batch import Batches, Metrics
from lsiq_core.learning.algorithms.iq import CRITICS, estimates, objective
from lsiq_core.learning.update import Agent, UpdateNoise
from torch import Tensor

__all__ = ['critic_loss', 'CRITICS']


def critic_loss(
    critic: Tensor, agent: Agent, batches: Batches, noise: UpdateNoise
) -> tuple[Tensor, Metrics]:
    """Return minus the objective, the policy's term as (1 - gamma) mean V over expert states."""
    found = estimates(critic, agent, batches, noise)
    of_expert = found.value[: len(batches.expert.obs)]
    return objective(agent, batches, found, (1.0 - agent.config.discount) * of_expert.mean())
