# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
Action refinement: try in simulation what the expert may have done, and correct the guess.

Babble shows what random torque does at the expert's states, which is seldom what the expert
did there. Refinement puts the robot at an expert state, applies the inverse dynamics model's
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
from lsiq_core.job import Job, StageProgress
from lsiq_core.learning.idm_training import IdmFit
from lsiq_core.learning.learner import Learner
from lsiq_core.learning.optimiser import State
from lsiq_core.learning.stage import Stage
import torch
from torch import Tensor

_PAUSE = 200  # tries between two pauses
_RECENT = 3  # rounds whose transitions make up half of what the model learns from


class Refinement(Stage):
    """
    Rounds of trying and correcting.

    :param learner: its inverse dynamics model guesses and learns.
    :param env: a simulation that can be started at any observation.
    :param expert_rows: packed expert transitions [N, 2 D + A + 1]; their actions are not read.
    :param known: packed transitions to go on learning from, for example babble.
    """

    KEPT = (
        *('round', 'rows', 'best', 'reached', 'misses'),
        *('index', 'guess', 'after', 'absorbing', 'tried'),
    )

    def __init__(self, learner: Learner, env: Env, expert_rows: Tensor, known: Tensor) -> None:
        self._learner, self._env, self._expert = learner, env, expert_rows
        self._config = learner.config.pretraining.refinement
        self.rows = known
        self.round = 0  # rounds that are over
        count = len(expert_rows)
        self.best = torch.zeros((count, learner.action_dim))
        self.reached = torch.zeros((count, learner.obs_dim))
        self.misses = torch.full((count,), torch.inf)  # not tried yet
        # Of the round that is under way: which transitions, with which actions, to what end.
        self.index = torch.zeros(0, dtype=torch.int64)
        self.guess, self.after, self.absorbing = (torch.zeros(0) for _ in range(3))
        self.tried = 0
        self._fit: IdmFit | None = None

    def run_round(self, state: State, generator: torch.Generator) -> Job[None]:
        """
        Try a guess for the worst transitions and learn from it, from wherever the round is.

        :param state: the learner's; its model is changed in place.
        :param generator: source of everything random.
        """
        if self._fit is None:
            if not len(self.index):
                self._choose(state, generator)
            yield from self._try()
            self._take(state)
            recent = self.rows[-_RECENT * len(self.index) :]
            half_recent = torch.cat((recent, draw(self.rows, len(recent), generator)))
            self._fit = IdmFit(self._learner, half_recent, self._config.updates)
        yield from self._fit.run(state, generator)
        self._fit, self.index, self.tried = None, self.index[:0], 0
        self.round += 1

    @property
    def miss(self) -> float:
        """Return the mean distance of the best tries, 0 to 1, in units of one step's change."""
        return float(self.misses[self.misses.isfinite()].mean())

    @property
    def progress(self) -> StageProgress:
        """Return how far the round is: its tries, then its updates."""
        fitted = 0 if self._fit is None else self._fit.done
        stage = f'refining actions, round {self.round + 1} of {self._config.rounds}'
        return StageProgress(stage, self.tried + fitted, len(self.index) + self._config.updates)

    def actions(self, state: State) -> Tensor:
        """Return the best action tried for each transition, or else the model's, [N, A]."""
        untried = self.misses.isinf().nonzero().squeeze(1)
        found = self.best.clone()
        found[untried] = self._guesses(state, untried)
        return found

    def _choose(self, state: State, generator: torch.Generator) -> None:
        """Take the transitions to try now: untried ones in random order, then bad ones."""
        order = torch.randperm(len(self.misses), generator=generator)
        worst = self.misses[order].argsort(descending=True, stable=True)
        self.index = order[worst[: self._config.transitions]]
        self.guess = self._guesses(state, self.index)
        self.after = torch.zeros((len(self.index), self._learner.obs_dim))
        self.absorbing = torch.zeros(len(self.index))

    def _guesses(self, state: State, index: Tensor) -> Tensor:
        """Return the next action to try for each transition, [I, A]."""
        learner, scale = self._learner, state['difference_scale']
        expert = learner.batch(state, self._expert[index])
        answer = learner.idm.predict(state['idm'], expert.obs, expert.next_obs, scale)
        reached = learner.normalise(state, self.reached[index])
        about_best = learner.idm.predict(state['idm'], expert.obs, reached, scale)
        corrected = (self.best[index] + answer - about_best).clamp(-1.0, 1.0)
        return torch.where(self.misses[index, None].isinf(), answer, corrected).detach()

    def _try(self) -> Job[None]:
        """Do one step with each guessed action at its expert state."""
        if not isinstance(self._env, StartsAnywhere):
            raise TaskError(
                f'pretraining.refinement: task {self._env.name} cannot be started at a given state'
            )
        starts = self._unpack(self._expert[self.index]).obs.double().numpy()
        commands = ActionBox.of(self._env).scale(self.guess).numpy()
        while self.tried < len(starts):
            place = self.tried
            self._env.reset_to(starts[place])
            step = self._env.step(commands[place])
            self.after[place] = torch.as_tensor(step.obs)
            self.absorbing[place] = float(step.terminated)
            self.tried += 1
            if self.tried % _PAUSE == 0:
                yield

    def _take(self, state: State) -> None:
        """
        Keep the transitions that were tried, and the guesses that came closer than any before.

        They begin at the expert's observation, not at what the simulation reads after being put
        there: a force depends on the torque that led there, which a fresh start does not know.
        """
        expert = self._unpack(self._expert[self.index])
        step = state['difference_scale'] * state['obs_std']
        # Impacts count no more than 1.
        miss = ((self.after - expert.next_obs) / step).abs().tanh().mean(-1)
        closer = miss < self.misses[self.index]
        index = self.index[closer]
        self.best[index], self.reached[index] = self.guess[closer], self.after[closer]
        self.misses[index] = miss[closer]
        tried = pack(expert.obs, self.guess, self.after, self.absorbing)
        self.rows = torch.cat((self.rows, tried))

    def _unpack(self, rows: Tensor) -> Batch:
        return unpack(rows, self._learner.obs_dim, self._learner.action_dim)

    def state(self) -> dict[str, Tensor]:
        """Return what a checkpoint keeps, the fit of the round included."""
        fit = {} if self._fit is None else self._fit.state()
        return super().state() | {f'fit_{name}': tensor for name, tensor in fit.items()}

    def restore(self, kept: dict[str, Tensor]) -> None:
        """Go on where :meth:`state` was taken."""
        super().restore(kept)
        if 'fit_rows' in kept:
            self._fit = IdmFit(self._learner, self.rows, self._config.updates)
            self._fit.restore({name: kept[f'fit_{name}'] for name in IdmFit.KEPT})
