# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
The paper's toy task: a point mass, a goal in the middle and an area that ends the episode.

The mass starts at rest in one of four squares and must reach the green area in the middle.
Red walls stand between the squares and around the arena; touching one is absorbing. The
expert takes the shortest path, which never touches red.

An agent that believes absorbing states to be worth nothing, and everything it does itself to be
worth less, seeks the walls: that is what the task shows (fig:point_mass). How strongly is
arithmetic. Off the expert's paths each step costs r_min; with IQ-Learn's operator k steps to a
wall cost r_min (1 - gamma^k) / (1 - gamma) and then nothing more, T steps to the expert's paths
cost as much for T and then pay. So a wall must be nearer than the paths: the squares lie at the
rim, and the expert is shown from the inner third of its way on.
"""

import json

from lsiq_core.types import Array, Step, Term
import numpy as np

ARENA_M = 1.0  # half width; beyond it is red
GOAL_M = 0.15  # half width of the green square in the middle
START_M = 0.96  # centre of the dark blue squares, on both diagonals
START_HALF_M = 0.03
SHOWN_M = 0.35  # the expert is shown from the inner third of its way...
SHOWN_HALF_M = 0.06  # ...so that the way to its paths is longer than the way to the rim
WALL_HALF_M = 0.08  # the red walls lie on the axes...
WALL_FROM_M = 0.35  # ...from here to the rim
MASS_KG = 1.0
MAX_FORCE_N = 2.0
DAMPING = 0.5  # N s/m
DT_S = 0.05


class PointMass:
    """A mass in the plane, pushed by two forces."""

    name = 'point_mass'
    observation_terms = (
        Term('mass/position_x', 'm', 'world'),
        Term('mass/position_y', 'm', 'world'),
        Term('mass/velocity_x', 'm/s', 'world'),
        Term('mass/velocity_y', 'm/s', 'world'),
    )
    action_terms = (Term('mass/force_x', 'N', 'world'), Term('mass/force_y', 'N', 'world'))
    rate_hz = 1.0 / DT_S
    max_episode_steps = 100

    def __init__(self) -> None:
        """Start with a generator that the first reset may replace."""
        self.action_low = np.full(2, -MAX_FORCE_N)
        self.action_high = np.full(2, MAX_FORCE_N)
        self._rng = np.random.default_rng()
        self._obs = np.zeros(4)
        self._elapsed = 0
        self._ended = False
        self._reached = False

    def reset(self, *, seed: int | None = None) -> Array:
        """Put the mass at rest into one of the four squares."""
        if seed is not None:
            self._rng = np.random.default_rng(seed)
        corner = START_M * (2 * self._rng.integers(0, 2, size=2) - 1)
        position = corner + self._rng.uniform(-START_HALF_M, START_HALF_M, size=2)
        self._obs = np.concatenate((position, np.zeros(2)))
        self._elapsed, self._ended, self._reached = 0, False, False
        return self._obs.copy()

    def reset_to(self, obs: Array) -> Array:
        """Start an episode exactly at an observation."""
        self._obs = np.array(obs, dtype=np.float64)
        self._elapsed, self._ended, self._reached = 0, False, False
        return self._obs.copy()

    def step(self, action: Array) -> Step:
        """Push for one period; the reward is one inside the goal, for reporting alone."""
        force = np.clip(action, self.action_low, self.action_high)
        position, velocity = self._obs[:2], self._obs[2:]
        velocity = velocity + DT_S * (force - DAMPING * velocity) / MASS_KG
        position = position + DT_S * velocity
        self._obs = np.concatenate((position, velocity))
        self._elapsed += 1
        self._ended = in_red(position)
        self._reached = self._reached or in_goal(position)
        truncated = self._elapsed >= self.max_episode_steps
        return Step(self._obs.copy(), float(in_goal(position)), self._ended, truncated)

    def episode_summary(self) -> dict[str, float]:
        """Return whether the goal was reached and red never."""
        return {'success_rate': float(self._reached and not self._ended)}

    def state(self) -> dict[str, Array]:
        """Return position, counters and randomness."""
        generator = json.dumps(self._rng.bit_generator.state).encode()
        return {
            'obs': self._obs.copy(),
            'elapsed': np.array(self._elapsed),
            'reached': np.array(self._reached),
            'generator': np.frombuffer(generator, dtype=np.uint8).copy(),
        }

    def restore(self, state: dict[str, Array]) -> None:
        """Continue where :meth:`state` was taken."""
        self._obs = state['obs'].astype(np.float64)
        self._elapsed = int(state['elapsed'])
        self._reached = bool(state['reached'])
        self._rng = np.random.default_rng()
        self._rng.bit_generator.state = json.loads(state['generator'].tobytes())

    def close(self) -> None:
        """Release nothing: there is nothing held."""


def in_goal(position: Array) -> bool:
    """Return whether a position lies in the green area."""
    return bool(np.abs(position).max() <= GOAL_M)


def in_red(position: Array) -> bool:
    """Return whether a position lies in a wall on an axis or beyond the rim."""
    x, y = np.abs(position)
    beyond = max(x, y) > ARENA_M
    wall = min(x, y) < WALL_HALF_M and max(x, y) > WALL_FROM_M
    return bool(beyond or wall)


class ShortestPath:
    """The expert: straight to the middle, as fast as it can still stop there."""

    def start(self, episode: int, rng: np.random.Generator) -> Array:
        """Return where it is shown from, the four squares in turn."""
        sides = np.array(divmod(episode % 4, 2))
        corner = SHOWN_M * (2 * sides - 1)
        position = corner + rng.uniform(-SHOWN_HALF_M, SHOWN_HALF_M, size=2)
        return np.concatenate((position, np.zeros(2)))

    def __call__(self, obs: Array) -> Array:
        """Return the force, in newtons, for an observation."""
        position, velocity = obs[:2], obs[2:]
        wanted = -1.5 * position
        speed = float(np.linalg.norm(wanted))
        wanted = wanted * min(1.0, 0.8 / max(speed, 1e-9))
        force = 8.0 * (wanted - velocity) + DAMPING * velocity
        return np.clip(force, -MAX_FORCE_N, MAX_FORCE_N)
