# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Write down how an expert was trained: its curve and its card."""

from __future__ import annotations

import json
from pathlib import Path

from sim.tracking.train import Tracking

Curve = list[dict[str, float]]


def write_curve(curve: Curve, path: Path) -> None:
    """Draw reward, losses and how well it tracks over the steps taken."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 5.4), layout='constrained')
    axes = figure.subplots(2, 2, sharex=True)
    panels = (
        ('reward', 'reward per step'),
        ('lost_per_s', 'robots that lose the reference, per second'),
        ('tracking/survived', 'share of the reference survived (evaluation)'),
        ('tracking/joint_error_rad', 'joint error  [rad] (evaluation)'),
    )
    for axis, (name, title) in zip(axes.flat, panels):
        points = [(row['steps'] / 1e6, row[name]) for row in curve if name in row]
        if points:
            axis.plot(*zip(*points), marker='.' if name.startswith('tracking/') else '')
        axis.set_title(title, fontsize=10)
        axis.grid(alpha=0.3)
    for axis in axes[1]:
        axis.set_xlabel('million control steps')
    FigureCanvasAgg(figure).print_png(str(path))


def write_card(
    path: Path,
    *,
    robot: str,
    command: str,
    facts: dict[str, object],
    tracking: dict[str, Tracking],
) -> None:
    """
    Write the card that goes with an expert.

    :param path: of the Markdown file.
    :param robot: its name.
    :param command: what produced the expert.
    :param facts: seed, commit, duration and the like.
    :param tracking: how it follows, by the name of the world.
    """
    lines = [
        f'# Expert for {robot}',
        '',
        'A PD controller on a reference motion with a correction from a small network, trained by',
        'PPO (sim/tracking). The file holds the reference, too. Inputs: the kinematic state, the',
        'place in the reference, the distance from its path; output: commands.',
        '',
        f'Made with `{command}`.',
        '',
        '| fact | value |',
        '|---|---|',
        *(f'| {name} | {value} |' for name, value in facts.items()),
        '',
        '| world | of the reference survived | joints, rad | path, m | speed, m/s |',
        '|---|---|---|---|---|',
    ]
    for name, found in tracking.items():
        lines.append(
            f'| {name} | {found.survived:.0%} | {found.joint_error_rad:.3f} '
            f'| {found.path_error_m:.2f} | {found.speed_error_mps:.2f} |'
        )
    lines += ['', '![training curve](curve.png)', '']
    path.write_text('\n'.join(lines))


def write_curve_json(curve: Curve, path: Path) -> None:
    """Write the curve's numbers."""
    path.write_text(''.join(json.dumps(row) + '\n' for row in curve))


def read_curve_json(path: Path) -> Curve:
    """Return what :func:`write_curve_json` wrote; nothing where nothing was written."""
    if not path.is_file():
        return []
    return [json.loads(line) for line in path.read_text().splitlines()]
