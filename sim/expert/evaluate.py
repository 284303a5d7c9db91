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

import numpy as np
import numpy.typing as npt
from sim.atlas import Variations
from sim.atlas.config import RATE_HZ
from sim.atlas.task import WALKING_SPEED_MPS
from sim.expert.policy import ExpertPolicy
from sim.expert.walkers import Walkers
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

    @property
    def all_walk(self) -> bool:
        """Return whether every rollout survived at walking speed."""
        close = np.abs(self.speed_mps - WALKING_SPEED_MPS) <= SPEED_TOLERANCE_MPS
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
    *,
    seed: int,
    rollouts: int = 16,
    seconds: float = 10.0,
    variations: Variations | None = None,
) -> Evaluation:
    """
    Walk from random phases of the gait.

    :param policy: the torch policy, or a function of state, phase and lateral offset.
    :param seed: of the starts.
    :param rollouts: how many.
    :param seconds: how long each.
    :param variations: how worlds differ.
    """
    torque = torque_of(policy) if isinstance(policy, ExpertPolicy) else policy
    # Longer than needed, so that no robot is put back to its start before it was measured.
    walkers = Walkers(rollouts, seed=seed, seconds=seconds + 1, variations=variations)
    alive = np.ones(rollouts, bool)
    metric, ankles = np.zeros(rollouts), []
    distance = np.zeros(rollouts)
    steps = round(seconds * RATE_HZ)
    for _ in range(steps):
        state = walkers.state
        ankles.append(state[alive][:, [24, 29]])
        step = walkers.batch.step(torque(state, walkers.phase, walkers.batch.lateral_m))
        walkers.phase = walkers.next_phase()
        alive &= ~step.terminated
        metric += np.where(alive, step.reward, 0.0) / steps
        distance = np.where(alive, walkers.batch.forward_m, distance)
        if not alive.any():
            break
    return Evaluation(alive, distance / seconds, metric, float(np.concatenate(ankles).std()))
