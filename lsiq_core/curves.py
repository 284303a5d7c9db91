# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Learning curves as a picture."""

from __future__ import annotations

from pathlib import Path

from lsiq_core.metrics import read

_PANELS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ('normalised return', ('evaluation/normalized_return',)),
    ('episode length', ('evaluation/episode_length_mean', 'training/episode_length')),
    ('Q', ('critic/q_expert', 'critic/q_policy', 'critic/q_absorbing')),
    ('IDM R2', ('idm/heldout_r2', 'idm/expert_r2')),
)


def draw_run(run: Path, picture: Path) -> None:
    """Draw what a run measured along the way into a PNG."""
    from matplotlib.figure import Figure

    lines = read(run)
    figure = Figure(figsize=(11, 6), layout='constrained')
    for axes, (title, names) in zip(figure.subplots(2, 2).flat, _PANELS):
        for name in names:
            points = [(line['step'], line[name]) for line in lines if name in line]
            if points:
                axes.plot(*zip(*points), label=name.split('/')[1])
        axes.set_title(title)
        axes.set_xlabel('environment steps')
        axes.grid(alpha=0.3)
        if title == 'IDM R2':
            axes.set_ylim(-0.1, 1.05)
        if axes.lines:
            axes.legend(frameon=False)
    figure.suptitle(run.name)
    figure.savefig(picture, dpi=110)
