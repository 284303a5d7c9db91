# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Teach the inverse dynamics model before the policy exists, and measure it at any time."""

from __future__ import annotations

from lsiq_core.data.batch import draw
from lsiq_core.learning.learner import eager_gradient, Learner
from lsiq_core.learning.optimiser import adam, State, with_moments
from lsiq_core.training.job import Work
import torch
from torch import Tensor

_BATCH = 256
_PAUSE = 100  # updates between two pauses of the work
_SETTLED = 0.33  # share of the learning rate that is left at the end


def teach(
    learner: Learner, state: State, rows: Tensor, updates: int, generator: torch.Generator
) -> Work[State]:
    """
    Return the state with a model taught on packed transitions with known actions.

    Adam starts anew and the learning rate sinks on the way: each call is a problem of its own.
    """
    rate = learner.config.idm.rate
    state = _at_rest(state)
    for done in range(updates):
        if done % _PAUSE == 0:
            yield
        sinking = 1.0 - (1.0 - _SETTLED) * done / updates
        batch = learner.batch(state, draw(rows, _BATCH, generator))
        gradient, _ = eager_gradient(
            learner.idm.loss, state['idm'], batch, state['difference_scale']
        )
        state = {**state, **adam(state, 'idm', gradient, torch.tensor(rate * sinking))}
        state['updates'] = state['updates'] + 1.0
    return _at_rest(state)


def _at_rest(state: State) -> State:
    """Return the state with the model's moments and Adam's count at zero."""
    return {**state, **with_moments('idm', state['idm']), 'updates': torch.zeros(())}


def prediction_error(learner: Learner, state: State, rows: Tensor) -> dict[str, float]:
    """Return root mean squared error and R^2 on packed transitions with known actions."""
    with torch.no_grad():
        batch = learner.batch(state, rows)
        predicted = learner.idm.predict(
            state['idm'], batch.obs, batch.next_obs, state['difference_scale']
        )
    return action_error(predicted, batch.action)


def action_error(predicted: Tensor, true: Tensor) -> dict[str, float]:
    """Return root mean squared error and R^2 of predicted actions [N, A]."""
    error = (predicted - true).square().mean()
    spread = (true - true.mean(0)).square().mean()
    return {'rmse': float(error.sqrt()), 'r2': float(1.0 - error / spread)}
