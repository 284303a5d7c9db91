# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Let the expert walk and keep what it did: states, and actions apart from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lsiq_core.robot import Randomisation
import numpy as np
import numpy.typing as npt
from sim.tracking.controller import ExpertController
from sim.tracking.vec_env import VecEnv

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Rollout:
    """One episode: T transitions between T + 1 states."""

    full: Array  # [T + 1, D], of which the first are the kinematic observation
    actions: Array  # [T, A] N m, as commanded
    metric: Array  # [T], the paper's r
    terminated: bool
    noise: float  # std, in units of the residual scale
    kinematic_size: int

    @property
    def kinematic(self) -> Array:
        """Return the kinematic states."""
        return self.full[:, : self.kinematic_size]


def collect(
    expert: ExpertController,
    *,
    episodes: int,
    seconds: float = 10.0,
    noise: tuple[float, float] = (0.02, 0.16),
    keep_falls: bool = False,
    seed: int = 0,
    randomisation: Randomisation | None = None,
    parallel: int = 32,
) -> list[Rollout]:
    """
    Collect demonstrations.

    Noise on the actions makes the expert show how it recovers; without it a learner only
    ever sees the perfect stride.

    :param expert: who walks.
    :param episodes: how many to return.
    :param seconds: length of an episode.
    :param noise: range of the noise's std, drawn once per episode, in units of the expert's
        residual scale; (0, 0) is the clean expert.
    :param keep_falls: return episodes that ended in a fall, too.
    :param seed: of starts and noise.
    :param randomisation: how worlds differ.
    :param parallel: robots that walk at once.
    """
    rng = np.random.default_rng(seed)
    kept: list[Rollout] = []
    tried = 0
    while len(kept) < episodes:
        rollouts = _walk(expert, min(parallel, episodes), seconds, noise, rng, randomisation)
        tried += len(rollouts)
        kept += [rollout for rollout in rollouts if keep_falls or not rollout.terminated]
        if tried >= 20 * episodes and len(kept) < episodes:
            raise RuntimeError(
                f'the expert survived {seconds} s in {len(kept)} of {tried} episodes with noise '
                f'{noise}; use less noise, shorter episodes or a better expert'
            )
    return kept[:episodes]


def _walk(
    expert: ExpertController,
    robots: int,
    seconds: float,
    noise: tuple[float, float],
    rng: np.random.Generator,
    randomisation: Randomisation | None,
) -> list[Rollout]:
    envs = VecEnv(
        robots,
        expert.robot,
        seed=int(rng.integers(2**31)),
        seconds=seconds,
        observation='full',
        randomisation=randomisation,
    )
    batch = envs.batch
    std = rng.uniform(*noise, size=robots)
    states, actions, metric = [batch.obs], [], []
    length = np.full(robots, round(seconds * batch.rate_hz))
    fallen = np.zeros(robots, bool)
    for t in range(round(seconds * batch.rate_hz)):
        torque, scale = expert.torque(envs.state, envs.phase, batch.lateral_m)
        torque += std[:, None] * scale * rng.standard_normal(torque.shape)
        command = np.clip(torque, batch.action_low, batch.action_high)
        step = batch.step(command)
        envs.phase = envs.next_phase()
        states.append(step.obs)
        actions.append(command)
        metric.append(step.reward)
        length[step.terminated & ~fallen] = t + 1
        fallen |= step.terminated
    all_states, all_actions, all_metric = (np.stack(x, 1) for x in (states, actions, metric))
    return [
        Rollout(
            full=all_states[i, : length[i] + 1],
            actions=all_actions[i, : length[i]],
            metric=all_metric[i, : length[i]],
            terminated=bool(fallen[i]),
            noise=float(std[i]),
            kinematic_size=batch.robot.kinematic_size,
        )
        for i in range(robots)
    ]
