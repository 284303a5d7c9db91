# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
The training loop: act, learn while the simulation steps, receive, measure, keep.

:class:`Trainer` does one iteration at a time, so that the command line and a ROS node drive
the same loop. Everything random comes from one generator; a checkpoint holds its state. The
generator is on the CPU whatever the learner's device, so that a seed means the same on both.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
import platform
import time
from typing import Any

from lsiq_core import checkpoint
from lsiq_core.config import RunConfig, to_dict
from lsiq_core.data.batch import draw
from lsiq_core.data.dataset import (
    actor_mask,
    check_fits,
    expert_data,
    remembered,
    state_statistics,
)
from lsiq_core.data.demonstrations import Demonstrations
from lsiq_core.data.replay import Replay
from lsiq_core.env import Env
from lsiq_core.errors import CheckpointError, ConfigError, DemonstrationError
from lsiq_core.history import remembering
from lsiq_core.job import Job, StageProgress, TRAINING
from lsiq_core.learning.algorithms import predicts_actions
from lsiq_core.learning.compilation import update_function
from lsiq_core.learning.device import learner_device, moved
from lsiq_core.learning.learner import Learner
from lsiq_core.learning.optimiser import State
from lsiq_core.learning.pretraining import made_from, Pretraining
from lsiq_core.learning.update import Rates, Rows
from lsiq_core.policy.policies import describe_env, learner_state, policy_function
from lsiq_core.robot import is_robot, load_robot, OF_ROBOT, Randomisation, ranges_of
from lsiq_core.training.counters import RunCounters
from lsiq_core.training.evaluator import Evaluator
from lsiq_core.training.metrics import MetricsWriter
from lsiq_core.training.rollouts import Rollouts
from lsiq_core.training.simulations import Simulations
import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

MakeEnv = Callable[[], Env]
MakeSimulation = Callable[[int], Env]
_SAVE_PRETRAINING_S = 20.0  # between two checkpoints while it pretrains, at the ends of stages


