# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""``lsiq report``: many runs on one page."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

from lsiq_core.errors import CheckpointError
import typer


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
    Write one HTML page about runs, readable without a network, and its figures as CSV.

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
    from lsiq_core.report.runs import find_runs, grouped
    from lsiq_core.training.checkpoint import find
    from lsiq_ros.view import gym as gym_film
    from lsiq_ros.view import point_mass as point_mass_film
    from sim.registry import GYM_TASKS
    from sim.render import RenderingUnavailable

    ways: dict[str, Callable[[Path, Path], None]] = dict.fromkeys(GYM_TASKS, gym_film.film_run)
    ways['point_mass'] = point_mass_film.film_run  # Atlas is filmed at the end of its run
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
