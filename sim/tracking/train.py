# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Train the expert until it walks: minutes on two cores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
import time
from typing import Any

from lsiq_core.robot import load_robot, Randomisation, RobotSpec
import numpy as np
import numpy.typing as npt
from sim.gait import tracking_settings
from sim.tracking.evaluate import evaluate, Evaluation
from sim.tracking.policy import ExpertPolicy
from sim.tracking.ppo import (
    ActorCritic,
    FeatureScale,
    finished_round,
    Outcomes,
    PpoConfig,
    RolloutBuffer,
    update,
)
from sim.tracking.vec_env import VecEnv
import torch

Array = npt.NDArray[Any]
Report = Callable[[dict[str, float]], None]


@dataclass(frozen=True)
class TrainConfig:
    """How long, on how many robots, and when it is good enough."""

    seed: int = 0
    num_envs: int = 128
    steps_per_round: int = 48
    min_steps: int = 0  # go on improving until here, even if it walks before
    max_steps: int = 6_000_000
    evaluate_every: int = 100_000
    evaluations_in_a_row: int = 2  # with every rollout walking, until training stops
    normaliser_steps: int = 200_000  # after which the input's scale stays as it is
    threads: int = 0  # of the physics; 0 steps in this thread
    randomisation: Randomisation = field(default_factory=Randomisation)
    ppo: PpoConfig = field(default_factory=PpoConfig)


@dataclass
class Trained:
    """The expert and how it came about."""

    policy: ExpertPolicy
    curve: list[dict[str, float]]
    evaluation: Evaluation
    seconds: float

    @property
    def reached(self) -> bool:
        """Return whether the last evaluation met the criterion."""
        return self.evaluation.all_walk


def train(
    config: TrainConfig, robot: RobotSpec | str = 'atlas', report: Report = lambda metrics: None
) -> Trained:
    """
    Train until every rollout walks 10 s at the task's speed +- 0.1 m/s, twice in a row.

    :param config: the settings.
    :param robot: its file, or its name or path.
    :param report: called after every round with its metrics.
    """
    robot = load_robot(robot) if isinstance(robot, str) else robot
    torch.set_num_threads(1)  # small networks: more threads only wait for each other
    generator = torch.Generator().manual_seed(config.seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.seed)
        learner = ActorCritic(ExpertPolicy(robot), config.ppo)
    optimiser = torch.optim.Adam(learner.parameters(), lr=config.ppo.learning_rate)
    envs = VecEnv(
        config.num_envs,
        robot,
        seed=config.seed,
        falls=tracking_settings(robot).practice_fall.bounds(),
        randomisation=config.randomisation,
        threads=config.threads,
    )
    scale = FeatureScale(learner.policy.num_features)
    started, curve, good = time.monotonic(), [], 0
    steps, next_evaluation = 0, config.evaluate_every
    while True:
        experience, metrics = collect(learner, envs, config, generator)
        steps += config.num_envs * config.steps_per_round
        metrics |= update(learner, optimiser, experience, config.ppo, generator)
        if steps <= config.normaliser_steps:
            scale.take(experience.features, learner.policy)
        metrics |= {'steps': steps, 'seconds': time.monotonic() - started}
        if steps >= next_evaluation or steps >= config.max_steps:
            next_evaluation += config.evaluate_every
            evaluation = evaluate(learner.policy, robot, seed=config.seed + 1)
            metrics |= evaluation.metrics()
            good = good + 1 if evaluation.all_walk else 0
        curve.append(metrics)
        report(metrics)
        walks = good >= config.evaluations_in_a_row and steps >= config.min_steps
        if walks or steps >= config.max_steps:
            envs.batch.close()
            return Trained(learner.policy, curve, evaluation, time.monotonic() - started)


def collect(
    learner: ActorCritic[ExpertPolicy],
    envs: VecEnv,
    config: TrainConfig,
    generator: torch.Generator,
) -> tuple[RolloutBuffer, dict[str, float]]:
    """Walk one round and work out the advantages."""
    policy = learner.policy
    rows: list[tuple[torch.Tensor, ...]] = []
    ends: list[tuple[torch.Tensor, ...]] = []
    with torch.no_grad():
        std = learner.log_std.exp()
        for _ in range(config.steps_per_round):
            state, phase = _tensor(envs.state), _tensor(envs.phase)
            features = policy.features(state, phase, _tensor(envs.batch.lateral_m))
            mean = policy.mean(features)
            residual = mean + std * torch.randn(mean.shape, generator=generator)
            torque = policy.torque(state, phase, residual)
            done = envs.step(torque.numpy().astype(np.float64), residual.numpy())
            after = policy.features(
                _tensor(done.state), _tensor(done.phase), _tensor(done.lateral_m)
            )
            rows.append((features, residual, mean, learner.log_prob(mean, residual)))
            ends.append(
                (
                    _tensor(done.reward),
                    learner.value(features),
                    learner.value(after),
                    torch.from_numpy(done.terminated),
                    torch.from_numpy(done.terminated | done.truncated),
                )
            )
        outcomes = Outcomes(*(torch.stack(x) for x in zip(*ends)))
        gamma = config.ppo.gamma(envs.batch.rate_hz)
        experience = finished_round(rows, outcomes, gamma, config.ppo.trace_decay)
    metrics = {
        'reward': float(outcomes.reward.mean()),
        'falls_per_s': float(outcomes.terminated.float().mean()) * envs.batch.rate_hz,
        'std': float(std.mean()),
    }
    return experience, metrics


def _tensor(array: Array) -> torch.Tensor:
    return torch.from_numpy(np.asarray(array, np.float32))
