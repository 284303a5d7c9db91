# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
The algorithms, one short file each.

To add one: write its losses in a file of its own, with the signatures of
:mod:`lsiq_core.learning.algorithms.lsiq`, and name them here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from lsiq_core.config import RunConfig
from lsiq_core.data.batch import Metrics
from lsiq_core.errors import ConfigError
from lsiq_core.learning.algorithms import gail, iq, iqv0, lsiq, lsiq_h, lsiq_hc, sqil, vail
from torch import Tensor

Loss = Callable[..., tuple[Tensor, Metrics]]


class Algorithm(NamedTuple):
    """The parts that differ between the algorithms."""

    critic_loss: Loss | None  # none clones behaviour
    critics: tuple[str, ...] = ()  # whose sum the actor climbs
    entropy_critic_loss: Loss | None = None  # trains the second critic, where there is one
    discriminator: Any = None  # the class that judges transitions, where rewards are learned
    discriminator_loss: Loss | None = None

    @property
    def learns_from_expert_actions(self) -> bool:
        """Return whether the expert's transitions train critic or actor, not only a reward."""
        return self.discriminator is None


def by_name(name: str) -> Algorithm:
    """Return the algorithm that settings name."""
    if name not in ALGORITHMS:
        raise ConfigError(f'algorithm.name: {name!r} is none of {sorted(ALGORITHMS)}')
    return ALGORITHMS[name]


def predicts_actions(config: RunConfig) -> bool:
    """Return whether an inverse dynamics model fills in the expert's actions."""
    wanted = config.observations_only and config.unseen_actions == 'idm'
    return wanted and by_name(config.algorithm.name).learns_from_expert_actions


ALGORITHMS: dict[str, Algorithm] = {
    'lsiq': Algorithm(lsiq.critic_loss, lsiq.CRITICS),
    'lsiq_h': Algorithm(lsiq.critic_loss, lsiq_h.CRITICS, lsiq_h.entropy_critic_loss),
    'lsiq_hc': Algorithm(lsiq.critic_loss, lsiq_hc.CRITICS, lsiq_hc.combined_loss),
    'iq': Algorithm(iq.critic_loss, iq.CRITICS),
    'iqv0': Algorithm(iqv0.critic_loss, iqv0.CRITICS),
    'sqil': Algorithm(sqil.critic_loss, sqil.CRITICS),
    'gail': Algorithm(
        gail.critic_loss,
        gail.CRITICS,
        discriminator=gail.Discriminator,
        discriminator_loss=gail.discriminator_loss,
    ),
    'vail': Algorithm(
        vail.critic_loss,
        vail.CRITICS,
        discriminator=vail.Bottleneck,
        discriminator_loss=vail.discriminator_loss,
    ),
    'bc': Algorithm(critic_loss=None),
}
