# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
Who works the runs off: this process, or Ray's workers here or in a cluster.

Both take ``execute(run, directory)``, which is expected to skip what is finished and to
continue what was interrupted, so that a retry after a lost worker loses no more than the
steps since the last checkpoint.
"""

from collections.abc import Callable, Iterator
from functools import partial
import json
import os
from pathlib import Path
import platform
from typing import Any

from lsiq_core.errors import ConfigError
from lsiq_core.experiments.grid import Run
from lsiq_core.experiments.status import FAILURE, finished, WORKER

Execute = Callable[[Run, str], None]
Refresh = Callable[[set[str]], None]  # takes the names of the runs that are being worked on


def in_this_process(
    execute: Callable[[Run, str, Callable[[], None]], None],
    runs: list[Run],
    out: Path,
    refresh: Refresh,
) -> None:
    """Work the runs off one after the other; a failed one does not stop the next."""
    for run in runs:
        refresh({run.name})
        execute(run, str(out / run.name), partial(refresh, {run.name}))
    refresh(set())


def on_ray(
    execute: Execute,
    runs: list[Run],
    out: Path,
    refresh: Refresh,
    *,
    workers: int,
    address: str | None,
    retries: int,
) -> None:
    """
    Work the runs off as Ray tasks of one core each.

    :param workers: how many at once where Ray is started here.
    :param address: of a running cluster, which must see ``out`` under the same path.
    :param retries: how often a run whose worker died or raised is started again.
    """
    ray = _ray()
    os.environ.setdefault('RAY_USAGE_STATS_ENABLED', '0')  # no network without being asked
    os.environ.setdefault('RAY_worker_niceness', '0')  # Ray's 15 starves them on a busy machine
    options: dict[str, Any] = {'log_to_driver': False}
    if address is None:
        options |= {'num_cpus': workers, 'include_dashboard': False}
    ray.init(address=address, **options)
    try:
        task = ray.remote(num_cpus=1, max_retries=retries, retry_exceptions=True)(execute)
        pending = {task.remote(run, str(out / run.name)): run for run in runs}
        while pending:
            done, _ = ray.wait(list(pending), timeout=1.0)
            for reference in done:
                run = pending.pop(reference)
                _note_failure(ray, reference, out / run.name)
            refresh({run.name for run in pending.values() if _claimed(out / run.name)})
    finally:
        ray.shutdown()


def _note_failure(ray: Any, reference: Any, directory: Path) -> None:
    """Leave a word in the directory of a run that even its retries could not finish."""
    try:
        ray.get(reference)
    except Exception as error:  # whatever the worker died of; the others go on
        if not finished(directory):
            directory.mkdir(parents=True, exist_ok=True)
            lines = [line for line in str(error).splitlines() if line.strip()]
            (directory / FAILURE).write_text('\n'.join(lines) or type(error).__name__)


def _claimed(directory: Path) -> bool:
    """Return whether a worker signed here that, as far as this machine can see, still lives."""
    try:
        about = json.loads((directory / WORKER).read_text(encoding='utf-8'))
    except (OSError, json.JSONDecodeError):
        return False
    if about['host'] != platform.node():
        return True
    try:
        os.kill(about['pid'], 0)  # sends nothing, only asks
    except ProcessLookupError:
        return False
    except PermissionError:  # somebody else's, so it is there
        pass
    return True


def _ray() -> Any:
    try:
        import ray
    except ImportError as error:
        raise ConfigError(
            "more than one worker, or --ray-address, needs Ray: pip install 'lsiq_ros[cluster]'; "
            'without it use --workers 1'
        ) from error
    return ray


def unfinished(runs: list[Run], out: Path) -> Iterator[Run]:
    """Yield the runs that have no result yet."""
    return (run for run in runs if not finished(out / run.name))
