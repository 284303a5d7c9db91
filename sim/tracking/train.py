# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
Train a tracker until it follows the reference.

It tracks when, started at frames spread over the reference, it is never lost until the end
(a cycle: for ten seconds) and as fast as the reference, in two evaluations in a row. ``survived``
is the share of the reference's time that it stayed with it. Where worlds are to differ, they do so
from then on, until it survives in them, too: from the start, pushes would only hide what walking
is.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
import math
from pathlib import Path
import time

from lsiq_core.robot import Randomisation, RobotSpec
from lsiq_core.types import Array
import numpy as np
from safetensors.torch import load_file, save_file
from sim.robot import MujocoRobot
from sim.tracking.ppo import (
    ActorCritic,
    FeatureScale,
    finished_round,
    Outcomes,
    PpoConfig,
    RolloutBuffer,
    update,
)
from sim.tracking.reference import Reference
from sim.tracking.tracker import Tracker
from sim.tracking.tracking_env import Answer, AnswerTo, Inputs, TrackingEnv
import torch
from torch import Tensor

CYCLE_S = 10.0  # how long a cycle is followed in an evaluation
STARTS = 24  # robots of an evaluation


@dataclass(frozen=True)
class TrackerConfig:
    """How long, on how many robots, and when it is good enough."""

    seed: int = 0
    num_envs: int = 128
    round_s: float = 0.48
    max_steps: int = 8_000_000
    max_minutes: float = 30.0
    all_minutes: bool = False  # goes on after it tracks
    evaluate_every: int = 150_000
    good_enough: float = 0.98  # of the reference survived, twice in a row
    robust_enough: float = 0.9  # the same where worlds differ
    # Steps there at least, in units of those before: who tracks soon has met few of the worlds.
    robust_share: float = 1.0
    most_drift_mps: float = 0.1  # faster or slower than the reference in the mean
    normaliser_steps: int = 200_000  # after which the input's scale stays as it is
    threads: int = 1  # of the physics
    randomisation: Randomisation | None = None  # how worlds differ once it tracks
    ppo: PpoConfig = field(default_factory=PpoConfig)


@dataclass(frozen=True)
class Tracking:
    """How well a tracker follows its reference."""

    survived: float  # share of the time from each start to the end
    whole: float  # share of the starts that got to the end
    joint_error_rad: float  # mean absolute, while it followed
    path_error_m: float
    speed_error_mps: float
    drift_mps: float = 0.0  # by which it is faster or slower than the reference in the mean

    def metrics(self) -> dict[str, float]:
        """Return it as numbers by name."""
        return {f'tracking/{name}': value for name, value in vars(self).items()}

    def reaches(self, survived: float, most_drift_mps: float) -> bool:
        """Return whether it follows so much of the reference, and as fast."""
        return self.survived >= survived and not self.drift_mps > most_drift_mps

    @property
    def score(self) -> float:
        """Return how good it is, to compare: 0.1 m/s off is as bad as a tenth not survived."""
        return self.survived - (0.0 if math.isnan(self.drift_mps) else self.drift_mps)

    @property
    def line(self) -> str:
        """Say it in one line."""
        return (
            f'followed {self.survived:.0%} of the reference, {self.whole:.0%} of the starts to '
            f'the end; joints {self.joint_error_rad:.3f} rad, path {self.path_error_m:.2f} m, '
            f'speed {self.speed_error_mps:.2f} m/s off, {self.drift_mps:.2f} in the mean'
        )


