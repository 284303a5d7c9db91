# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""One run of an experiment, from wherever it stands to its result; what a worker executes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
import contextlib
import fcntl
import json
import os
from pathlib import Path
import platform
import signal
import sys
import time
import traceback
from typing import Any

from lsiq_core.atomic import write_text
from lsiq_core.errors import CheckpointError, LsiqError
from lsiq_core.experiments.grid import Run
from lsiq_core.experiments.status import FAILURE, finished, LOG, WORKER
from lsiq_ros.runs.driver import drive, has_checkpoint, noted, RunHooks
from lsiq_ros.runs.setup import read_setup, RunSetup

_REFRESH_S = 1.0


def execute(run: Run, directory: str, refresh: Callable[[], None] | None = None) -> None:
    """
    Finish a run; what fails for good is written down, anything else is raised for a retry.

    :param run: what to do.
    :param directory: where; finished runs are left alone, interrupted ones go on.
    :param refresh: called about once a second.
    """
    place = Path(directory)
    place.mkdir(parents=True, exist_ok=True)
    with _only_worker(place), _own_log(place / LOG):
        if finished(place):
            return
        _sign(place)
        try:
            _work(run, place, refresh or (lambda: None))
            (place / FAILURE).unlink(missing_ok=True)
        except LsiqError as error:  # bad input: trying again would not help
            write_text(place / FAILURE, str(error))
        except Exception:
            traceback.print_exc(file=sys.stdout)
            write_text(place / FAILURE, traceback.format_exc())
            raise


def execute_here(run: Run, directory: str, refresh: Callable[[], None]) -> None:
    """Finish a run in this process; an error is written down and the next run can begin."""
    with contextlib.suppress(Exception):
        execute(run, directory, refresh)


def refuse_other_results(runs: list[Run], out: Path) -> None:
    """Raise where a finished run had other settings: it answers another question."""
    for run in runs:
        place = out / run.name
        if finished(place) and read_setup(place).config != run.config:
            raise CheckpointError(
                f'{place}: was finished with other settings; move it away or choose another --out'
            )


def _work(run: Run, place: Path, refresh: Callable[[], None]) -> None:
    if has_checkpoint(place) and read_setup(place).config != run.config:
        raise CheckpointError(f'{place}: was begun with other settings; choose another --out')
    setup = RunSetup(run.config, run.demos, run.episodes)
    # Ctrl-C waits for the end of an iteration: in the midst of one there is nothing to keep.
    with noted(signal.SIGINT) as signals:
        drive(place, setup, hooks=_Refresh(refresh), stopped=lambda: bool(signals))
    if signals:
        raise KeyboardInterrupt


class _Refresh(RunHooks):
    """Call something about once a second."""

    def __init__(self, refresh: Callable[[], None]) -> None:
        self._refresh, self._due_s = refresh, 0.0

    def show(self, trainer: Any) -> None:
        """Call it where it is due."""
        if time.monotonic() > self._due_s:
            self._due_s = time.monotonic() + _REFRESH_S
            self._refresh()


def _sign(place: Path) -> None:
    """Say who works here and how many attempts there were."""
    path = place / WORKER
    attempts = json.loads(path.read_text())['attempts'] if path.exists() else 0
    about = {'pid': os.getpid(), 'host': platform.node(), 'attempts': attempts + 1}
    write_text(path, json.dumps(about))


@contextlib.contextmanager
def _only_worker(place: Path) -> Iterator[None]:
    """Hold the directory; the system lets go of it when the worker dies."""
    with open(place / '.lock', 'w') as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise CheckpointError(f'{place}: another process is working on it') from error
        yield


@contextlib.contextmanager
def _own_log(path: Path) -> Iterator[None]:
    """Let everything that is printed go into the run's own log."""
    with (
        open(path, 'a', buffering=1, encoding='utf-8') as stream,
        contextlib.redirect_stdout(stream),
        contextlib.redirect_stderr(stream),
    ):
        print(time.strftime('%Y-%m-%d %H:%M:%S'), 'process', os.getpid())
        yield
