# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Measure how an expert walks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from lsiq_core.robot import Randomisation, RobotSpec
import numpy as np
import numpy.typing as npt
from sim.gait import LEG, ROLES
from sim.robot import kinematic_columns
from sim.tracking.policy import ExpertPolicy
from sim.tracking.vec_env import VecEnv
import torch

Array = npt.NDArray[Any]
TorqueOf = Callable[[Array, Array, Array], Array]  # state, phase, lateral offset

SPEED_TOLERANCE_MPS = 0.1


@dataclass(frozen=True)
class Evaluation:
    """Rollouts of a policy without exploration."""

    survived: Array  # [R] bool
    speed_mps: Array  # [R], distance over time; zero after a fall
    metric: Array  # [R], the paper's r averaged over the rollout
    ankle_velocity_std: float  # rad/s, a measure of chatter
    wanted_mps: float  # the task's speed

    @property
    def all_walk(self) -> bool:
        """Return whether every rollout survived at walking speed."""
        close = np.abs(self.speed_mps - self.wanted_mps) <= SPEED_TOLERANCE_MPS
        return bool((self.survived & close).all())

    def metrics(self) -> dict[str, float]:
        """Return the figures by name."""
        return {
            'survived': float(self.survived.mean()),
            'speed_mps': float(self.speed_mps.mean()),
            'metric': float(self.metric.mean()),
            'ankle_velocity_std': self.ankle_velocity_std,
        }


def torque_of(policy: ExpertPolicy) -> TorqueOf:
    """Wrap a torch policy for arrays."""

    def torque(state: Array, phase: Array, lateral_m: Array) -> Array:
        inputs = (torch.from_numpy(x.astype(np.float32)) for x in (state, phase, lateral_m))
        with torch.no_grad():
            return policy(*inputs).numpy().astype(np.float64)

    return torque


def evaluate(
    policy: ExpertPolicy | TorqueOf,
    robot: RobotSpec,
    *,
    seed: int,
    rollouts: int = 16,
    seconds: float = 10.0,
    randomisation: Randomisation | None = None,
) -> Evaluation:
    """
    Walk from random phases of the gait.

    :param policy: the torch policy, or a function of state, phase and lateral offset.
    :param robot: its file.
    :param seed: of the starts.
    :param rollouts: how many.
    :param seconds: how long each.
    :param randomisation: how worlds differ.
    """
    torque = torque_of(policy) if isinstance(policy, ExpertPolicy) else policy
    # Longer than needed, so that no robot is put back to its start before it was measured.
    envs = VecEnv(rollouts, robot, seed=seed, seconds=seconds + 1, randomisation=randomisation)
    velocities = kinematic_columns(envs.batch.robot.kinematic_size).velocities
    at_ankles = [velocities.start + leg + ROLES.index('ankle') for leg in (0, LEG)]
    alive = np.ones(rollouts, bool)
    metric, ankles = np.zeros(rollouts), []
    distance = np.zeros(rollouts)
    steps = round(seconds * envs.batch.rate_hz)
    for _ in range(steps):
        state = envs.state
        ankles.append(state[alive][:, at_ankles])
        step = envs.batch.step(torque(state, envs.phase, envs.batch.lateral_m))
        envs.phase = envs.next_phase()
        alive &= ~step.terminated
        metric += np.where(alive, step.reward, 0.0) / steps
        distance = np.where(alive, envs.batch.forward_m, distance)
        if not alive.any():
            break
    chatter = float(np.concatenate(ankles).std())
    return Evaluation(alive, distance / seconds, metric, chatter, robot.task.speed_mps)