@dataclass
class TrackerRun:
    """A training that can be stopped, saved and gone on with."""

    robot: RobotSpec
    reference: Reference
    config: TrackerConfig

    def __post_init__(self) -> None:
        """Create networks and robots."""
        torch.set_num_threads(1)  # small networks: more threads only wait for each other
        config = self.config
        self._generator = torch.Generator().manual_seed(config.seed)
        robot = MujocoRobot(self.robot, forces=False)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(config.seed)
            self.learner = ActorCritic(Tracker(robot, self.reference), config.ppo)
        self.optimiser = torch.optim.Adam(self.learner.parameters(), lr=config.ppo.learning_rate)
        self.randomised = False
        self._told = self.reference  # as given: a tracker is told where on its path it is
        self.env = self._robots()
        self._scale = FeatureScale(len(self.learner.policy.feature_mean))
        self.steps, self.seconds, self._good = 0, 0.0, 0
        self._differ_from = 0  # the step from which worlds differ
        self.tracking: Tracking | None = None
        # The best of the world as it is, and of worlds that differ: score and network.
        self._best: dict[bool, tuple[float, dict[str, Tensor]]] = {}
        self.curve: list[dict[str, float]] = []

    def _robots(self) -> TrackingEnv:
        threads = self.config.threads
        return TrackingEnv(
            self.robot,
            self.reference,
            self.config.num_envs,
            seed=self.config.seed,
            randomisation=self._world,
            threads=threads if threads > 1 else 0,
        )

    @property
    def _world(self) -> Randomisation | None:
        return self.config.randomisation if self.randomised else None

    @property
    def done(self) -> bool:
        """Return whether it tracks in all worlds that are asked for, or its budget is spent."""
        config = self.config
        spent = self.steps >= config.max_steps or self.seconds >= 60 * config.max_minutes
        return spent or (self._good >= 2 and self._practised and not config.all_minutes)

    @property
    def _practised(self) -> bool:
        """Return whether it has learned long enough in worlds that differ, if it is to."""
        return self.steps >= (1.0 + self.config.robust_share) * self._differ_from

    @property
    def follows(self) -> bool:
        """Return whether the last evaluation was good enough, in the world as it is."""
        return self._reaches(self.config.good_enough)

    def _reaches(self, survived: float) -> bool:
        found = self.tracking
        return found is not None and found.reaches(survived, self.config.most_drift_mps)

    def _judge(self) -> dict[str, float]:
        """Evaluate, and let worlds differ once it tracks."""
        config = self.config
        bar = config.robust_enough if self.randomised else config.good_enough
        answer = answers(self.learner.policy)
        self.tracking = evaluate(answer, self.robot, self.reference, randomisation=self._world)
        self._good = self._good + 1 if self._reaches(bar) else 0
        if self.randomised not in self._best or self.tracking.score >= self.best_score:
            state = {name: value.clone() for name, value in self.learner.state_dict().items()}
            self._best[self.randomised] = self.tracking.score, state
        if self._good >= 2 and config.randomisation is not None and not self.randomised:
            self._differ_from = self.steps
            self._randomise()
        return self.tracking.metrics()

    @property
    def best_score(self) -> float:
        """Return the best score so far, in the worlds that it learns in now."""
        return self._best[self.randomised][0]

    def finish(self) -> None:
        """
        Take the best of what was learned, and evaluate it in the world as it is.

        A budget ends anywhere, often after a worse round. Where nothing good was learned of
        worlds that differ, what tracks in the one world is better.
        """
        self.env.batch.close()
        for randomised in sorted(self._best, reverse=True):
            self.learner.load_state_dict(self._best[randomised][1])
            self._evaluate_bare()
            if self._reaches(self.config.robust_enough):
                break
            if randomised and False in self._best:
                self.randomised, self.reference = False, self._told
        if not self._best:
            self._evaluate_bare()

    def _evaluate_bare(self) -> None:
        self.tracking = evaluate(answers(self.learner.policy), self.robot, self.reference)

    def _randomise(self) -> None:
        self.randomised, self._good = True, 0
        # Who learns from it will not know where the path is. Told it, a tracker recovers from
        # pushes by what it is told.
        self.reference = replace(self.reference, leash_m=0.0)
        self.env.batch.close()
        self.env = self._robots()

    def iterate(self) -> dict[str, float]:
        """Do one round: collect, learn, and where it is due evaluate."""
        config, begun, worked = self.config, time.monotonic(), time.process_time()
        buffer, metrics = self._collect()
        before = self.steps
        self.steps += len(buffer.features)
        metrics |= update(self.learner, self.optimiser, buffer, config.ppo, self._generator)
        if self.steps <= config.normaliser_steps:
            self._scale.take(buffer.features, self.learner.policy)
        if self.steps // config.evaluate_every > before // config.evaluate_every:
            metrics |= self._judge()
        # A machine that is busy with other things must not end it before it has learned.
        self.seconds += min(time.monotonic() - begun, time.process_time() - worked)
        metrics |= {'steps': self.steps, 'minutes': self.seconds / 60}
        self.curve.append(metrics)
        return metrics

    def save(self, path: Path) -> None:
        """Write networks, optimiser and counters."""
        tensors = {f'learner.{k}': v for k, v in self.learner.state_dict().items()}
        for number, moments in self.optimiser.state_dict()['state'].items():
            tensors |= {f'adam.{number}.{name}': torch.as_tensor(v) for name, v in moments.items()}
        rate = self.optimiser.param_groups[0]['lr']
        numbers = (
            self.steps,
            self.seconds,
            self._good,
            rate,
            self.randomised,
            self._differ_from,
        )
        tensors['counters'] = torch.tensor(numbers, dtype=torch.float64)
        tensors |= {f'scale.{name}': value for name, value in self._scale.state().items()}
        for randomised, (score, state) in self._best.items():
            best = f'best.{int(randomised)}.'
            tensors |= {best + name: value for name, value in state.items()}
            tensors[best + 'score'] = torch.tensor(score, dtype=torch.float64)
        part = path.with_suffix('.part')
        save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, part)
        part.replace(path)

    def restore(self, path: Path) -> None:
        """Go on where :meth:`save` was called; episodes start anew."""
        tensors = load_file(path)
        self.learner.load_state_dict(_below(tensors, 'learner.'))
        moments: dict[int, dict[str, Tensor]] = {}
        for name, tensor in _below(tensors, 'adam.').items():
            number, part = name.split('.', 1)
            moments.setdefault(int(number), {})[part] = tensor
        groups = self.optimiser.state_dict()['param_groups']
        steps, seconds, good, rate, randomised, *since = tensors['counters'].tolist()
        groups[0]['lr'] = rate
        self.optimiser.load_state_dict({'state': moments, 'param_groups': groups})
        self.steps, self.seconds, self._good = int(steps), seconds, int(good)
        self._differ_from = int(since[0]) if since else 0
        self._scale.restore(_below(tensors, 'scale.'))
        for of_worlds in (False, True):
            state = _below(tensors, f'best.{int(of_worlds)}.')
            if state:
                self._best[of_worlds] = float(state.pop('score')), state
        if randomised:
            self._randomise()
            self._good = int(good)

    def _collect(self) -> tuple[RolloutBuffer, dict[str, float]]:
        """Follow the reference for one round and work out the advantages."""
        learner, env = self.learner, self.env
        policy = learner.policy
        rows: list[tuple[Tensor, ...]] = []
        ends: list[tuple[Tensor, ...]] = []
        with torch.no_grad():
            std = learner.log_std.exp()
            for _ in range(round(self.config.round_s * self.reference.rate_hz)):
                inputs = tensors(env.inputs())
                seen = policy.features(*inputs)
                mean = policy.mean(seen)
                residual = mean + std * torch.randn(mean.shape, generator=self._generator)
                applied = policy.mirrored(residual, inputs[1])
                command = policy.command(inputs[0], inputs[1], applied)
                step = env.step(command.numpy().astype(np.float64), applied.numpy())
                ended = step.terminated | step.truncated
                ends.append(
                    (
                        _tensor(step.reward),
                        learner.value(seen),
                        learner.value(policy.features(*tensors(step.inputs))),
                        torch.from_numpy(step.terminated),
                        torch.from_numpy(ended),
                    )
                )
                env.restart(ended)
                rows.append((seen, residual, mean, learner.log_prob(mean, residual)))
            outcomes = Outcomes(*(torch.stack(x) for x in zip(*ends)))
            ppo = self.config.ppo
            gamma = ppo.gamma(self.reference.rate_hz, self.randomised)
            buffer = finished_round(rows, outcomes, gamma, ppo.trace_decay)
        lost = float(outcomes.terminated.float().mean()) * self.reference.rate_hz
        return buffer, {
            'reward': float(outcomes.reward.mean()),
            'lost_per_s': lost,
            'std': float(std.mean()),
        }