class Trainer:
    """A run that goes on until its steps are done, its bar is reached or somebody stops it."""

    def __init__(
        self,
        config: RunConfig,
        make_env: MakeEnv,
        demos: Demonstrations,
        run: Path,
        *,
        make_simulation: MakeSimulation | None = None,
        make_exact: MakeEnv | None = None,
        simulations: list[Env] | None = None,
        log: Callable[[str], None] = print,
    ) -> None:
        """
        Put a run together; nothing is simulated or written before the first iteration.

        :param config: all settings.
        :param make_env: makes one environment of the task, to evaluate in.
        :param demos: the expert; actions are used only if the config allows it.
        :param run: directory for checkpoints and metrics.
        :param make_simulation: makes the one to train in with this number, where those start
            elsewhere (at expert states).
        :param make_exact: makes the one to babble in and to try actions in: its world does not
            vary. None: as the first to train in.
        :param simulations: environments to train in that are there already (other processes).
        :param log: takes the few sentences a person should read.
        """
        _check(config, demos)
        self.device = learner_device(config)
        self.config, self.run, self._log, self._demos = config, run, log, demos
        history = config.networks.history
        bare = make_env()
        check_fits(demos, bare)
        shown = remembered(demos, history, bare)
        self._evaluation_env = env = remembering(bare, history)
        self.learner = Learner(config, len(env.observation_terms), len(env.action_terms))
        self._expert = expert_data(
            shown.without_actions() if config.observations_only else shown,
            env,
            _ranges(config),
            window=self.learner.window,
        ).to(self.device)
        self._generator = torch.Generator().manual_seed(config.seed)
        mask = actor_mask(env, config.networks.privileged_terms)
        statistics = {**state_statistics(shown), 'actor_mask': mask}
        self.state: State = moved(self.learner.init(self._generator, statistics), self.device)
        self._update, self.update_kind = update_function(self.learner, self.device)
        make_simulation = make_simulation or (lambda _: make_env())
        exact = make_exact or (lambda: make_simulation(0))
        self._make_exact = lambda: remembering(exact(), history)
        collection = config.collection
        envs = simulations or [make_simulation(n) for n in range(collection.simulations)]
        self._simulations = Simulations(
            [remembering(one, history) for one in envs],
            config.seed,
            collection.max_episode_steps,
            window=self.learner.window,
        )
        width = self._expert.rows.shape[1]
        rows = collection.steps + 1 + config.pretraining.babble.to_replay
        self._replay = Replay(min(collection.replay, rows), width, self.device)
        self._evaluator = Evaluator(self.learner, env, shown)
        self.counters = RunCounters()
        self._babble: Tensor | None = None
        self._refined_actions: Tensor | None = None
        self._restored: dict[str, Tensor] | None = None
        self._pretraining: Pretraining | None = None
        self._pretraining_job: Job[None] | None = None
        self._saved_pretraining = ('', 0.0)  # the stage and the time of its last checkpoint
        self._started: float | None = None
        self._writer: MetricsWriter | None = None
        self._last_metrics: dict[str, Tensor] = {}
        self._compiling = False
        self.latest: dict[str, float] = {}
        self.evaluations = 0
        self.finished = False
        self.interrupted: Callable[[], bool] = lambda: False
        """Asked within evaluations; whoever drives the run sets it to stop in their midst."""

    # ---------------------------------------------------------------- one iteration

    def iterate(self) -> None:
        """
        Step every simulation once, learn meanwhile, and report and keep what is due.

        Before the first step there may be minutes of pretraining, done bit by bit here, too.
        """
        if self._started is None:
            self._begin()
        if not self._evaluator.references:
            self._evaluator.measure_references(self.interrupted)
        if self._pretraining_job is not None:
            self._pretrain()
            return
        if self.counters.evaluation_owed:  # the run was stopped in the midst of it
            self._evaluate()
            self._keep_if(self._done)
            return
        if self._will_compile:
            self.save()  # a minute that cannot be interrupted
            self._log('compiling the update, which takes up to a minute')
            self._compiling = True
        self._simulations.send(self._explore())
        self._learn()
        self._compiling = False
        rows, episodes = self._simulations.receive()
        self._replay.add(rows)
        counters, report, before = self.counters, self.config.report, self.counters.steps
        counters.episodes += episodes
        counters.steps += len(self._simulations)
        if counters.passed(report.log_every, before):
            self._write_metrics()
        counters.evaluation_owed = counters.passed(report.evaluate_every, before)
        if counters.evaluation_owed:
            self._evaluate()
        self._keep_if(counters.passed(report.checkpoint_every, before) or self._done)

    def _begin(self) -> None:
        """Do what a session begins with: first states, files, pretraining."""
        if self._restored is None:
            self._simulations.start()
        resumed_at = None if self._restored is None else self.counters.steps
        self._started = time.monotonic() - self.counters.seconds
        self._writer = MetricsWriter(self.run, resumed_at=resumed_at)
        pretraining = Pretraining(
            self.learner, self.state, self._expert, self._generator, self._log
        )
        if (pretraining.babbles or pretraining.clones) and not self.counters.pretrained:
            self._pretraining, self.state = pretraining, pretraining.state
            self._pretraining_job = pretraining.run(
                self._make_exact, self.run, made_from(self.config, self._demos)
            )
            if self._restored is not None:
                pretraining.restore(self._restored)
            else:
                self.save()
        self._restored = {}

    def _pretrain(self) -> None:
        """Go on with the pretraining to its next pause, or end it."""
        assert self._pretraining is not None and self._pretraining_job is not None
        try:
            next(self._pretraining_job)
        except StopIteration:
            self._take(self._pretraining)
            self.save()
            return
        stage, saved_s = self._saved_pretraining
        if self.progress.stage != stage and time.monotonic() - saved_s > _SAVE_PRETRAINING_S:
            self.save()

    def _take(self, pretraining: Pretraining) -> None:
        """Begin the run with what the pretraining brought."""
        found = pretraining.found
        if found is not None:
            if len(found.replay):
                self._replay.add(found.replay)
            self._babble, self._refined_actions = found.babble, found.refined_actions
        self._expert, self.state = pretraining.expert, pretraining.state
        self._pretraining = self._pretraining_job = None
        self.counters.pretrained = True

    def _keep_if(self, due: bool) -> None:
        self.finished = self._done
        if due:
            self.save()

    @property
    def steps(self) -> int:
        """Return the environment steps so far."""
        return self.counters.steps

    @property
    def progress(self) -> StageProgress:
        """Return what the run is doing and how far it is with that."""
        if self._pretraining is not None:
            return self._pretraining.progress
        return StageProgress(TRAINING, self.steps, self.config.collection.steps)

    @property
    def _done(self) -> bool:
        """Return whether all steps were made or two evaluations running were at the bar."""
        all_steps = self.steps >= self.config.collection.steps
        return all_steps or self.counters.evaluations_at_bar >= 2

    @property
    def can_be_left(self) -> bool:
        """Return whether a process that ends now loses time alone: all before it is saved."""
        return self._compiling

    @property
    def _learning(self) -> bool:
        return self.steps >= self.config.collection.critic_start and len(self._replay) > 0

    @property
    def _will_compile(self) -> bool:
        return self._learning and self.update_kind == 'compiled' and not self._last_metrics

    def _explore(self) -> Tensor:
        obs = self._simulations.obs
        noise = torch.randn((len(obs), self.learner.action_dim), generator=self._generator)
        with torch.no_grad():
            actions = self.learner.act(self.state, obs, noise)
        loudest = self.config.collection.exploration_noise * self.config.networks.action_gain
        if loudest:
            drawn = torch.randn(actions.shape, generator=self._generator)
            actions = (actions + self._noise_ladder(loudest) * drawn).clamp(-1.0, 1.0)
        return actions

    def _noise_ladder(self, loudest: float) -> Tensor:
        """Return each simulation's noise [N, 1], from none to the loudest."""
        count = len(self._simulations)
        return torch.linspace(0.0 if count > 1 else loudest, loudest, count)[:, None]

    def _learn(self) -> None:
        """Do the updates that the steps so far have earned."""
        if not self._learning:
            return
        counters, earned = self.counters, self.config.optimisation.updates_per_step
        counters.owed_updates += len(self._simulations) * earned
        while counters.owed_updates >= 1.0:
            counters.owed_updates -= 1.0
            self._update_once()

    def _update_once(self) -> None:
        optimisation, generator = self.config.optimisation, self._generator
        policy_rows = self._replay.sample(optimisation.policy_batch, generator)
        known_rows = self._known_rows(policy_rows) if self.learner.moves_idm else None
        expert_rows = self._expert.sample(optimisation.expert_batch, generator)
        rows = Rows(expert_rows, policy_rows, known_rows)
        noise = self.learner.draw_noise(generator, self.device)
        self.state, self._last_metrics = self._update(self.state, rows, noise, self._rates())

    def _known_rows(self, policy_rows: Tensor) -> Tensor:
        """Return what the inverse dynamics model learns from: the policy's steps and babble."""
        config, generator = self.config.idm, self._generator
        size = config.batch or len(policy_rows)
        babble = 0 if self._babble is None else int(config.babble_share * size)
        own = policy_rows[: size - babble]
        if len(own) < size - babble:
            more = self._replay.sample(size - babble - len(own), generator)
            own = torch.cat((own, more))
        if self._babble is None or not babble:
            return own
        return torch.cat((own, draw(self._babble, babble, generator)))

    def _rates(self) -> Rates:
        """Return the learning rates of now; an actor that has not started yet stands still."""
        optimisation = self.config.optimisation
        done = min(self.steps / self.config.collection.steps, 1.0)
        actor = optimisation.actor_rate * (1.0 + (optimisation.actor_decay - 1.0) * done)
        if self.steps < self.config.collection.actor_start:
            actor = 0.0
        tensor = partial(torch.tensor, device=self.device)
        return Rates(
            actor=tensor(actor),
            critic=tensor(optimisation.critic_rate),
            idm=tensor(self.config.idm.rate),
            discriminator=tensor(self.config.discriminator.rate),
            beta=tensor(optimisation.beta_rate),
        )

    # ---------------------------------------------------------------- measuring

    def policy(self) -> Callable[..., npt.NDArray[np.float64]]:
        """Return the current policy as a function of one observation."""
        return policy_function(self.learner, self.state)

    def _measure(self, *, stochastic: bool = False, keep: bool = False) -> Rollouts:
        return self._evaluator.measure(
            self.state, self.interrupted, stochastic=stochastic, keep=keep
        )

    def _evaluate(self) -> None:
        rollouts = self._measure(keep=self.learner.has_idm)
        metrics = rollouts.metrics(self._evaluator.references)
        measured = {f'evaluation/{name}': value for name, value in metrics.items()}
        if self.learner.has_idm:
            measured |= self._evaluator.inverse_dynamics(
                self.state, rollouts.transitions, self._refined_actions
            )
        self._write(measured)
        self.evaluations += 1
        counters = self.counters
        counters.evaluation_owed = False
        score = metrics.get('normalized_return', metrics['return_mean'])
        # Of evaluations that read the same the later: the first of them may be mere cloning.
        if counters.best is None or round(score, 2) >= round(counters.best, 2):
            counters.best = score
            learned = {f'learner.{name}': tensor for name, tensor in self.state.items()}
            checkpoint.save(self.run / 'best.safetensors', learned, self._header())
        bar = self.config.report.stop_at
        if bar is not None:
            counters.evaluations_at_bar = counters.evaluations_at_bar + 1 if score >= bar else 0

    def _write_metrics(self) -> None:
        metrics = {name: float(tensor) for name, tensor in self._last_metrics.items()}
        episodes, self.counters.episodes = self.counters.episodes, []
        if episodes:
            metrics['training/episode_length'] = float(np.mean([one.length for one in episodes]))
            metrics['training/return'] = float(np.mean([one.total_reward for one in episodes]))
        metrics['training/updates'] = float(self.state['updates'])
        metrics['time/minutes'] = self.seconds / 60
        self._write(metrics)

    def _write(self, metrics: dict[str, float]) -> None:
        assert self._writer is not None
        self._writer.write(self.steps, metrics)
        self.latest |= metrics

    @property
    def seconds(self) -> float:
        """Return how long the run has taken, over all its sessions."""
        begun = self._started
        return self.counters.seconds if begun is None else time.monotonic() - begun

    def result(self) -> dict[str, Any]:
        """Measure the policy at the end, deterministic and stochastic."""
        references = self._evaluator.references
        metrics = self._measure().metrics(references)
        sampled = self._measure(stochastic=True).metrics(references)
        return {
            'task': self.config.task,
            'algorithm': self.config.algorithm.name,
            'observations_only': self.config.observations_only,
            'seed': self.config.seed,
            'steps': self.steps,
            'minutes': self.seconds / 60,
            **references,
            **metrics,
            **{f'stochastic_{name}': value for name, value in sampled.items()},
        }

    # ---------------------------------------------------------------- keeping

    def _header(self) -> dict[str, Any]:
        return {
            **replace(self.counters, seconds=self.seconds).to_header(),
            'config': to_dict(self.config),
            'references': self._evaluator.references,
            'demonstrations': {
                'source': self._demos.source,
                'sha256': self._demos.sha256,
                'episodes': self._demos.num_episodes,
            },
            'spec': describe_env(self._evaluation_env),
            'versions': {'torch': torch.__version__, 'python': platform.python_version()},
        }

    def save(self) -> Path:
        """Write ``last.safetensors``, from which the run can go on bit for bit."""
        path = self.run / 'last.safetensors'
        if self._started is None:  # nothing was done that is not in the checkpoint, if any
            return path
        arrays = self._simulations.state()
        tensors = {
            **{f'learner.{name}': tensor for name, tensor in self.state.items()},
            **self._replay.state(),
            **{name: torch.from_numpy(np.asarray(array)) for name, array in arrays.items()},
            'generator': self._generator.get_state(),
        }
        if self._babble is not None:
            tensors['babble'] = self._babble
        if self._refined_actions is not None:
            tensors['refined_actions'] = self._refined_actions
        if self._pretraining is not None:
            tensors |= self._pretraining.tensors()
            self._saved_pretraining = (self.progress.stage, time.monotonic())
        checkpoint.save(path, tensors, self._header())
        return path

    def restore(self) -> None:
        """Continue the run whose ``last.safetensors`` lies in the run directory."""
        tensors, header = checkpoint.load(self.run / 'last.safetensors')
        if header['demonstrations']['sha256'] != self._demos.sha256:
            raise CheckpointError(
                f'{self.run}: was trained on demonstrations with hash '
                f'{header["demonstrations"]["sha256"][:12]}..., {self._demos.source} has '
                f'{self._demos.sha256[:12]}...'
            )
        if f'learner.{checkpoint.READS_0_1}' in tensors:
            raise CheckpointError(
                f'{self.run}: is a run of version 0.1, whose policy and replay read the base '
                'otherwise; it can be evaluated, not continued'
            )
        self.state = moved(learner_state(tensors), self.device)
        self._replay.restore(tensors)
        kept = {name: t.numpy() for name, t in tensors.items() if name.startswith('simulations.')}
        self._simulations.restore(kept)
        self._generator.set_state(tensors['generator'])
        kept_rows = ('babble', 'refined_actions')
        found = moved({name: tensors[name] for name in kept_rows if name in tensors}, self.device)
        self._babble = found.get('babble')
        self._refined_actions = found.get('refined_actions')
        if self._refined_actions is not None:
            self._expert = self._expert.with_actions(self._refined_actions)
        self.counters = RunCounters.from_header(header)
        self._evaluator.references = header['references']
        self._restored = tensors
        self.finished = self._done and not self.counters.evaluation_owed

    def close(self) -> None:
        """Close files and environments."""
        if self._writer is not None:
            self._writer.close()
        self._simulations.close()
        self._evaluation_env.close()


