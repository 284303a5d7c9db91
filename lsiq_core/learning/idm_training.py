# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Fit the inverse dynamics model before the policy exists, and measure it at any time."""

from __future__ import annotations

from lsiq_core.data.batch import draw
from lsiq_core.job import Job, StageProgress
from lsiq_core.learning.learner import eager_gradient, Learner
from lsiq_core.learning.optimiser import adam, State, with_moments
from lsiq_core.learning.stage import Stage
import torch
from torch import Tensor

_BATCH = 256
_PAUSE = 50  # updates between two pauses
_SETTLED = 0.33  # share of the learning rate that is left at the end


class IdmFit(Stage):
    """
    So many updates of the model on packed transitions with known actions.

    Adam starts anew and the learning rate sinks on the way: each fit is a problem of its own.
    """

    KEPT = ('rows', 'done')

    def __init__(self, learner: Learner, rows: Tensor, updates: int) -> None:
        self._learner, self.rows, self._updates = learner, rows, updates
        self.done = 0

    def run(self, state: State, generator: torch.Generator) -> Job[None]:
        """Do all updates that are left; the model in ``state`` is changed in place."""
        learner = self._learner
        if not self.done:
            _rest(state)
        while self.done < self._updates:
            sinking = 1.0 - (1.0 - _SETTLED) * self.done / self._updates
            batch = learner.batch(state, draw(self.rows, _BATCH, generator))
            gradient, _ = eager_gradient(
                learner.idm.loss, state['idm'], batch, state['difference_scale']
            )
            rate = torch.tensor(learner.config.idm.rate * sinking, device=gradient.device)
            state |= adam(state, 'idm', gradient, rate)
            state['updates'] = state['updates'] + 1.0
            self.done += 1
            if self.done % _PAUSE == 0:
                yield
        _rest(state)

    @property
    def progress(self) -> StageProgress:
        """Return how far it is."""
        return StageProgress('fitting the inverse dynamics', self.done, self._updates)


def _rest(state: State) -> None:
    """Put the model's moments and Adam's count to zero."""
    state |= {**with_moments('idm', state['idm']), 'updates': torch.zeros_like(state['updates'])}


def prediction_error(learner: Learner, state: State, rows: Tensor) -> dict[str, float]:
    """Return root mean squared error and R^2 on packed transitions with known actions."""
    with torch.no_grad():
        batch = learner.batch(state, rows.to(state['idm'].device))
        predicted = learner.predicted_actions(state, batch)
    return action_error(predicted, batch.action)


def action_error(predicted: Tensor, true: Tensor) -> dict[str, float]:
    """Return root mean squared error and R^2 of predicted actions [N, A]."""
    error = (predicted - true).square().mean()
    spread = (true - true.mean(0)).square().mean()
    return {'rmse': float(error.sqrt()), 'r2': float(1.0 - error / spread)}
