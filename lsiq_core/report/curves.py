# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Learning curves as pictures: of one run, and of groups of runs with their spread."""

from pathlib import Path
from typing import Any

from lsiq_core.errors import CheckpointError
from lsiq_core.report.statistics import student_quantile
from lsiq_core.training.metrics import read
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

_FALLS = 'evaluation/terminated_rate'
_PANELS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ('share of episodes survived', (_FALLS,)),
    ('speed, m/s', ('evaluation/speed_mean_mps',)),
    ('success rate', ('evaluation/success_rate',)),
    ('normalised return', ('evaluation/normalized_return',)),
    ('episode length', ('evaluation/episode_length_mean', 'training/episode_length')),
    ('Q', ('critic/q_expert', 'critic/q_policy', 'critic/q_absorbing')),
    ('IDM R2', ('idm/heldout_r2', 'idm/expert_r2')),
)


def draw_run(run: Path, picture: Path) -> None:
    """Draw what a run measured along the way into a PNG."""
    from matplotlib.figure import Figure

    lines = read(run)
    measured = {name for line in lines for name in line}
    panels = [(title, names) for title, names in _PANELS if measured & set(names)]
    columns = min(3, max(len(panels), 1))
    rows = max(1, -(-len(panels) // columns))
    figure = Figure(figsize=(4.5 * columns, 3.2 * rows), layout='constrained')
    all_axes = list(figure.subplots(rows, columns, squeeze=False).flat)
    for unused in all_axes[len(panels) :]:
        unused.remove()
    for axes, (title, names) in zip(all_axes, panels):
        for name in names:
            points = [(line['step'], line[name]) for line in lines if name in line]
            if points:
                steps, values = zip(*points)
                shown = 1.0 - np.array(values) if name == _FALLS else values
                axes.plot(steps, shown, label=_label(name))
        axes.set_title(title)
        axes.set_xlabel('environment steps')
        axes.grid(alpha=0.3)
        if title in ('IDM R2', 'share of episodes survived', 'success rate'):
            axes.set_ylim(-0.1, 1.05)
        if axes.lines:
            axes.legend(frameon=False)
    figure.suptitle(run.name)
    figure.savefig(picture, dpi=110)


def _label(name: str) -> str:
    """Say where a line comes from: evaluation, training, or a network."""
    source, _, what = name.partition('/')
    return source if source in ('evaluation', 'training') else what.replace('_', ' ')


def curve(run: Path, metric: str) -> tuple[Array, Array]:
    """Return the steps and values of one metric of a run."""
    points = [(line['step'], line[metric]) for line in read(run) if metric in line]
    if not points:
        raise CheckpointError(f'{run}: measured no {metric}')
    steps, values = np.array(points, dtype=np.float64).T
    return steps, values


def group_curve(runs: list[Path], metric: str) -> tuple[Array, Array, Array]:
    """
    Return steps, mean and half the 95 % interval over the seeds of a group.

    A run that reached its bar early keeps its last value from there on.
    """
    curves = [curve(run, metric) for run in runs]
    grid = max((steps for steps, _ in curves), key=len)
    values = np.array([np.interp(grid, steps, values) for steps, values in curves])
    count = len(runs)
    half = np.zeros(len(grid))
    if count > 2:  # of two runs the interval says nothing
        half = student_quantile(count) * values.std(0, ddof=1) / np.sqrt(count)
    return grid, values.mean(0), half


def draw_groups(axes: Any, groups: dict[str, list[Path]], metric: str) -> None:
    """Draw the mean and its 95 % interval of each group of runs, and each run as a thin line."""
    for label, runs in groups.items():
        steps, mean, half = group_curve(runs, metric)
        (line,) = axes.plot(
            steps, mean, label=f'{label} ({len(runs)} seed{"s" * (len(runs) > 1)})'
        )
        colour = line.get_color()
        axes.fill_between(steps, mean - half, mean + half, alpha=0.2, color=colour)
        for run in runs:
            axes.plot(*curve(run, metric), linewidth=0.5, alpha=0.5, color=colour)
    axes.set_xlabel('environment steps')
    axes.set_ylabel(metric.split('/')[1].replace('_', ' '))
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
