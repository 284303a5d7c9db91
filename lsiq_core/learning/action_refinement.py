# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
Rehearsal: try in simulation what the expert may have done, and correct the guess.

Babble shows what random torque does at the expert's states, which is seldom what the expert
did there. A rehearsal puts the robot at an expert state, applies the inverse dynamics model's
guess, and sees where it leads. Two things come of it: a transition with a known action close to
the expert's, to learn from, and a better guess. The model errs much alike on two transitions
from one state, so the difference of its answers corrects the action that was tried:

    a  <-  a + idm(s, s'_expert) - idm(s, s'_reached)

Each round takes those transitions whose best try missed most. The expert's actions are never
looked at; the simulation's states are compared with its states.
"""

from __future__ import annotations

from lsiq_core.data.batch import Batch, draw, pack, unpack
from lsiq_core.data.dataset import ActionBox
from lsiq_core.env import Env, StartsAnywhere
from lsiq_core.errors import TaskError
from lsiq_core.learning.idm_training import teach
from lsiq_core.learning.learner import Learner
from lsiq_core.learning.optimiser import State
from lsiq_core.training.job import Work
import numpy as np
import torch
from torch import Tensor

_PAUSE = 1000  # tries between two pauses of the work
_RECENT = 3  # rounds whose transitions make up half of what the model learns from


class Rehearsal:
    """
    Rounds of trying and correcting.

    :param learner: its inverse dynamics model guesses and learns.
    :param env: a simulation that can be started at any observation.
    :param expert_rows: packed expert transitions [N, 2 D + A + 1]; their actions are not read.
    :param known: packed transitions to go on learning from, for example babble.
    :param generator: source of everything random.
    """

    def __init__(
        self,
        learner: Learner,
        env: Env,
        expert_rows: Tensor,
        known: Tensor,
        generator: torch.Generator,
    ) -> None:
        self._learner, self._env, self._generator = learner, env, generator
        self._expert = expert_rows
        count = len(expert_rows)
        self._best = torch.zeros((count, learner.action_dim))
        self._reached = torch.zeros((count, learner.obs_dim))
        self._miss = torch.full((count,), torch.inf)  # not tried yet
        self.rows = known

    def round(self, state: State) -> Work[State]:
        """Try a guess for the worst transitions, learn from it; return the learner's state."""
        worst = self._worst()
        guess = self._guess(state, worst)
        tried = yield from self._try(worst, guess)
        reached = self._unpack(tried).next_obs
        miss = self._distance(state, worst, reached)
        closer = miss < self._miss[worst]
        index = worst[closer]
        self._best[index], self._reached[index] = guess[closer], reached[closer]
        self._miss[index] = miss[closer]
        self.rows = torch.cat((self.rows, tried))
        recent = self.rows[-_RECENT * len(tried) :]
        half_recent = torch.cat((recent, draw(self.rows, len(recent), self._generator)))
        updates = self._learner.config.pretraining.refinement.updates
        state = yield from teach(self._learner, state, half_recent, updates, self._generator)
        return state

    @property
    def miss(self) -> float:
        """Return the mean distance of the best tries, 0 to 1, in units of one step's change."""
        return float(self._miss[self._miss.isfinite()].mean())

    def actions(self, state: State) -> Tensor:
        """Return the best action tried for each transition, or else the model's, [N, A]."""
        untried = self._miss.isinf().nonzero().squeeze(1)
        found = self._best.clone()
        found[untried] = self._guess(state, untried)
        return found

    def _worst(self) -> Tensor:
        """Return the transitions to try now: untried ones in random order, then bad ones."""
        order = torch.randperm(len(self._miss), generator=self._generator)
        worst = self._miss[order].argsort(descending=True, stable=True)
        return order[worst[: self._learner.config.pretraining.refinement.transitions]]

    def _guess(self, state: State, index: Tensor) -> Tensor:
        """Return the next action to try for each transition, [I, A]."""
        learner, scale = self._learner, state['difference_scale']
        expert = learner.batch(state, self._expert[index])
        answer = learner.idm.predict(state['idm'], expert.obs, expert.next_obs, scale)
        reached = learner.normalise(state, self._reached[index])
        about_best = learner.idm.predict(state['idm'], expert.obs, reached, scale)
        corrected = (self._best[index] + answer - about_best).clamp(-1.0, 1.0)
        return torch.where(self._miss[index, None].isinf(), answer, corrected).detach()

    def _try(self, index: Tensor, actions: Tensor) -> Work[Tensor]:
        """
        Return what one step with each action brought, as packed transitions.

        They begin at the expert's observation, not at what the simulation reads after being put
        there: a force depends on the torque that led there, which a fresh start does not know.
        """
        if not isinstance(self._env, StartsAnywhere):
            raise TaskError(
                f'pretraining.refinement: task {self._env.name} cannot be started at a given state'
            )
        starts = self._unpack(self._expert[index]).obs
        commands = ActionBox.of(self._env).scale(actions).numpy()
        after = np.empty(starts.shape, np.float32)
        absorbing = np.zeros(len(starts), np.float32)
        for place, (start, command) in enumerate(zip(starts.double().numpy(), commands)):
            if place % _PAUSE == 0:
                yield
            self._env.reset_to(start)
            step = self._env.step(command)
            after[place], absorbing[place] = step.obs, step.terminated
        return pack(starts, actions, torch.from_numpy(after), torch.from_numpy(absorbing))

    def _distance(self, state: State, index: Tensor, reached: Tensor) -> Tensor:
        """Return how far each try missed the expert's next state; impacts count no more than 1."""
        wanted = self._unpack(self._expert[index]).next_obs
        step = state['difference_scale'] * state['obs_std']
        return ((reached - wanted) / step).abs().tanh().mean(-1)

    def _unpack(self, rows: Tensor) -> Batch:
        return unpack(rows, self._learner.obs_dim, self._learner.action_dim)
