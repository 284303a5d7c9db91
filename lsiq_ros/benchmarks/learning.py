# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Learning per minute of one core: the area under the normalised return, over tasks and seeds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
import json
from pathlib import Path
from typing import NamedTuple, TYPE_CHECKING

from lsiq_core.atomic import write_text
from lsiq_core.errors import CheckpointError
from lsiq_core.training.metrics import read
from lsiq_ros.runs.driver import drive, has_checkpoint, RunHooks
from lsiq_ros.runs.setup import new_config, resumed_setup, RunSetup
import numpy as np

if TYPE_CHECKING:
    from lsiq_core.training.trainer import Trainer

_SCORE = 'evaluation/normalized_return'


class Learned(NamedTuple):
    """What one run came to within its minutes."""

    task: str
    seed: int
    area: float  # mean over the minutes of the normalised return, zero before the first
    last: float  # normalised return of the last evaluation within the minutes
    evaluations: int
    minutes: float


class _Clock(RunHooks):
    """Ends a run after so many minutes over all its sessions."""

    def __init__(self, minutes: float, stopped: Callable[[], bool]) -> None:
        self._minutes, self._stopped = minutes, stopped
        self.rung = False

    def show(self, trainer: Trainer) -> None:
        """Take the time after every iteration."""
        self.rung = trainer.seconds / 60 >= self._minutes

    def stopped(self) -> bool:
        """Return whether the run is to end now."""
        return self.rung or self._stopped()


def bench_learning(
    tasks: Sequence[str],
    seeds: Sequence[int],
    minutes: float,
    out: Path,
    *,
    demos: Path | None = None,
    episodes: int | None = None,
    observations_only: bool = False,
    settings: Sequence[str] = (),
    stopped: Callable[[], bool] = lambda: False,
    log: Callable[[str], None] = print,
) -> list[Learned]:
    """
    Train each task with each seed for so many minutes; what an earlier call did is kept.

    :param out: holds a run directory for each; one that was stopped goes on.
    :param demos: directory with TASK.npz; none asks the task's built-in expert.
    :param settings: ``group.name=value`` each, laid over the task's.
    :param stopped: asked at every iteration; the runs that are finished are returned.
    """
    found: list[Learned] = []
    for task in tasks:
        for seed in seeds:
            run = out / f'{task}-s{seed}'
            if stopped():
                return found
            if not (run / 'learning.json').exists():
                if has_checkpoint(run):
                    setup = resumed_setup(run)
                else:
                    config = new_config(
                        task,
                        overrides=settings,
                        seed=seed,
                        observations_only=observations_only or None,
                    )
                    source = None if demos is None else str(demos / f'{task}.npz')
                    setup = RunSetup(config, source, episodes)
                clock = _Clock(minutes, stopped)
                done = drive(run, setup, hooks=clock, stopped=clock.stopped, log=log)
                if not (done or clock.rung):
                    return found
                learned = learned_of(run, task, seed, minutes)
                write_text(run / 'learning.json', json.dumps(learned._asdict()))
            kept = Learned(**json.loads((run / 'learning.json').read_text(encoding='utf-8')))
            if kept.minutes != minutes:
                raise CheckpointError(
                    f'{run}: was measured over {kept.minutes:g} minutes, now {minutes:g} are '
                    'asked for; choose another --out'
                )
            found.append(kept)
    return found


def learned_of(run: Path, task: str, seed: int, minutes: float) -> Learned:
    """Return the area under a run's normalised return against minutes."""
    lines = read(run)
    clock = [(line['step'], line['time/minutes']) for line in lines if 'time/minutes' in line]
    scores = [(line['step'], line[_SCORE]) for line in lines if _SCORE in line]
    if not clock or not scores:
        return Learned(task, seed, 0.0, 0.0, 0, minutes)
    steps, values = np.array(scores, dtype=float).T
    at = np.interp(steps, *np.array(clock, dtype=float).T)
    values, at = values[at <= minutes], at[at <= minutes]
    if not len(values):
        return Learned(task, seed, 0.0, 0.0, 0, minutes)
    # A run that ends early keeps its last value; before its first there is nothing.
    times, heights = np.append(at, minutes), np.append(values, values[-1])
    area = float(np.trapezoid(heights, times)) / minutes
    return Learned(task, seed, area, float(values[-1]), len(values), minutes)
