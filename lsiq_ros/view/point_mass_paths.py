# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""The paths of a policy through the point-mass arena."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sim import point_mass as task


def draw_arena(axes: Any) -> None:
    """Draw the goal, the start squares and the absorbing walls."""
    from matplotlib.patches import Rectangle

    def square(x: float, y: float, half: float, colour: str) -> None:
        axes.add_patch(Rectangle((x - half, y - half), 2 * half, 2 * half, color=colour))

    rim, wall = task.ARENA_M, task.WALL_HALF_M
    square(0, 0, rim + 0.1, '#d9534f')
    square(0, 0, rim, 'white')
    length = rim - task.WALL_FROM_M
    for x, y, width, height in (
        (task.WALL_FROM_M, -wall, length, 2 * wall),
        (-rim, -wall, length, 2 * wall),
        (-wall, task.WALL_FROM_M, 2 * wall, length),
        (-wall, -rim, 2 * wall, length),
    ):
        axes.add_patch(Rectangle((x, y), width, height, color='#d9534f'))
    for x in (-task.START_M, task.START_M):
        for y in (-task.START_M, task.START_M):
            square(x, y, task.START_HALF_M, '#1f3b73')
    square(0, 0, task.GOAL_M, '#5cb85c')
    axes.set_xlim(-rim - 0.1, rim + 0.1)
    axes.set_ylim(-rim - 0.1, rim + 0.1)
    axes.set_aspect('equal')
    axes.set_xticks([])
    axes.set_yticks([])


def draw_paths(policy: Callable[..., Any], picture: Path) -> None:
    """Let a policy (normalised actions) run and draw where it went."""
    from lsiq_ros.view.point_mass import path_of
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5, 5), layout='constrained')
    axes = figure.subplots()
    draw_arena(axes)
    for episode in range(24):
        path = np.array(path_of(policy, 5_000_000 + episode))
        axes.plot(*path.T, color='black', linewidth=0.8, alpha=0.7)
        marker = 'x' if task.in_red(path[-1]) else 'o'
        axes.plot(*path[-1], marker, color='black', markersize=4)
    figure.savefig(picture, dpi=110)
