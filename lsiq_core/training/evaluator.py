# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Measure a learner in an environment of its own, against chance and the expert."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lsiq_core.data.dataset import expert_data
from lsiq_core.data.demonstrations import Demonstrations
from lsiq_core.env import Env
from lsiq_core.learning.idm_training import action_error, prediction_error
from lsiq_core.learning.learner import Learner
from lsiq_core.learning.optimiser import State
from lsiq_core.policy.policies import policy_function
from lsiq_core.training.rollouts import random_policy, rollout, Rollouts
import numpy as np
import torch
from torch import Tensor


class Evaluator:
    """The learner's evaluation episodes; it never trains in their environment."""

    def __init__(self, learner: Learner, env: Env, demos: Demonstrations) -> None:
        self._learner, self._env, self._demos = learner, env, demos
        self.references: dict[str, float | None] = {}

    def measure_references(self, interrupted: Callable[[], bool]) -> None:
        """Measure the returns that the normalised return puts at zero and at one."""
        chance = rollout(
            self._env,
            random_policy(self._env, 0),
            episodes=self._learner.config.report.evaluation_episodes,
            discount=1.0,
            interrupted=interrupted,
        )
        self.references = {
            'random_return': float(chance.returns.mean()),
            'expert_return': self._demos.return_of(self._env.max_episode_steps),
            'expert_length': self._demos.length_of(self._env.max_episode_steps),
        }

    def measure(
        self,
        state: State,
        interrupted: Callable[[], bool],
        *,
        stochastic: bool = False,
        keep: bool = False,
    ) -> Rollouts:
        """Run evaluation episodes, left when interrupted; keep their transitions if asked to."""
        return rollout(
            self._env,
            policy_function(self._learner, state, stochastic=stochastic),
            episodes=self._learner.config.report.evaluation_episodes,
            discount=self._learner.config.algorithm.discount,
            keep_transitions=keep,
            interrupted=interrupted,
        )

    def inverse_dynamics(
        self, state: State, transitions: list[Any], refined_actions: Tensor | None
    ) -> dict[str, float]:
        """Measure the model on evaluation episodes, never trained on, and on the expert."""
        obs, action, next_obs = (
            torch.as_tensor(np.stack(each), dtype=torch.float32) for each in zip(*transitions)
        )
        rows = self._learner.rows(obs, action, next_obs)
        errors = {'heldout': prediction_error(self._learner, state, rows)}
        if self._demos.actions is not None:  # known to the report, never to the learner
            window = self._learner.window
            known = expert_data(self._demos, self._env, window=window).rows
            known = known.to(state['idm'].device)
            errors['expert'] = prediction_error(self._learner, state, known)
            if refined_actions is not None:
                true = self._learner.batch(state, known).action
                errors['refined'] = action_error(refined_actions, true)
        return {
            f'idm/{source}_{name}': value
            for source, measured in errors.items()
            for name, value in measured.items()
        }