def evaluate(
    answer: AnswerTo,
    robot: RobotSpec,
    reference: Reference,
    *,
    seed: int = 1,
    randomisation: Randomisation | None = None,
) -> Tracking:
    """
    Follow the reference from frames spread over it, without exploration.

    :param answer: the tracker; :func:`answers` makes it of a torch module.
    :param randomisation: how worlds differ.
    """
    env = TrackingEnv(
        robot, reference, STARTS, seed=seed, seconds=1e6, randomisation=randomisation
    )
    rows = _spread(reference)
    env.start_at(rows)
    most = round(CYCLE_S * reference.rate_hz)
    wanted = np.minimum(reference.remaining(rows) - env.shortest, most)
    following = np.ones(STARTS, bool)
    followed = np.zeros(STARTS)
    errors, drift = [], np.zeros(3)
    for t in range(int(wanted.max())):
        active = following & (t < wanted)
        if not active.any():
            break
        said = answer(env.inputs())
        step = env.step(said.command, said.residual, active)
        following &= ~step.terminated | ~active
        active &= following
        followed += active
        e = step.errors
        drift += (*e.velocity_mps[active].sum(axis=0), active.sum())
        if active.any():
            errors.append(
                (
                    np.abs(e.joints_rad[active]).mean(),
                    np.linalg.norm(e.path_m[active], axis=1).mean(),
                    np.linalg.norm(e.velocity_mps[active], axis=1).mean(),
                )
            )
    env.batch.close()
    joints, path, speed = np.mean(errors, axis=0) if errors else np.full(3, np.nan)
    return Tracking(
        survived=float((followed / wanted).mean()),
        whole=float((followed >= wanted).mean()),
        joint_error_rad=float(joints),
        path_error_m=float(path),
        speed_error_mps=float(speed),
        drift_mps=float(np.linalg.norm(drift[:2]) / drift[2]) if drift[2] else math.nan,
    )


