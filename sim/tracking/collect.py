# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
Let an expert follow its reference and keep what it did: feasible demonstrations.

Noise on the commands makes the expert show how it recovers; without it a learner only ever
sees the reference itself. Where worlds differ, both are kept: the true states, and what the
sensors said, which is what the expert answered to.
"""

from __future__ import annotations

from dataclasses import dataclass

from lsiq_core.robot import Randomisation, RobotSpec
from lsiq_core.types import Array
import numpy as np
from sim.tracking.reference import Reference
from sim.tracking.tracking_env import AnswerTo, TrackingEnv

DOOMED_S = 1.5  # before it lost the reference an expert shows how one falls
SHORTEST_S = 2.0  # of an episode that is kept
LEAST_S = 60.0  # in all, below which there is nothing to learn from


@dataclass(frozen=True)
class Rollout:
    """One episode: T transitions between T + 1 states."""

    states: Array  # [T + 1, D], full observations
    observed: Array  # [T + 1, D], the same as the sensors said them
    actions: Array  # [T, A] N m or rad, as commanded
    metric: Array  # [T]
    noise: float  # std, in units of the residual scale


@dataclass(frozen=True)
class CollectConfig:
    """How much, how long, how noisy."""

    episodes: int = 60
    seconds: float = 10.0
    noise: tuple[float, float] = (0.02, 0.3)
    seed: int = 0
    parallel: int = 32
    randomisation: Randomisation | None = None


def collect(
    answer: AnswerTo, robot: RobotSpec, reference: Reference, config: CollectConfig
) -> tuple[list[Rollout], int]:
    """
    Collect demonstrations.

    :param answer: the expert.
    :return: the episodes, until shortly before the reference was lost, and how many were tried;
        fewer than asked for where the expert is poor.
    """
    rng = np.random.default_rng(config.seed)
    kept: list[Rollout] = []
    tried = 0
    while len(kept) < config.episodes:
        kept += _follow(answer, robot, reference, config, rng)
        tried += config.parallel
        if tried >= 10 * max(config.episodes, config.parallel) and len(kept) < config.episodes:
            if sum(len(x.actions) for x in kept) >= LEAST_S * reference.rate_hz:
                break  # little, but something can be learned of it
            raise RuntimeError(
                f'the expert kept to the reference in {len(kept)} of {tried} episodes with noise '
                f'{config.noise}; train it longer, or use less noise or shorter episodes'
            )
    return kept[: config.episodes], tried


def _follow(
    answer: AnswerTo,
    robot: RobotSpec,
    reference: Reference,
    config: CollectConfig,
    rng: np.random.Generator,
) -> list[Rollout]:
    count, steps = config.parallel, round(config.seconds * reference.rate_hz)
    env = TrackingEnv(
        robot,
        reference,
        count,
        seed=int(rng.integers(2**31)),
        seconds=1e6,
        randomisation=config.randomisation,
        observation='full',
    )
    env.start_at(reference.draw(count, rng, steps))
    low, high = env.batch.action_low, env.batch.action_high
    std = rng.uniform(*config.noise, size=count)
    most = np.minimum(reference.remaining(env.rows) - env.shortest, steps)
    doomed, shortest = (round(s * reference.rate_hz) for s in (DOOMED_S, SHORTEST_S))
    states, observed = [env.batch.exact()], [env.batch.obs]
    actions, metric = [], []
    lost = np.zeros(count, bool)
    length = most.copy()
    for t in range(int(most.max())):
        said = answer(env.inputs())
        noise = std[:, None] * said.residual_scale * rng.standard_normal(said.command.shape)
        command = np.clip(said.command + noise, low, high)
        step = env.step(command, said.residual, ~lost)
        states.append(env.batch.exact())
        observed.append(env.batch.obs)
        actions.append(command)
        metric.append(env.metric)
        losing = step.terminated & (t < most) & ~lost
        length[losing] = t - doomed
        lost |= losing
    env.batch.close()
    x, done, paid = (np.stack(each, 1) for each in (states, actions, metric))
    seen = np.stack(observed, 1) if env.batch.randomisation.changes_readings else x
    return [
        Rollout(x[i, : n + 1], seen[i, : n + 1], done[i, :n], paid[i, :n], float(std[i]))
        for i, n in enumerate(length)
        if n >= (shortest if lost[i] else 1)
    ]
