# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Where metrics go: a JSON-lines file and TensorBoard's event files."""

from __future__ import annotations

from collections.abc import Mapping
import json
import math
from pathlib import Path

from lsiq_core.errors import LsiqError

# What a run is judged by: the first of these that it measured.
SCORES = ('success_rate', 'normalized_return', 'return_mean')


class MetricsWriter:
    """Writes named metrics at a step; after a resume it forgets what came after the checkpoint."""

    def __init__(self, run: Path, *, resumed_at: int | None = None) -> None:
        """
        Open both files in the run directory.

        :param run: the run directory.
        :param resumed_at: keep only lines up to this step.
        """
        from torch.utils.tensorboard import SummaryWriter

        self._path = run / 'metrics.jsonl'
        if resumed_at is not None and self._path.exists():
            kept = [line for line in read(run) if line['step'] <= resumed_at]
            self._path.write_text(''.join(json.dumps(line) + '\n' for line in kept))
        self._stream = open(self._path, 'a', encoding='utf-8')  # noqa: SIM115
        self._board = SummaryWriter(str(run / 'tensorboard'), purge_step=resumed_at)

    def write(self, step: int, metrics: Mapping[str, float]) -> None:
        """Append one line; metrics that are not finite are left out."""
        finite = {name: value for name, value in metrics.items() if math.isfinite(value)}
        try:
            self._stream.write(json.dumps({'step': step, **finite}) + '\n')
            self._stream.flush()
        except OSError as error:
            raise LsiqError(f'{self._path}: cannot be written ({error.strerror})') from error
        for name, value in finite.items():
            self._board.add_scalar(name, value, step)

    def close(self) -> None:
        """Flush and close."""
        self._stream.close()
        self._board.close()


def read(run: Path) -> list[dict[str, float]]:
    """Read a run's metrics; a line cut off by a kill is passed over."""
    lines = []
    for text in (run / 'metrics.jsonl').read_text(encoding='utf-8').splitlines():
        try:
            lines.append(json.loads(text))
        except json.JSONDecodeError:
            continue
    return lines