def _ranges(config: RunConfig) -> Randomisation | None:
    """Return how the worlds differ that a policy practises in."""
    if not is_robot(config.task):
        return None
    options = {'randomisation': OF_ROBOT if config.collection.randomise else None}
    options |= {**config.task_options, **config.collection.task_options}
    return ranges_of(load_robot(config.task), options['randomisation'])


def _check(config: RunConfig, demos: Demonstrations) -> None:
    """Refuse settings and demonstrations that do not go together."""
    if demos.actions is None and not config.observations_only:
        raise DemonstrationError(
            f'{demos.source}: holds no actions; learn from its states alone with '
            '--observations-only'
        )
    if config.observations_only and config.networks.history.actions:
        raise ConfigError(
            f'networks.history.actions is {config.networks.history.actions}, but the run learns '
            'from states alone; set networks.history.actions=0'
        )
    taught = config.idm.online or config.pretraining.babble.transitions
    if predicts_actions(config) and not taught:
        raise ConfigError(
            'idm.online is false and pretraining.babble.transitions 0: nothing would teach the '
            'inverse dynamics model'
        )
    if config.idm.window and (config.pretraining.refine or _ranges(config) is not None):
        raise ConfigError(
            'idm.window: not with pretraining.refine, nor where the sensors of a robot err; set '
            'idm.window=false, or pretraining.refine=false and collection.randomise=false'
        )
