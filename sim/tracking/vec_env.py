# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""The robots the expert practises on: a batch, each robot with its phase of the gait."""

from __future__ import annotations

from typing import Any, NamedTuple

from lsiq_core.robot import Randomisation, RobotError, RobotSpec
from lsiq_core.types import FallBounds
import numpy as np
import numpy.typing as npt
from sim.batch import WalkingBatch
from sim.gait import Gait
from sim.reset_states import disturb
from sim.tracking.reward import residual_cost, tracking_reward
from sim.walking import WalkingConfig

Array = npt.NDArray[Any]


class VecStep(NamedTuple):
    """What a step brought: all [N, ...], successors even where the next episode began."""

    reward: Array
    terminated: Array
    truncated: Array
    state: Array
    phase: Array
    lateral_m: Array  # one step old: it changes by millimetres


class VecEnv:
    """N robots that start at random phases of the gait."""

    def __init__(
        self,
        num_envs: int,
        robot: RobotSpec,
        *,
        seed: int,
        seconds: float = 8.0,
        falls: FallBounds | None = None,
        randomisation: Randomisation | None = None,
        observation: str = 'kinematic',
        threads: int = 0,
    ) -> None:
        """
        Start the robots.

        :param num_envs: N.
        :param robot: its file.
        :param seed: of phases and noise.
        :param seconds: time limit of an episode.
        :param falls: when a robot counts as fallen.
        :param randomisation: how worlds differ.
        :param observation: what :attr:`WalkingBatch.obs` shows, beside the kinematics.
        :param threads: of the physics.
        """
        self.gait, self._reset = Gait(robot), robot.reset
        self._phase_step = 1 / (robot.control.rate_hz * self.gait.period_s)
        self.phase = np.zeros(num_envs)
        self.previous_residual = np.zeros((num_envs, len(self.gait.joints)))
        self.batch = WalkingBatch(
            num_envs,
            robot,
            WalkingConfig(
                observation=observation,
                max_episode_steps=round(seconds * robot.control.rate_hz),
                falls=falls,
                randomisation=randomisation,
            ),
            on_reset=self._start,
            seed=seed,
            threads=threads,
        )
        if self.batch.joints != self.gait.joints:
            raise RobotError(
                f'{robot.path}: tracking: its joints are {list(self.gait.joints)}, the robot '
                f'drives {list(self.batch.joints)}'
            )

    @property
    def state(self) -> Array:
        """Return the kinematic states to act on, [N, D]."""
        return self.batch.kinematic()

    def step(self, torque: Array, residual: Array) -> VecStep:
        """Step and reward all robots."""
        phase = self.next_phase()
        lateral_m = self.batch.lateral_m.copy()
        cost = residual_cost(residual, self.previous_residual)
        # Copies, because a robot that starts anew gets its own phase during the step.
        self.phase, self.previous_residual = phase.copy(), residual.copy()
        step = self.batch.step(torque)
        state = self.batch.robot.kinematic_part(step.obs)
        reward = tracking_reward(self.gait, state, phase, lateral_m) - cost
        return VecStep(
            reward=np.where(step.terminated, 0.0, reward),
            terminated=step.terminated,
            truncated=step.truncated,
            state=state,
            phase=phase,
            lateral_m=lateral_m,
        )

    def next_phase(self) -> Array:
        """Return the phases one control step ahead, [N]."""
        return (self.phase + self._phase_step) % 1.0

    def _start(self, index: int, rng: np.random.Generator) -> Array:
        phase = rng.uniform()
        self.phase[index] = phase
        self.previous_residual[index] = 0
        frame = self.gait.kinematic_frames(phase)
        disturb(frame, self._reset, rng)
        return frame
