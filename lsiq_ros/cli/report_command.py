# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""``lsiq report``: many runs on one page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

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
        bool, typer.Option('--videos', help='Embed the films in the run directories, too.')
    ] = False,
) -> None:
    """
    Write one HTML page about runs, readable without a network, and its figures as CSV.

        lsiq report runs/point_mass --out report

    Runs that differ in nothing but the seed are one curve: mean with its 95 % interval, and the
    interquartile mean with a bootstrap interval. Unfinished runs count as far as they came.
    """
    from lsiq_core.report.page import write_report

    page = write_report(runs, out, title=title, videos=videos)
    typer.echo(f'{page} ({page.stat().st_size / 1e6:.1f} MB)')
