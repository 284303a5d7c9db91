# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Transitions as the losses see them: one batch of the expert, one of the policy."""

from typing import NamedTuple

import torch
from torch import Tensor


class Batch(NamedTuple):
    """Transitions of one source, observations already normalised."""

    obs: Tensor  # [B, D]
    action: Tensor  # [B, A] in [-1, 1]
    next_obs: Tensor  # [B, D]
    absorbing: Tensor  # [B], 1 where next_obs is absorbing (the paper's nu)
    around: Tensor = torch.zeros(0)  # [B, 2 D] the states before and after; [B, 0] where not kept


class Batches(NamedTuple):
    """The two batches of an update, E and B transitions."""

    expert: Batch
    policy: Batch

    def joined(self) -> Batch:
        """Return both as one, the expert's transitions first."""
        return Batch(*(torch.cat(pair) for pair in zip(*self)))


def pack(obs: Tensor, action: Tensor, next_obs: Tensor, absorbing: Tensor) -> Tensor:
    """Lay transitions side by side in rows [B, 2 D + A + 1], one gather per batch later."""
    return torch.cat((obs, action, next_obs, absorbing[:, None]), dim=1)


def with_neighbours(rows: Tensor, obs_dim: int) -> Tensor:
    """
    Append the states before and after to packed transitions in the order of time.

    The first of an episode has its own state before it, the last its own successor after it.

    :param rows: [N, 2 D + A + 1]; a transition that goes on where the one before ended follows it.
    :return: [N, 4 D + A + 1].
    """
    obs, next_obs = rows[:, :obs_dim], rows[:, -1 - obs_dim : -1]
    follows = (next_obs[:-1] == obs[1:]).all(dim=1, keepdim=True)
    before = torch.cat((obs[:1], torch.where(follows, obs[:-1], obs[1:])))
    after = torch.cat((torch.where(follows, next_obs[1:], next_obs[:-1]), next_obs[-1:]))
    return torch.cat((rows, before, after), dim=1)


def unpack(rows: Tensor, obs_dim: int, action_dim: int) -> Batch:
    """Take packed rows apart again, as views."""
    sizes = (obs_dim, action_dim, obs_dim, 1)
    obs, action, next_obs, absorbing, around = rows.split(
        (*sizes, rows.shape[1] - sum(sizes)), dim=1
    )
    return Batch(obs, action, next_obs, absorbing.squeeze(1), around)


def draw(rows: Tensor, count: int, generator: torch.Generator) -> Tensor:
    """Return ``count`` rows drawn with replacement, the same ones on every device."""
    drawn = torch.randint(len(rows), (count,), generator=generator)
    return rows.index_select(0, drawn.to(rows.device))


Metrics = dict[str, Tensor]  # named scalars of one update
