# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""``lsiq curves``: groups of runs in one picture."""

from __future__ import annotations

from glob import glob
import json
from pathlib import Path
from typing import Annotated, Optional

from lsiq_core.errors import ConfigError
from lsiq_core.report.curves import draw_groups
import typer


def curves(
    groups: Annotated[
        list[str], typer.Argument(help='LABEL=PATTERN: the run directories of one curve.')
    ],
    out: Annotated[Path, typer.Option(help='The PNG to write.')] = Path('curves.png'),
    metric: Annotated[
        Optional[list[str]],
        typer.Option(help='Which figure of metrics.jsonl; repeatable, a panel each.'),
    ] = None,
    arena: Annotated[
        bool, typer.Option('--arena', help='Draw the point-mass arena beside it.')
    ] = False,
) -> None:
    """
    Draw learning curves: the mean over seeds with its 95 % interval, each run as a thin line.

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
