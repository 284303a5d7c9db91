# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
The one driver of a run: set up, restore, iterate, save, finish, or be interrupted.

``lsiq train``, the learner node and the workers of ``lsiq reproduce`` all call :func:`drive`;
what differs between them (a progress bar, services, a table) is a :class:`RunHooks`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
import contextlib
from pathlib import Path
import shutil
import signal
import threading
from typing import TYPE_CHECKING

from lsiq_core.config import RunConfig
from lsiq_core.data.demonstrations import Demonstrations
from lsiq_core.env import Env
from lsiq_core.errors import ConfigError
from lsiq_core.job import Interrupted
from lsiq_ros.runs.finish import finish
from lsiq_ros.runs.setup import RunSetup, write_setup
from lsiq_ros.runs.tasks import fitted, load_demos, make_trainer

if TYPE_CHECKING:
    from lsiq_core.training.trainer import Trainer


class RunHooks:
    """What a caller adds to a run; each method may be overridden."""

    def begin(self, trainer: Trainer) -> None:
        """Take notice of the trainer, restored and before its first iteration."""

    def iterate(self, trainer: Trainer) -> None:
        """Do one iteration."""
        trainer.iterate()

    def show(self, trainer: Trainer) -> None:
        """Show how far the run is, after every iteration."""

    def end(self, trainer: Trainer) -> None:
        """Take notice that no iteration follows; the result may still be measured."""


def drive(
    run: Path,
    setup: RunSetup,
    *,
    connect: Callable[[Demonstrations], list[Env]] | None = None,
    hooks: RunHooks | None = None,
    stopped: Callable[[], bool] = lambda: False,
    log: Callable[[str], None] = print,
    threads: int = 1,
) -> bool:
    """
    Train from wherever the run directory stands until done or stopped; leave all saved.

    :param run: the run directory; a checkpoint in it is continued.
    :param setup: the settings and the demonstrations.
    :param connect: finds environments that run elsewhere; none makes them in this process.
    :param hooks: what the caller adds.
    :param stopped: asked at every iteration and within evaluations.
    :param log: takes sentences for a person.
    :param threads: CPU threads of torch.
    :return: whether the run is finished and its result written.
    """
    from lsiq_core.learning.device import learner_device
    from lsiq_ros.runs.feasibility import ready
    import torch

    torch.set_num_threads(threads)
    learner_device(setup.config)  # refused now, not after minutes of retracing
    hooks = hooks or RunHooks()
    if has_checkpoint(run):
        demos = load_demos(setup.demos, setup.config.task, episodes=setup.episodes)
    else:
        begun = ready(run, setup, log=log, stopped=stopped)
        if begun is None:
            return False
        setup, demos = begun
    config = fitted(setup.config, demos)
    try:
        simulations = None if connect is None else connect(demos)
    except Interrupted:
        return False
    trainer = make_trainer(config, demos, run, simulations=simulations, log=log)
    with contextlib.closing(trainer):
        if has_checkpoint(run):
            trainer.restore()
            log(f'continuing {run} at step {trainer.steps}')
            if not trainer.finished:  # it is extended: what was measured is no result any more
                (run / 'result.json').unlink(missing_ok=True)
        else:
            _start_anew(run)
        write_setup(run, setup._replace(config=config, episodes=demos.num_episodes))
        log(
            f'{config.algorithm.name} on {config.task} from {_learned_from(config, demos)} '
            + f'with {config.collection.simulations} simulations '
            + f'{"in process" if simulations is None else "over topics"}, '
            + f'update {trainer.update_kind} on {trainer.device}, into {run}'
        )
        trainer.interrupted = stopped
        hooks.begin(trainer)
        try:
            # An interrupted evaluation is owed, and made when the run goes on.
            with contextlib.suppress(Interrupted):
                while not (trainer.finished or stopped()):
                    hooks.iterate(trainer)
                    hooks.show(trainer)
            trainer.save()
        finally:
            hooks.end(trainer)
        log(f'saved {run} at step {trainer.steps}')
        if trainer.finished:
            with contextlib.suppress(Interrupted):
                finish(trainer, log)
                return True
    return False


def has_checkpoint(run: Path) -> bool:
    """Return whether the run directory holds a run to continue."""
    return (run / 'last.safetensors').is_file()


def refuse_used(run: Path, advice: str) -> None:
    """Raise where a new run cannot go: the directory holds something or cannot be written."""
    try:
        if run.exists() and (not run.is_dir() or any(run.iterdir())):
            raise ConfigError(f'{run}: already used; {advice}')
        parent = next(place for place in (run, *run.absolute().parents) if place.exists())
        if not parent.is_dir():
            raise ConfigError(f'{run}: cannot be written ({parent} is a file)')
        probe = parent / f'.{run.name}.writable'
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise ConfigError(f'{run}: cannot be written ({error.strerror})') from error


def _learned_from(config: RunConfig, demos: Demonstrations) -> str:
    if config.observations_only:
        return 'states alone'
    retraced = 'recording_sha256' in demos.metadata  # the recording itself had states alone
    return "the tracker's states and commands" if retraced else 'states and actions'


def _start_anew(run: Path) -> None:
    """Make the directory; drop what a run left that ended before its first checkpoint."""
    run.mkdir(parents=True, exist_ok=True)
    (run / 'metrics.jsonl').unlink(missing_ok=True)
    shutil.rmtree(run / 'tensorboard', ignore_errors=True)


@contextlib.contextmanager
def noted(*numbers: int) -> Iterator[list[int]]:
    """Yield a list that gets every one of these signals; outside the main thread, none."""
    came: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield came
        return
    before = {each: signal.signal(each, lambda number, _: came.append(number)) for each in numbers}
    try:
        yield came
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
