# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""``lsiq train``: demonstrations in, policy out."""

import json
from pathlib import Path
import shlex
import signal
import time
from typing import Annotated, Any

from lsiq_core.config import describe, RunConfig, to_dict
from lsiq_core.errors import ConfigError
from lsiq_core.robot import find_robot, is_robot, load_robot
from lsiq_ros.runs.driver import drive, noted, refuse_used, RunHooks
from lsiq_ros.runs.setup import new_config, resumed_setup, RunSetup
import typer


def train(
    task: Annotated[
        str | None,
        typer.Option(
            help='Hopper-v5, Walker2d-v5, HalfCheetah-v5, Ant-v5, Humanoid-v5 or point_mass. '
            'Loads the settings committed for it.'
        ),
    ] = None,
    robot: Annotated[
        str | None, typer.Option(help='A robot instead of a task, by name or path.')
    ] = None,
    demos: Annotated[
        str | None,
        typer.Option(
            help='Demonstrations: an npz file, minari:DATASET-ID, or a bag of a robot. '
            'point_mass can do without.'
        ),
    ] = None,
    out: Annotated[
        Path | None,
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
        int | None, typer.Option(help='Use only the first so many demonstrations.')
    ] = None,
    steps: Annotated[int | None, typer.Option(help='Environment steps in all.')] = None,
    seed: Annotated[int | None, typer.Option(help='Seeds everything.')] = None,
    config: Annotated[
        Path | None, typer.Option(help='YAML with settings, laid over those of the task.')
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option('--set', help='Override one setting: group.name=value. Repeatable.'),
    ] = None,
    resume: Annotated[
        Path | None,
        typer.Option(help='Continue this run directory, bit for bit; --steps extends it.'),
    ] = None,
    stop_at: Annotated[
        float | None,
        typer.Option(help='End once two evaluations running reach this normalised return.'),
    ] = None,
    retrace: Annotated[
        str,
        typer.Option(
            help='Follow a recording in simulation first: auto (where it is not feasible), '
            'always, never (only say so).'
        ),
    ] = 'never',
    threads: Annotated[int, typer.Option(help='CPU threads of torch.', min=1)] = 1,
    show_config: Annotated[
        bool, typer.Option('--show-config', help='Print every setting with its meaning, and end.')
    ] = False,
) -> None:
    """
    Learn a policy from demonstrations with LS-IQ.

    From states alone:

        lsiq train --task Hopper-v5 --demos hopper.npz --observations-only
        lsiq train --robot robots/h1 --demos h1.npz --observations-only

    The run directory gets config.yaml, metrics.jsonl, TensorBoard files, best.safetensors,
    last.safetensors and, at the end, result.json and curve.png. Stop it with Ctrl-C and go on
    with --resume DIR; --resume DIR --steps N extends a finished run. Compare variants with
    --set algorithm.name=lsiq_h and the like; --show-config lists all settings.
    """
    if retrace not in ('auto', 'always', 'never'):
        raise ConfigError(f'--retrace is {retrace!r}, must be auto, always or never')
    if resume is not None:
        alone = (task, robot, out, episodes, seed, config, stop_at)
        if any(value is not None for value in alone) or set_ or observations_only:
            raise ConfigError(
                '--resume continues a run with its own settings: only --demos, --steps and '
                '--threads go with it'
            )
        run, setup = resume, resumed_setup(resume, demos=demos, steps=steps)
    else:
        if task is not None and robot is not None:
            raise ConfigError('--task and --robot: name one of them')
        if robot is not None:
            find_robot(robot)  # refuses with the names that there are
        task = task or robot
        if task is None and not show_config:
            raise ConfigError(
                'name a robot (--robot) or a task (--task), or continue a run: --resume DIR'
            )
        chosen = new_config(
            task or '',  # of no task: the defaults, which --show-config prints
            file=config,
            overrides=set_ or (),
            seed=seed,
            observations_only=observations_only or None,
            collection__steps=steps,
            report__stop_at=stop_at,
        )
        run, setup = out or _default_run(chosen), RunSetup(chosen, demos, episodes, retrace)
    if show_config:
        _print_config(setup.config)
        return
    if resume is None:
        refuse_used(run, f'choose another --out, or continue it with --resume {run}')
    with noted(signal.SIGINT, signal.SIGTERM) as signals:
        finished = drive(
            run,
            setup,
            hooks=_Display(),
            stopped=lambda: bool(signals),
            log=typer.echo,
            threads=threads,
        )
    if not finished:
        typer.echo(f'continue with: lsiq train --resume {shlex.quote(str(run))}')


class _Display(RunHooks):
    """The progress bar."""

    def begin(self, trainer: Any) -> None:
        """Start it."""
        from lsiq_core.training.progress import TrainingDisplay

        self._bar = TrainingDisplay()

    def show(self, trainer: Any) -> None:
        """Move it."""
        self._bar.show(trainer.progress, trainer.latest, trainer.evaluations)

    def end(self, trainer: Any) -> None:
        """Leave the last picture standing."""
        self._bar.close()


def _default_run(config: RunConfig) -> Path:
    stamp = time.strftime('%Y%m%d-%H%M%S')
    name = load_robot(config.task).name if is_robot(config.task) else config.task
    return Path('runs') / f'{name}-{config.algorithm.name}-s{config.seed}-{stamp}'


def _print_config(config: RunConfig) -> None:
    values = to_dict(config)
    for name, meaning in describe().items():
        value: Any = values
        for part in name.split('.'):
            value = value[part]
        typer.echo(f'{name}={json.dumps(value)}')
        typer.echo(f'    {meaning}')
