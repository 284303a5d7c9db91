# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""What a person sees while a run goes on."""

from __future__ import annotations

from collections.abc import Mapping

from lsiq_core.job import StageProgress, TRAINING
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeRemainingColumn,
)

# What tells a good policy from a bad one comes first; the metric per step does not.
_HEADLINE = (
    ('success_rate', 'success {:.0%}'),
    ('terminated_rate', 'survived {:.0%}'),
    ('speed_mean_mps', 'speed {:.2f} m/s'),
    ('normalized_return', 'normalised {:.2f}'),
    ('episode_length_mean', 'length {:.0f}'),
    ('metric_mean', 'metric {:.2f} per step'),
)
_SHOWN = (
    ('critic/q_expert', 'Q expert {:.0f}'),
    ('critic/q_policy', 'policy {:.0f}'),
    ('idm/heldout_rmse', 'IDM error {:.2f}'),
)


def headline(metrics: Mapping[str, float], prefix: str = '') -> str:
    """Return the metrics of episodes that matter: what survived, how fast, then the rest."""
    shown = []
    for name, form in _HEADLINE:
        if prefix + name in metrics:
            value = metrics[prefix + name]
            shown.append(form.format(1.0 - value if name == 'terminated_rate' else value))
    return '  '.join(shown)


def metrics_line(latest: Mapping[str, float]) -> str:
    """Return the newest metrics that matter."""
    shown = [form.format(latest[name]) for name, form in _SHOWN if name in latest]
    return '  '.join([headline(latest, 'evaluation/'), *shown]).strip()


def progress_line(progress: StageProgress, latest: Mapping[str, float]) -> str:
    """Return where a run stands in one line."""
    if progress.stage != TRAINING:
        return f'{progress.stage}: {progress.done} of {progress.total}'
    minutes = latest.get('time/minutes', 0.0)
    return f'{progress.done} steps  {minutes:.1f} min  {metrics_line(latest)}'


class TrainingDisplay:
    """A live bar on a terminal; one line per evaluation anywhere else."""

    def __init__(self) -> None:
        """Start it."""
        self._console = Console()
        self._live = self._console.is_terminal
        self._evaluated: float | None = None
        self._progress = Progress(
            SpinnerColumn(),
            BarColumn(bar_width=20),
            MofNCompleteColumn(),
            TextColumn('{task.description} {task.fields[rate]:.0f}/s'),
            TimeRemainingColumn(),
            TextColumn('{task.fields[metrics]}'),
            console=self._console,
            disable=not self._live,
        )
        self._bar = self._progress.add_task('', rate=0.0, metrics='')
        self._stage = ''
        self._progress.start()

    def close(self) -> None:
        """Leave the last picture standing."""
        self._progress.stop()

    def show(self, progress: StageProgress, latest: Mapping[str, float], evaluations: int) -> None:
        """
        Move the bar.

        :param progress: what the run is doing and how far it is.
        :param latest: the newest metrics by name.
        :param evaluations: how many evaluations there were; a new one gets its line.
        """
        if self._live:
            stage, done, total = progress
            if stage != self._stage:
                self._stage = stage
                self._progress.reset(self._bar, total=total, completed=done, description=stage)
            rate = self._progress.tasks[0].speed or 0.0
            self._progress.update(
                self._bar, completed=done, total=total, metrics=metrics_line(latest), rate=rate
            )
        elif evaluations and evaluations != self._evaluated:
            self._evaluated = evaluations
            self._console.print(progress_line(progress, latest), soft_wrap=True)
