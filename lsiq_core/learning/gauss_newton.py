# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
Action refinement where resets are exact: solve one simulated step for its action.

The step s'(a) from an expert state is compared with the expert's next state, in units of one
step's change, and the action is moved by damped Gauss-Newton steps. The Jacobian comes from
finite differences, one simulated step a joint, and is then kept up to date by Broyden's formula;
a neighbour in time lends its own. Differences are weighted by their inverse size, so that a few
impacts do not outweigh all joints (least absolute deviations).

Contacts make local minima, so there are several passes. The first starts from the action of the
transition before. The others take what is not solved yet, from the transition after and then
from the nearest solved states. The expert's actions are never looked at.
"""

from __future__ import annotations

from typing import Any

from lsiq_core.data.batch import unpack
from lsiq_core.env import Env, StartsAnywhere
from lsiq_core.errors import TaskError
from lsiq_core.job import Job, StageProgress
from lsiq_core.learning.optimiser import State
from lsiq_core.learning.stage import Stage
import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

Array = npt.NDArray[np.float64]
SOLVED = 1e-3  # mean distance from the expert's next state, in units of one step's change
_EXACT = 1e-5  # no more to gain: single precision of the recording
_STEPS = 14  # Gauss-Newton steps for one transition and start
_DIFFERENCE = 1e-3  # of an action, for the Jacobian
_NEIGHBOURS = 3  # passes that start from the nearest solved states
_FIRST_DAMPING, _MOST_DAMPING = 1e-6, 1e3
_PAUSE = 20  # transitions between two pauses


class GaussNewton(Stage):
    """
    Actions that lead from each expert state to the next, as far as they can be found.

    :param env: a simulation that can be started exactly at any observation.
    :param expert_rows: packed expert transitions [N, 2 D + A + 1]; their actions are not read.
    :param scales: ``obs_std`` and ``difference_scale`` [D] of observations and their changes.
    :param known: packed transitions with known actions, which are handed on.
    :param passes: over the transitions, at most.
    """

    KEPT = ('rows', 'number', 'done', 'actions', 'misses', 'jacobian')

    def __init__(
        self,
        env: Env,
        expert_rows: Tensor,
        scales: State,
        known: Tensor,
        passes: int = 2 + _NEIGHBOURS,
    ) -> None:
        if not isinstance(env, StartsAnywhere):
            raise TaskError(
                f'pretraining.refinement: task {env.name} cannot be started at a given state'
            )
        self._env, self._passes = env, passes
        self._low, self._range = env.action_low, env.action_high - env.action_low
        obs_dim, action_dim = len(scales['obs_std']), len(env.action_terms)
        expert = unpack(expert_rows.cpu(), obs_dim, action_dim)  # the simulation's side
        self._starts, self._goals = expert.obs.double().numpy(), expert.next_obs.double().numpy()
        self._scale = scales['obs_std'].double().cpu().numpy()
        step = scales['difference_scale'] * scales['obs_std']
        self._step = step.double().cpu().numpy()
        self._here: tuple[int, dict[str, Any]] = (-1, {})  # where the simulation was put last
        self.rows = known
        self.number, self.done = 0, 0  # passes that are over, transitions of the present one
        self.actions = torch.zeros(expert.action.shape, dtype=torch.float64)
        self.misses = torch.full((len(expert_rows),), torch.inf, dtype=torch.float64)
        self.jacobian = torch.zeros((obs_dim, action_dim), dtype=torch.float64)

    def run(self) -> Job[None]:
        """Do all passes that are left."""
        count = len(self.misses)
        while self.number < self._passes:
            while self.done < count:
                # The second pass goes backwards, so that a solution is handed on.
                index = count - 1 - self.done if self.number == 1 else self.done
                if self.misses[index] > SOLVED:
                    self._attempt(index, self._first_guess(index))
                self.done += 1
                if self.done % _PAUSE == 0:
                    yield
            self.number, self.done = self.number + 1, 0

    @property
    def solved(self) -> float:
        """Return the share of transitions whose action was found."""
        return float((self.misses <= SOLVED).double().mean())

    @property
    def progress(self) -> StageProgress:
        """Return how far the present pass is."""
        stage = f'solving for actions, pass {self.number + 1} of {self._passes}'
        return StageProgress(stage, self.done, len(self.misses))

    def _first_guess(self, index: int) -> Array:
        """Return the action to start from; the third pass and later ask other states."""
        if self.number < 2:
            near = min(max(index + (-1 if self.number == 0 else 1), 0), len(self.misses) - 1)
            return self.actions[near].numpy().copy()
        solved = np.flatnonzero(self.misses.numpy() <= SOLVED)
        if len(solved) < _NEIGHBOURS:
            return np.zeros(self.actions.shape[1])
        far = np.square((self._starts[solved] - self._starts[index]) / self._scale).sum(1)
        nearest = solved[np.argsort(far, kind='stable')[self.number - 2]]
        return self.actions[int(nearest)].numpy().copy()

    def _attempt(self, index: int, action: Array) -> None:
        """Improve an action until it is exact or no step helps; keep it if it is the best yet."""
        difference = self._difference(index, action)
        miss, damping = _miss(difference), _FIRST_DAMPING
        lent = self.number == 0 and bool(self.jacobian.any())
        jacobian = self.jacobian.numpy() if lent else self._slopes(index, action, difference)
        fresh = not lent
        for _ in range(_STEPS):
            wanted = _step(jacobian, difference, damping)
            moved = np.clip(action + wanted, -1.0, 1.0)
            result = self._difference(index, moved)
            if _miss(result) < miss:
                way = moved - action
                error = result - difference - jacobian @ way
                jacobian = jacobian + np.outer(error, way) / (way @ way)  # Broyden
                action, difference, miss, fresh = moved, result, _miss(result), False
                damping = max(damping / 4, 1e-9)
                if miss < _EXACT:
                    break
            elif not fresh:
                jacobian, fresh = self._slopes(index, action, difference), True
                damping = max(damping, 1e-4)
            elif damping < _MOST_DAMPING:
                damping *= 30
            else:
                break
        if miss < self.misses[index]:
            self.actions[index], self.misses[index] = torch.from_numpy(action), miss
        if miss <= SOLVED:
            self.jacobian = torch.from_numpy(jacobian.copy())

    def _difference(self, index: int, action: Array) -> Array:
        """Return how far one step misses the expert's next state, in steps, [D]."""
        if index == self._here[0]:  # going back is cheaper than to work out the state anew
            self._env.restore(self._here[1])
        else:
            self._env.reset_to(self._starts[index])  # type: ignore[attr-defined]
            self._here = (index, self._env.state())
        reached = self._env.step(self._low + (action + 1) / 2 * self._range).obs
        missed: Array = (reached - self._goals[index]) / self._step
        return missed

    def _slopes(self, index: int, action: Array, difference: Array) -> Array:
        """Return the Jacobian by finite differences, [D, A]."""
        slopes = np.empty((len(difference), len(action)))
        for joint in range(len(action)):
            bump = np.zeros(len(action))
            bump[joint] = -_DIFFERENCE if action[joint] > 0.5 else _DIFFERENCE  # inside the box
            slopes[:, joint] = (self._difference(index, action + bump) - difference) / bump[joint]
        return slopes


def _miss(difference: Array) -> float:
    """Return the mean distance; impacts count no more than 1."""
    return float(np.abs(np.tanh(difference)).mean())


def _step(jacobian: Array, difference: Array, damping: float) -> Array:
    """Return the damped step that takes the weighted difference to zero, [A]."""
    weighted = jacobian.T / np.maximum(np.abs(difference), SOLVED)
    curvature = weighted @ jacobian
    floor = damping * np.trace(curvature) / len(curvature) + 1e-12
    step: Array = -np.linalg.solve(
        curvature + floor * np.eye(len(curvature)), weighted @ difference
    )
    return step
