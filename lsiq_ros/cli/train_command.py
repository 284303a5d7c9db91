# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""``lsiq train``: demonstrations in, policy out."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
import signal
import time
from typing import Annotated, Any, Optional

from lsiq_core.config import describe, from_dict, merge, override, read_yaml, RunConfig, to_dict
from lsiq_core.errors import ConfigError
from lsiq_core.task_configs import settings
from lsiq_core.training.job import Interrupted
from lsiq_ros.nodes.stop_signals import noted
from lsiq_ros.runs.files import finish, read_setup, RunSetup, write_setup
import typer


def train(
    task: Annotated[
        Optional[str],
        typer.Option(
            help='Hopper-v5, Walker2d-v5, HalfCheetah-v5, Ant-v5, Humanoid-v5, '
            'point_mass or atlas. Loads the settings committed for it.'
        ),
    ] = None,
    demos: Annotated[
        Optional[str],
        typer.Option(
            help='Demonstrations: an npz file, or minari:DATASET-ID. point_mass can do without.'
        ),
    ] = None,
    out: Annotated[
        Optional[Path],
        typer.Option(help='Run directory; must be new or empty. Default: runs/TASK-...'),
    ] = None,
    observations_only: Annotated[
        bool,
        typer.Option(
            '--observations-only',
            help='Drop expert actions; an inverse dynamics model predicts them.',
        ),
    ] = False,
    episodes: Annotated[
        Optional[int], typer.Option(help='Use only the first so many demonstrations.')
    ] = None,
    steps: Annotated[Optional[int], typer.Option(help='Environment steps in all.')] = None,
    seed: Annotated[Optional[int], typer.Option(help='Seeds everything.')] = None,
    config: Annotated[
        Optional[Path], typer.Option(help='YAML with settings, laid over those of the task.')
    ] = None,
    set_: Annotated[
        Optional[list[str]],
        typer.Option('--set', help='Override one setting: group.name=value. Repeatable.'),
    ] = None,
    resume: Annotated[
        Optional[Path], typer.Option(help='Continue this run directory, bit for bit.')
    ] = None,
    stop_at: Annotated[
        Optional[float],
        typer.Option(help='End once two evaluations running reach this normalised return.'),
    ] = None,
    threads: Annotated[int, typer.Option(help='CPU threads of torch.', min=1)] = 1,
    show_config: Annotated[
        bool, typer.Option('--show-config', help='Print every setting with its meaning, and end.')
    ] = False,
) -> None:
    """
    Learn a policy from demonstrations with LS-IQ.

    From states alone:

        lsiq train --task Hopper-v5 --demos hopper.npz --observations-only

    The run directory gets config.yaml, metrics.jsonl, TensorBoard files, best.safetensors,
    last.safetensors and, at the end, result.json and curve.png. Stop it with Ctrl-C and go on
    with --resume DIR. Compare variants with --set algorithm.name=lsiq_h and the like;
    --show-config lists all settings.
    """
    if resume is not None:
        alone = (task, out, episodes, steps, seed, config, stop_at)
        if any(value is not None for value in alone) or set_ or observations_only:
            raise ConfigError('--resume continues a run with its own settings: give it alone')
        _resume(resume, demos, threads)
        return
    if task is None:
        raise ConfigError('--task is missing: name a task, or continue a run with --resume DIR')
    values = settings(task)
    if config is not None:
        values = merge(values, read_yaml(config))
    for assignment in set_ or []:
        values = merge(values, override(assignment))
    chosen: dict[str, Any] = {}
    if seed is not None:
        chosen['seed'] = seed
    if observations_only:
        chosen['observations_only'] = True
    if steps is not None:
        chosen['collection'] = {'steps': steps}
    if stop_at is not None:
        chosen['report'] = {'stop_at': stop_at}
    run_config = from_dict(merge(values, chosen), where=f'settings of {task}')
    if show_config:
        _print_config(run_config)
        return
    run = out or _default_run(run_config)
    _claim(run)
    _train(run_config, run, demos, episodes, threads)


def _default_run(config: RunConfig) -> Path:
    stamp = time.strftime('%Y%m%d-%H%M%S')
    return Path('runs') / f'{config.task}-{config.algorithm.name}-s{config.seed}-{stamp}'


def _claim(run: Path) -> None:
    """Refuse a directory that holds anything; make it where it is missing."""
    try:
        if run.exists() and (not run.is_dir() or any(run.iterdir())):
            raise ConfigError(
                f'{run}: already used; choose another --out, or continue it with --resume {run}'
            )
        run.mkdir(parents=True, exist_ok=True)
        probe = run / '.writable'
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise ConfigError(f'{run}: cannot be written ({error.strerror})') from error


def _train(
    config: RunConfig, run: Path, source: str | None, episodes: int | None, threads: int
) -> None:
    from lsiq_ros.runs.tasks import load_demos, make_trainer

    _set_threads(threads)
    demonstrations = load_demos(source, config.task, episodes=episodes)
    trainer = make_trainer(config, demonstrations, run, say=typer.echo)
    write_setup(run, RunSetup(config, source, demonstrations.num_episodes))
    _drive(trainer)


def _resume(run: Path, source: str | None, threads: int) -> None:
    from lsiq_ros.runs.tasks import load_demos, make_trainer

    _set_threads(threads)
    config, kept, episodes = read_setup(run)
    demonstrations = load_demos(source or kept, config.task, episodes=episodes)
    trainer = make_trainer(config, demonstrations, run, say=typer.echo)
    trainer.restore()
    typer.echo(f'continuing {run} at step {trainer.steps}')
    _drive(trainer)


def _drive(trainer: Any) -> None:
    """Iterate to the end, or to Ctrl-C, and leave everything saved."""
    from lsiq_core.training.progress import TrainingDisplay

    config, run = trainer.config, trainer.run
    typer.echo(
        f'{config.algorithm.name} on {config.task}, '
        + ('states alone' if config.observations_only else 'states and actions')
        + f', update {trainer.update_kind}, into {run}'
    )
    with noted(signal.SIGINT, signal.SIGTERM) as stopping, contextlib.closing(trainer):
        trainer.interrupted = lambda: bool(stopping)
        try:
            with TrainingDisplay(config.collection.steps, trainer.steps) as display:
                while not (trainer.finished or stopping):
                    trainer.iterate()
                    display.show(trainer.steps, trainer.latest, trainer.evaluations)
            trainer.save()
            if trainer.finished:
                finish(trainer, typer.echo)
                return
        except Interrupted:  # an evaluation or the result; made when the run goes on
            trainer.save()
        typer.echo(f'stopped at step {trainer.steps}; continue with: lsiq train --resume {run}')


def _print_config(config: RunConfig) -> None:
    values = to_dict(config)
    for name, meaning in describe().items():
        value: Any = values
        for part in name.split('.'):
            value = value[part]
        typer.echo(f'{name}={json.dumps(value)}')
        typer.echo(f'    {meaning}')


def _set_threads(threads: int) -> None:
    import torch

    torch.set_num_threads(threads)
