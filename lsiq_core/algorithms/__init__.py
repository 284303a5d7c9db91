# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
The algorithms, one short file each.

To add one: write its losses in a file of its own, with the signatures of
:mod:`lsiq_core.algorithms.lsiq`, and name them here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from lsiq_core.algorithms import lsiq, lsiq_h, lsiq_hc
from lsiq_core.batch import Metrics
from torch import Tensor

Loss = Callable[..., tuple[Tensor, Metrics]]


class Algorithm(NamedTuple):
    """The parts that differ between actor-critic algorithms."""

    critic_loss: Loss
    critics: tuple[str, ...]  # whose sum the actor climbs
    bonus_loss: Loss | None = None  # trains the second critic, where there is one

    @property
    def soft(self) -> bool:
        """Return whether Q itself contains the entropy."""
        return self.bonus_loss is None


ALGORITHMS: dict[str, Algorithm] = {
    'lsiq': Algorithm(lsiq.critic_loss, lsiq.CRITICS),
    'lsiq_h': Algorithm(lsiq.critic_loss, lsiq_h.CRITICS, lsiq_h.bonus_loss),
    'lsiq_hc': Algorithm(lsiq.critic_loss, lsiq_hc.CRITICS, lsiq_hc.combined_loss),
}
