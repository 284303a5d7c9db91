# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""``lsiq report`` and ``lsiq curves``: many runs on one page, or in one picture."""

from collections.abc import Callable
from glob import glob
import json
from pathlib import Path
from typing import Annotated

from lsiq_core.errors import CheckpointError, ConfigError
from lsiq_core.report.curves import draw_groups
import typer


def curves(
    groups: Annotated[
        list[str], typer.Argument(help='LABEL=PATTERN: the run directories of one curve.')
    ],
    out: Annotated[Path, typer.Option(help='The PNG to write.')] = Path('curves.png'),
    metric: Annotated[
        list[str] | None,
        typer.Option(help='Which figure of metrics.jsonl; repeatable, a panel each.'),
    ] = None,
    arena: Annotated[
        bool, typer.Option('--arena', help='Draw the point-mass arena beside it.')
    ] = False,
) -> None:
    """
    Draw learning curves over seeds.

    A line is the mean with its 95 % interval, a thin line each run.

        lsiq curves 'LS-IQ=runs/pm-lsiq-*' 'IQ=runs/pm-iq-*' --metric evaluation/success_rate
    """
    from matplotlib.figure import Figure

    found: dict[str, list[Path]] = {}
    for group in groups:
        label, equals, pattern = group.partition('=')
        runs = sorted(Path(run) for run in glob(pattern) if Path(run).is_dir())
        if not equals or not runs:
            raise ConfigError(f'{group}: expected LABEL=PATTERN that matches run directories')
        found[label] = runs
    metrics = metric or ['evaluation/normalized_return']
    panels = len(metrics) + arena
    columns = min(panels, 3)
    rows = -(-panels // columns)
    figure = Figure(figsize=(max(7, 5.5 * columns), 4.5 * rows), layout='constrained')
    all_axes = list(figure.subplots(rows, columns, squeeze=False).flat)
    if arena:
        from lsiq_ros.view.point_mass_paths import draw_arena

        draw_arena(all_axes.pop(0))
    for axes, name in zip(all_axes, metrics):
        draw_groups(axes, found, name)
    for unused in all_axes[len(metrics) :]:
        unused.remove()
    out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(out, dpi=110)
    for label, runs in found.items():
        for run in runs:
            result = run / 'result.json'
            if result.exists():
                figures = json.loads(result.read_text())
                name = metrics[0].split('/')[1]
                typer.echo(f'{label}  {run.name}  {name} {figures.get(name)}')
    typer.echo(f'{out}')


def report(
    runs: Annotated[
        list[Path], typer.Argument(help='Run directories, or directories that hold them.')
    ],
    out: Annotated[Path, typer.Option(help='Directory for report.html and the CSV files.')] = Path(
        'report'
    ),
    title: Annotated[str, typer.Option(help='Heading of the page.')] = 'LS-IQ: runs compared',
    videos: Annotated[
        bool,
        typer.Option(help='Film the final policies, first seed of each, and embed the films.'),
    ] = True,
) -> None:
    """
    Write one HTML page about runs.

    It is readable without a network; its figures lie beside it as CSV.

        lsiq report runs/point_mass --out report

    Runs that differ in nothing but the seed are one curve: mean with its 95 % interval, and the
    interquartile mean with a bootstrap interval. Unfinished runs are drawn as far as they came
    and count in the tables only while none of their group is finished.
    """
    from lsiq_core.report.page import write_report

    if videos:
        _film(runs)
    page = write_report(runs, out, title=title, videos=videos)
    typer.echo(f'{page} ({page.stat().st_size / 1e6:.1f} MB)')


def _film(places: list[Path]) -> None:
    """Film the first seed of each group that has no film yet, where this machine can render."""
    from lsiq_core.checkpoint import find
    from lsiq_core.report.runs import find_runs, grouped
    from lsiq_ros.view import gym as gym_film
    from lsiq_ros.view import point_mass_paths
    from sim.registry import GYM_TASKS
    from sim.render import RenderingUnavailable

    ways: dict[str, Callable[[Path, Path], None]] = dict.fromkeys(GYM_TASKS, gym_film.film_run)
    ways['point_mass'] = point_mass_paths.film_run  # robots are filmed at the end of a run
    for task, groups in grouped(find_runs(places)).items():
        for group in groups:
            folder = group.runs[0].path
            if task in ways and not any(folder.glob('*.mp4')):
                try:
                    ways[task](find(folder, prefer='last'), folder / 'film.mp4')
                except RenderingUnavailable as error:
                    typer.echo(f'no films: {error}')
                    return
                except CheckpointError as error:
                    typer.echo(f'no film of {group.label}: {error}')
