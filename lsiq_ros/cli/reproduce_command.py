# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""``lsiq reproduce``: the paper's experiments, one machine or many."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
import sys
import time
from typing import Annotated, Any

from lsiq_core.config import merge, override
from lsiq_core.errors import ConfigError, DemonstrationError
from lsiq_core.experiments import grid as grids
from lsiq_core.experiments.cost import estimate
from lsiq_core.experiments.grid import Run
from lsiq_core.experiments.status import read_status, table
from lsiq_core.experiments.workers import in_this_process, on_ray, unfinished
from rich.console import Console
from rich.live import Live
import typer

_LINE_EVERY_S = 60.0


def reproduce(
    experiment: Annotated[str, typer.Argument(help=f'One of: {", ".join(grids.names())}.')],
    out: Annotated[
        Path | None, typer.Option(help='Where the runs go. Default: runs/EXPERIMENT.')
    ] = None,
    filter_: Annotated[
        list[str] | None,
        typer.Option(
            '--filter',
            help='Narrow it: task=, variant=, demos= or seed= and patterns. Repeatable.',
        ),
    ] = None,
    seeds: Annotated[int | None, typer.Option(help='How many seeds of each.', min=1)] = None,
    steps: Annotated[int | None, typer.Option(help='Environment steps of each run.')] = None,
    demos: Annotated[
        Path | None,
        typer.Option(help='Directory with TASK.npz for each task that has no expert of its own.'),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option('--set', help='Override one setting of all runs: group.name=value.'),
    ] = None,
    workers: Annotated[int, typer.Option(help='Runs at once on this machine.', min=1)] = 1,
    ray_address: Annotated[
        str | None, typer.Option(help='Ray cluster to use; it must see --out and --demos.')
    ] = None,
    retries: Annotated[
        int, typer.Option(help='How often a run of a lost worker starts again.', min=0)
    ] = 3,
    dry_run: Annotated[
        bool, typer.Option('--dry-run', help='Print the runs and what they will cost, and end.')
    ] = False,
) -> None:
    """
    Run an experiment of the paper.

    It is a grid of tasks, variants, demonstrations and seeds.

        lsiq reproduce point_mass --filter variant=lsiq,iq --seeds 2 --dry-run

    Finished runs are skipped and interrupted ones go on, so the same command again continues
    after a kill. Each run has its directory below --out with its own log.txt. One worker needs
    nothing more; several, or a cluster, need Ray.
    """
    settings: dict[str, Any] = {} if steps is None else {'collection': {'steps': steps}}
    for assignment in set_ or []:
        settings = merge(settings, override(assignment))
    grid = grids.load(experiment)
    runs = grids.expand(grid, filters=filter_ or [], seeds=seeds, settings=settings)
    place = (out or Path('runs') / experiment).absolute()
    for run in runs:
        _ = run.config  # names a wrong setting before anything runs
    console = Console(file=sys.stdout)  # stays here while a run prints into its own log
    if dry_run:
        _print_plan(runs, place, console)
        return
    runs = [_with_demos(run, demos) for run in runs]
    _work_off(runs, place, console, workers, ray_address, retries)
    states = Counter(read_status(place / run.name).state for run in runs)
    console.print(f'{place}: ' + ', '.join(f'{count} {name}' for name, count in states.items()))
    if set(states) != {'done'}:
        raise typer.Exit(1)


def _with_demos(run: Run, folder: Path | None) -> Run:
    """Find the demonstrations of a run; what is missing is said before anything runs."""
    from lsiq_core.shipped_files import find_file

    if folder is not None and (folder / f'{run.task}.npz').exists():
        return replace(run, demos=str((folder / f'{run.task}.npz').absolute()))
    if run.demos is not None:
        return replace(run, demos=str(find_file(run.demos).absolute()))
    if run.task != 'point_mass':
        raise DemonstrationError(
            f'{run.name}: no demonstrations; give --demos DIR with {run.task}.npz in it'
        )
    return run


def _print_plan(runs: list[Run], out: Path, console: Console) -> None:
    total, measured = 0.0, 0
    for run in runs:
        cost = estimate(run, out)
        status = read_status(out / run.name)
        left = 0.0 if status.state == 'done' else cost.minutes
        total, measured = total + left, measured + cost.measured
        kind = 'measured' if cost.measured else 'assumed'
        console.print(
            f'{run.name}  {run.config.collection.steps} steps  {status.state}  '
            f'{left:.1f} core minutes ({kind})',
            soft_wrap=True,
            highlight=False,
        )
    console.print(
        f'{len(runs)} runs, about {total / 60:.1f} core hours left; '
        f'{measured} estimates from finished runs, the others from an assumed speed',
        soft_wrap=True,
    )


def _work_off(
    runs: list[Run], out: Path, console: Console, workers: int, address: str | None, retries: int
) -> None:
    from lsiq_ros.runs.experiment import execute, execute_here, refuse_other_results

    refuse_other_results(runs, out)
    left = list(unfinished(runs, out))
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f'{out}: cannot be written ({error.strerror})') from error
    spoken = [time.monotonic()]
    with Live(console=console, auto_refresh=False, redirect_stdout=False) as live:

        def refresh(running: set[str]) -> None:
            if console.is_terminal:
                live.update(table(runs, out, running), refresh=True)
            elif time.monotonic() - spoken[0] > _LINE_EVERY_S:
                spoken[0] = time.monotonic()
                console.print(table(runs, out, running).title)

        if workers == 1 and address is None:
            in_this_process(execute_here, left, out, refresh)
        else:
            on_ray(
                *(execute, left, out, refresh), workers=workers, address=address, retries=retries
            )
    if not console.is_terminal:
        console.print(table(runs, out, set()))
