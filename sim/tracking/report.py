# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Write down how an expert was trained: its curve and its card."""

from __future__ import annotations

import json
from pathlib import Path

from sim.tracking.evaluate import Evaluation

Curve = list[dict[str, float]]


def write_curve(curve: Curve, path: Path, *, wanted_mps: float) -> None:
    """Draw reward, falls, survival and speed over the steps taken."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 5.4), layout='constrained')
    axes = figure.subplots(2, 2, sharex=True)
    panels = (
        ('reward', 'reward per step'),
        ('falls_per_s', 'falls per robot and second'),
        ('survived', 'rollouts that survive 10 s'),
        ('speed_mps', 'distance in 10 s / 10 s  [m/s]'),
    )
    for axis, (name, title) in zip(axes.flat, panels):
        points = [(row['steps'] / 1e6, row[name]) for row in curve if name in row]
        axis.plot(*zip(*points), marker='.' if name in ('survived', 'speed_mps') else '')
        axis.set_title(title, fontsize=10)
        axis.grid(alpha=0.3)
    axes[1, 1].axhline(wanted_mps, color='grey', linewidth=1, linestyle=':')
    for axis in axes[1]:
        axis.set_xlabel('million control steps')
    FigureCanvasAgg(figure).print_png(str(path))


def write_card(
    path: Path,
    *,
    robot: str,
    command: str,
    facts: dict[str, object],
    evaluations: dict[str, Evaluation],
) -> None:
    """
    Write the card that goes with an expert.

    :param path: of the Markdown file.
    :param robot: its name.
    :param command: what produced the expert.
    :param facts: seed, commit, duration and the like.
    :param evaluations: by the name of the world they walked in.
    """
    lines = [
        f'# Walking expert for {robot}',
        '',
        'A PD controller on a reference gait written as a formula (sim/gait.py) with a',
        'residual torque from a small network, trained by PPO (sim/tracking). Inputs: the',
        'kinematic state, the phase of the gait and the lateral offset; output: torques in N m.',
        '',
        f'Made with `{command}`.',
        '',
        '| fact | value |',
        '|---|---|',
        *(f'| {name} | {value} |' for name, value in facts.items()),
        '',
        '| world | survive | speed, m/s | metric per step | ankle velocity std, rad/s |',
        '|---|---|---|---|---|',
    ]
    for name, found in evaluations.items():
        alive = found.speed_mps[found.survived]
        speed = f'{alive.mean():.3f} +- {alive.std():.3f}' if len(alive) else '-'
        lines.append(
            f'| {name} | {found.survived.sum()} of {len(found.survived)} | {speed} '
            f'| {found.metric.mean():.3f} | {found.ankle_velocity_std:.1f} |'
        )
    lines += ['', '![training curve](curve.png)', '']
    path.write_text('\n'.join(lines))


def write_curve_json(curve: Curve, path: Path) -> None:
    """Write the curve's numbers."""
    path.write_text('\n'.join(json.dumps(row) for row in curve) + '\n')
