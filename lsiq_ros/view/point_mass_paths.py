# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""The paths of a policy through the point-mass arena, as a picture and as a film."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from lsiq_core.training.rollouts import EVALUATION_SEED
import numpy as np
import numpy.typing as npt
from sim import point_mass as task
from sim.render import write_mp4

Frame = npt.NDArray[np.uint8]

_SIDE, _MARGIN_M = 240, 0.1
_WHITE, _RED, _GREEN, _BLUE = (255, 255, 255), (217, 83, 79), (92, 184, 92), (31, 59, 115)
_TRAIL, _MASS, _CRASHED = (170, 170, 170), (20, 20, 20), (120, 0, 0)


def film_run(run: Path, film: Path, *, episodes: int = 12) -> None:
    """Write the first evaluation episodes of a run's final policy, all at once, as an mp4."""
    from lsiq_core.policy.policies import load_policy, policy_function

    learner, state, _ = load_policy(run)
    act = policy_function(learner, state)
    paths = [path_of(act, EVALUATION_SEED + episode) for episode in range(episodes)]
    canvas = _arena()
    frames = []
    for number in range(max(map(len, paths))):
        for path in paths:
            if number < len(path):
                _dot(canvas, path[number], 0, _TRAIL)
        frame = canvas.copy()
        for path in paths:
            place = path[min(number, len(path) - 1)]
            _dot(frame, place, 3, _CRASHED if task.in_red(place) else _MASS)
        frames.append(frame)
    write_mp4(film, frames, fps=task.PointMass.rate_hz)


def path_of(act: Any, seed: int) -> list[npt.NDArray[np.float64]]:
    """Return where the mass was, step by step."""
    env = task.PointMass()
    obs = env.reset(seed=seed)
    path = [obs[:2]]
    while True:
        step = env.step(task.MAX_FORCE_N * act(obs))
        obs = step.obs
        path.append(obs[:2])
        if step.terminated or step.truncated:
            return path


def _arena() -> Frame:
    """Return the empty arena, [S, S, 3], each pixel by the task's own rules."""
    reach = task.ARENA_M + _MARGIN_M
    axis = np.linspace(-reach, reach, _SIDE)
    canvas = np.empty((_SIDE, _SIDE, 3), dtype=np.uint8)
    for row, y in enumerate(axis[::-1]):
        for column, x in enumerate(axis):
            canvas[row, column] = _colour(np.array((x, y)))
    return canvas


def _colour(place: npt.NDArray[np.float64]) -> tuple[int, int, int]:
    if task.in_red(place):
        return _RED
    if task.in_goal(place):
        return _GREEN
    starts = np.abs(np.abs(place) - task.START_M).max() <= task.START_HALF_M
    return _BLUE if starts else _WHITE


def _dot(
    canvas: Frame, place: npt.NDArray[np.float64], radius: int, colour: tuple[int, int, int]
) -> None:
    """Paint a square dot of 2 radius + 1 pixels; what lies outside the picture is left out."""
    reach = task.ARENA_M + _MARGIN_M
    x, y = np.clip((place / reach + 1) / 2, 0.0, 1.0) * (_SIDE - 1)
    row, column = _SIDE - 1 - round(float(y)), round(float(x))
    top, left = max(row - radius, 0), max(column - radius, 0)
    bottom, right = row + radius + 1, column + radius + 1
    canvas[top:bottom, left:right] = colour


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
