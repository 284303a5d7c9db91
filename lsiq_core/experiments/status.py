# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
How far the runs of an experiment are, read from their directories alone.

Whoever drives an experiment holds nothing that is not in these files: killed and started
again it finds what is finished (``result.json``), what can go on (``last.safetensors``) and
what failed (``failure.txt``).
"""

from dataclasses import dataclass
import json
from pathlib import Path

from lsiq_core.experiments.grid import Run
from lsiq_core.training.metrics import SCORES
from rich.table import Table

RESULT, FAILURE, WORKER, LOG = 'result.json', 'failure.txt', 'worker.json', 'log.txt'
_TAIL_BYTES = 65_536


@dataclass(frozen=True)
class Status:
    """One run at this moment."""

    state: str  # waiting, running, done, failed or interrupted
    step: int = 0
    score: float | None = None
    minutes: float | None = None
    attempts: int = 0
    error: str = ''


def read_status(directory: Path, *, running: bool = False) -> Status:
    """
    Return how far a run is.

    :param running: whether somebody says that it is being worked on.
    """
    attempts = int(_json(directory / WORKER).get('attempts', 0))
    result = _json(directory / RESULT)
    if result:
        return Status(
            'done', int(result['steps']), _score(result, ''), result['minutes'], attempts
        )
    line = _latest(directory / 'metrics.jsonl')
    progress = (
        int(line.get('step', 0)),
        _score(line, 'evaluation/'),
        line.get('time/minutes'),
        attempts,
    )
    if running:
        return Status('running', *progress)
    if (directory / FAILURE).exists():
        last = (directory / FAILURE).read_text(encoding='utf-8').strip().splitlines()[-1]
        return Status('failed', *progress, last)
    return Status('interrupted' if line else 'waiting', *progress)


def finished(directory: Path) -> bool:
    """Return whether a run has its result."""
    return (directory / RESULT).exists()


def table(runs: list[Run], out: Path, running: set[str], rows: int = 40) -> Table:
    """Return the live table: counts on top, then what runs, failed, waits; what is done last."""
    order = ('running', 'failed', 'interrupted', 'waiting', 'done')
    found = {run.name: read_status(out / run.name, running=run.name in running) for run in runs}
    counts = {name: sum(s.state == name for s in found.values()) for name in order}
    title = ', '.join(f'{count} {name}' for name, count in counts.items() if count)
    shown = Table(title=f'{len(runs)} runs: {title}', title_justify='left')
    for column in ('run', 'state', 'step', 'score', 'minutes', 'attempts'):
        shown.add_column(column, justify='left' if column in ('run', 'state') else 'right')
    sorted_runs = sorted(runs, key=lambda run: order.index(found[run.name].state))
    for run in sorted_runs[:rows]:
        status = found[run.name]
        shown.add_row(
            run.name,
            status.state + (f': {status.error[:50]}' if status.error else ''),
            str(status.step),
            '' if status.score is None else f'{status.score:.2f}',
            '' if status.minutes is None else f'{status.minutes:.1f}',
            str(status.attempts),
        )
    if len(sorted_runs) > rows:
        shown.add_row(f'and {len(sorted_runs) - rows} more', '', '', '', '', '')
    return shown


def _score(figures: dict[str, float], prefix: str) -> float | None:
    for name in SCORES:
        if f'{prefix}{name}' in figures:
            return figures[f'{prefix}{name}']
    return None


def _json(path: Path) -> dict[str, float]:
    try:
        values = json.loads(path.read_text(encoding='utf-8'))
    except (OSError, json.JSONDecodeError):
        return {}
    return values if isinstance(values, dict) else {}


def _latest(path: Path) -> dict[str, float]:
    """Return the newest figures in the end of a metrics file, however long it is."""
    try:
        with open(path, 'rb') as stream:
            stream.seek(max(0, path.stat().st_size - _TAIL_BYTES))
            lines = stream.read().decode('utf-8', 'replace').splitlines()
    except OSError:
        return {}
    latest: dict[str, float] = {}
    for line in lines:
        try:
            latest |= json.loads(line)
        except json.JSONDecodeError:
            continue
    return latest
