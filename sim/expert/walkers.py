# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""The robots the expert practises on: a batch of Atlas, each with its phase of the gait."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sim.atlas import AtlasBatch, AtlasConfig, FallBounds, gait, Variations
from sim.atlas.config import RATE_HZ
from sim.expert.reward import residual_cost, tracking_reward

Array = npt.NDArray[Any]

PHASE_STEP = 1 / (RATE_HZ * gait.PERIOD_S)
# Narrower than the task's: what leans this far is not worth practising.
PRACTICE_BOUNDS = FallBounds(
    height_m=(0.69, 1.04),
    tilt_rad=(-0.26, 0.26),
    list_rad=(-0.26, 0.26),
    rotation_rad=(-0.31, 0.31),
)


class Practised(NamedTuple):
    """What a step brought: all [N, ...], successors even where the next episode began."""

    reward: Array
    terminated: Array
    truncated: Array
    state: Array
    phase: Array
    lateral_m: Array  # one step old: it changes by millimetres


class Walkers:
    """N robots that start at random phases of the gait."""

    def __init__(
        self,
        num_envs: int,
        *,
        seed: int,
        seconds: float = 8.0,
        falls: FallBounds | None = None,
        variations: Variations | None = None,
        observation: str = 'kinematic',
        threads: int = 0,
    ) -> None:
        """
        Start the robots.

        :param num_envs: N.
        :param seed: of phases and noise.
        :param seconds: time limit of an episode.
        :param falls: when a robot counts as fallen.
        :param variations: how worlds differ.
        :param observation: what :attr:`AtlasBatch.obs` shows, beside the kinematics.
        :param threads: of the physics.
        """
        self.phase = np.zeros(num_envs)
        self.previous_residual = np.zeros((num_envs, 10))
        self.batch = AtlasBatch(
            num_envs,
            AtlasConfig(
                observation=observation,
                max_episode_steps=round(seconds * RATE_HZ),
                falls=falls or FallBounds(),
                variations=variations or Variations(),
            ),
            on_reset=self._start,
            seed=seed,
            threads=threads,
        )

    @property
    def state(self) -> Array:
        """Return the kinematic states to act on, [N, 30]."""
        return self.batch.kinematic()

    def step(self, torque: Array, residual: Array) -> Practised:
        """Step and reward all robots."""
        phase = self.next_phase()
        lateral_m = self.batch.lateral_m.copy()
        cost = residual_cost(residual, self.previous_residual)
        # Copies, because a robot that starts anew gets its own phase during the step.
        self.phase, self.previous_residual = phase.copy(), residual.copy()
        step = self.batch.step(torque)
        state = step.obs[:, :30]
        reward = tracking_reward(state, phase, lateral_m) - cost
        return Practised(
            reward=np.where(step.terminated, 0.0, reward),
            terminated=step.terminated,
            truncated=step.truncated,
            state=state,
            phase=phase,
            lateral_m=lateral_m,
        )

    def next_phase(self) -> Array:
        """Return the phases one control step ahead, [N]."""
        return (self.phase + PHASE_STEP) % 1.0

    def _start(self, index: int, rng: np.random.Generator) -> Array:
        phase = rng.uniform()
        self.phase[index] = phase
        self.previous_residual[index] = 0
        frame = gait.kinematic_frames(phase)
        frame[1:14] += 0.01 * rng.standard_normal(13)
        frame[14:] += 0.05 * rng.standard_normal(16)
        return frame