def _spread(reference: Reference) -> Array:
    """Return starts: the beginnings of episodes first, then places within them."""
    beginnings = np.unique(reference.first)
    lengths = reference.last[beginnings] - beginnings
    shares = np.arange(STARTS) // len(beginnings) / math.ceil(STARTS / len(beginnings))
    which = np.arange(STARTS) % len(beginnings)
    return beginnings[which] + (shares * 0.8 * lengths[which]).astype(np.int64)


def _below(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {k.removeprefix(prefix): v for k, v in tensors.items() if k.startswith(prefix)}


def answers(policy: Tracker) -> AnswerTo:
    """Return a torch tracker as a function of arrays."""

    def answer(inputs: Inputs) -> Answer:
        with torch.no_grad():
            command, residual = policy(*tensors(inputs))
            parts = (command, residual, policy.residual_scale[torch.from_numpy(inputs.row)])
        return Answer(*(part.numpy().astype(np.float64) for part in parts))

    return answer


def tensors(inputs: Inputs) -> tuple[Tensor, ...]:
    """Return what a tracker is told as the network takes it."""
    return tuple(
        torch.from_numpy(part) if part.dtype == np.int64 else _tensor(part) for part in inputs
    )


def _tensor(array: Array) -> Tensor:
    return torch.from_numpy(np.asarray(array, np.float32))
