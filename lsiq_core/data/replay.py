# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""The policy's transitions, packed row by row."""

from lsiq_core.data.batch import draw
import torch
from torch import Tensor


class Replay:
    """
    A ring of packed transitions.

    Rows grow on demand, so that a long run's capacity costs memory only as it fills.
    """

    def __init__(self, capacity: int, width: int, device: torch.device | str = 'cpu') -> None:
        """Start empty, to hold at most ``capacity`` rows of ``width`` numbers on the device."""
        self._capacity = capacity
        self._rows = torch.empty((min(capacity, 16_384), width), device=device)
        self._added = 0

    def __len__(self) -> int:
        """Return how many transitions can be sampled."""
        return min(self._added, self._capacity)

    def add(self, rows: Tensor) -> None:
        """Append packed rows [N, width]; the oldest give way when the ring is full."""
        for row in rows.to(self._rows.device):
            slot = self._added % self._capacity
            if slot >= len(self._rows):
                width = self._rows.shape[1]
                larger = self._rows.new_empty((min(max(2 * slot, 1024), self._capacity), width))
                larger[:slot] = self._rows
                self._rows = larger
            self._rows[slot] = row
            self._added += 1

    def sample(self, count: int, generator: torch.Generator) -> Tensor:
        """Return ``count`` rows drawn with replacement."""
        return draw(self._rows[: len(self)], count, generator)

    def state(self) -> dict[str, Tensor]:
        """Return what a checkpoint keeps."""
        return {
            'replay.rows': self._rows[: len(self)],
            'replay.added': torch.tensor(self._added),
        }

    def restore(self, state: dict[str, Tensor]) -> None:
        """
        Continue where :meth:`state` was taken.

        Where a run is extended and the replay holds more from now on, the rows of a full ring
        are put in the order in which they came.
        """
        self._rows = state['replay.rows'].to(self._rows.device, copy=True)
        self._added = int(state['replay.added'])
        held = len(self._rows)
        if held < len(self):  # a full ring of a run that now has more steps: the oldest first
            self._rows = self._rows.roll(-(self._added % held), 0)
            self._added = held
