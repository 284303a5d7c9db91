# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Transitions as the losses see them: one batch of the expert, one of the policy."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


class Batch(NamedTuple):
    """Transitions of one source, observations already normalised."""

    obs: Tensor  # [B, D]
    action: Tensor  # [B, A] in [-1, 1]
    next_obs: Tensor  # [B, D]
    absorbing: Tensor  # [B], 1 where next_obs is absorbing (the paper's nu)


class Batches(NamedTuple):
    """The two batches of an update, E and B transitions."""

    expert: Batch
    policy: Batch


def pack(obs: Tensor, action: Tensor, next_obs: Tensor, absorbing: Tensor) -> Tensor:
    """Lay transitions side by side in rows [B, 2 D + A + 1], one gather per batch later."""
    return torch.cat((obs, action, next_obs, absorbing[:, None]), dim=1)


def unpack(rows: Tensor, obs_dim: int, action_dim: int) -> Batch:
    """Take packed rows apart again, as views."""
    obs, action, next_obs, absorbing = rows.split((obs_dim, action_dim, obs_dim, 1), dim=1)
    return Batch(obs, action, next_obs, absorbing.squeeze(1))


def draw(rows: Tensor, count: int, generator: torch.Generator) -> Tensor:
    """Return ``count`` rows drawn with replacement, the same ones on every device."""
    drawn = torch.randint(len(rows), (count,), generator=generator)
    return rows.index_select(0, drawn.to(rows.device))


Metrics = dict[str, Tensor]  # named scalars of one update
