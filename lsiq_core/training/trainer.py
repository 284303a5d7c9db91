# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
The training loop: act, learn while the simulation steps, receive, measure, keep.

:class:`Trainer` does one iteration at a time, so that the command line and a ROS node drive
the same loop. Everything random comes from one generator; a checkpoint holds its state.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
import json
from pathlib import Path
import platform
import time
from typing import Any

from lsiq_core.config import RunConfig, to_dict
from lsiq_core.data.batch import draw
from lsiq_core.data.dataset import actor_mask, check_fits, expert_data, state_statistics
from lsiq_core.data.demonstrations import Demonstrations
from lsiq_core.data.replay import Replay
from lsiq_core.env import Env
from lsiq_core.errors import CheckpointError, ConfigError, DemonstrationError
from lsiq_core.learning.algorithms import predicts_actions
from lsiq_core.learning.compilation import update_function
from lsiq_core.learning.learner import Learner
from lsiq_core.learning.optimiser import State, with_moments
from lsiq_core.learning.pretraining import clone_first, Preparation, prepare_inverse_dynamics
from lsiq_core.learning.update import Rates, Rows
from lsiq_core.policy.policies import describe_env, learner_state, policy_function
from lsiq_core.training import checkpoint
from lsiq_core.training.evaluator import Examiner
from lsiq_core.training.job import Work
from lsiq_core.training.metrics import MetricsWriter
from lsiq_core.training.rollouts import Rollouts
from lsiq_core.training.simulations import Episode, Simulations
import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

MakeEnv = Callable[[], Env]
MakeSimulation = Callable[[int], Env]


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
        simulations: list[Env] | None = None,
        say: Callable[[str], None] = print,
    ) -> None:
        """
        Prepare a run; nothing is written before the first checkpoint or metric.

        :param config: all settings.
        :param make_env: makes one environment of the task, to evaluate in.
        :param demos: the expert; actions are used only if the config allows it.
        :param run: directory for checkpoints and metrics.
        :param make_simulation: makes the one to train in with this number, where those start
            elsewhere (at expert states); number 0 is the one to babble in.
        :param simulations: environments to train in that are there already (other processes).
        :param say: takes the few sentences a person should read.
        """
        if demos.actions is None and not config.observations_only:
            raise DemonstrationError(
                f'{demos.source}: holds no actions; learn from its states alone with '
                '--observations-only'
            )
        taught = config.idm.online or config.pretraining.babble.transitions
        if predicts_actions(config) and not taught:
            raise ConfigError(
                'idm.online is false and pretraining.babble.transitions 0: nothing would teach '
                'the inverse dynamics model'
            )
        self.config, self.run, self._say = config, run, say
        self._evaluation_env = make_env()
        check_fits(demos, self._evaluation_env)
        shown = demos.without_actions() if config.observations_only else demos
        self._demos = demos
        self._expert = expert_data(shown, self._evaluation_env)
        self.learner = Learner(
            config,
            len(self._evaluation_env.observation_terms),
            len(self._evaluation_env.action_terms),
        )
        self._generator = torch.Generator().manual_seed(config.seed)
        mask = actor_mask(self._evaluation_env, config.networks.privileged_terms)
        statistics = {**state_statistics(demos), 'actor_mask': mask}
        self.state: State = self.learner.init(self._generator, statistics)
        self._update, self.update_kind = update_function(self.learner)
        self._make_simulation = make_simulation or (lambda _: make_env())
        count = config.collection.simulations
        envs = simulations or [self._make_simulation(number) for number in range(count)]
        self._simulations = Simulations(
            envs, seed=config.seed, longest=config.collection.max_episode_steps
        )
        width = self._expert.rows.shape[1]
        self._replay = Replay(min(config.collection.replay, config.collection.steps + 1), width)
        self._babble: Tensor | None = None
        self._found_actions: Tensor | None = None
        self._preparation: Work[None] | None = None
        self._prepared = False
        self.steps = 0
        self._owed_updates = 0.0
        self._best = -np.inf
        self._evaluations_at_bar = 0
        self._seconds = 0.0
        self._started: float | None = None
        self._writer: MetricsWriter | None = None
        self._resumed_at: int | None = None
        self._last_metrics: dict[str, Tensor] = {}
        self._finished_episodes: list[Episode] = []
        self._examiner = Examiner(self.learner, config, self._evaluation_env, demos)
        self.references = self._examiner.references
        self.latest: dict[str, float] = {}
        self.evaluations = 0
        self.finished = False
        self.interrupted: Callable[[], bool] = lambda: False
        """Asked within evaluations; whoever drives the run sets it to stop in their midst."""
        self._evaluation_owed = False
        self._compiling = False

    # ---------------------------------------------------------------- one iteration

    def iterate(self) -> None:
        """
        Step every simulation once, learn meanwhile, and report and keep what is due.

        Before the first step there may be minutes of preparation, done bit by bit here, too.
        """
        if self._started is None:
            self._begin()
        if self._preparation is not None:
            self._prepare()
            return
        if self._evaluation_owed:  # the run was stopped in the midst of it
            self._evaluate()
            self._keep_if(self._done)
            return
        if self._will_compile:
            self.save()  # a minute that cannot be interrupted
            self._say('compiling the update, which takes up to a minute')
            self._compiling = True
        self._simulations.send(self._explore())
        self._learn()
        self._compiling = False
        rows, episodes = self._simulations.receive()
        self._replay.add(rows)
        self._finished_episodes += episodes
        before = self.steps
        self.steps += len(self._simulations)
        report = self.config.report
        if self._due(report.log_every, before):
            self._log()
        self._evaluation_owed = self._due(report.evaluate_every, before)
        if self._evaluation_owed:
            self._evaluate()
        self._keep_if(self._due(report.checkpoint_every, before) or self._done)

    def _keep_if(self, due: bool) -> None:
        self.finished = self._done
        if due:
            self.save()

    @property
    def _done(self) -> bool:
        """Return whether all steps were made or two evaluations running were at the bar."""
        return self.steps >= self.config.collection.steps or self._evaluations_at_bar >= 2

    @property
    def can_be_left(self) -> bool:
        """Return whether a process that ends now loses time alone: all before it is saved."""
        return self._preparation is not None or self._compiling

    @property
    def _will_compile(self) -> bool:
        begun = self.steps >= self.config.collection.critic_start and len(self._replay) > 0
        return begun and self.update_kind == 'compiled' and not self._last_metrics

    def _due(self, interval: int, before: int) -> bool:
        return self.steps // interval > before // interval

    def _begin(self) -> None:
        self._started = time.monotonic() - self._seconds
        self._writer = MetricsWriter(self.run, resumed_at=self._resumed_at)
        if (self._babbles or self._clones_first) and not self._prepared:
            self.save()
            self._preparation = self._everything_before()

    def _prepare(self) -> None:
        """Go on with the preparation to its next pause, or end it."""
        assert self._preparation is not None
        try:
            next(self._preparation)
        except StopIteration:
            self._preparation, self._prepared = None, True
            self.save()  # minutes of work: a run that is stopped goes on from here

    def _explore(self) -> Tensor:
        obs = self._simulations.obs
        noise = torch.randn((len(obs), self.learner.action_dim), generator=self._generator)
        with torch.no_grad():
            actions = self.learner.act(self.state, obs, noise)
        loudest = self.config.collection.exploration_noise
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
        collection, optimisation = self.config.collection, self.config.optimisation
        if self.steps < collection.critic_start or len(self._replay) == 0:
            return
        self._owed_updates += len(self._simulations) * optimisation.updates_per_step
        while self._owed_updates >= 1.0:
            self._owed_updates -= 1.0
            self._update_once()

    def _update_once(self) -> None:
        optimisation = self.config.optimisation
        policy_rows = self._replay.sample(optimisation.policy_batch, self._generator)
        babble_rows = None
        if self._babble is not None:
            count = int(self.config.idm.babble_share * optimisation.policy_batch)
            babble_rows = draw(self._babble, count, self._generator)
        expert_rows = self._expert.sample(optimisation.expert_batch, self._generator)
        rows = Rows(expert_rows, policy_rows, babble_rows)
        noise = self.learner.draw_noise(self._generator)
        self.state, self._last_metrics = self._update(self.state, rows, noise, self._rates())

    def _rates(self) -> Rates:
        """Return the learning rates of now; an actor that has not started yet stands still."""
        optimisation = self.config.optimisation
        done = min(self.steps / self.config.collection.steps, 1.0)
        actor = optimisation.actor_rate * (1.0 + (optimisation.actor_decay - 1.0) * done)
        if self.steps < self.config.collection.actor_start:
            actor = 0.0
        return Rates(
            actor=torch.tensor(actor),
            critic=torch.tensor(optimisation.critic_rate),
            discriminator=torch.tensor(self.config.discriminator.rate),
            idm=torch.tensor(self.config.idm.rate),
            beta=torch.tensor(optimisation.beta_rate),
        )

    def _everything_before(self) -> Work[None]:
        """Teach the inverse dynamics and clone the policy, as far as the settings ask for it."""
        if self._babbles:
            found = yield from self._inverse_dynamics()
            self.state |= with_moments('idm', found.idm)
            if len(found.replay):
                self._replay.add(found.replay)
            self._babble, self._found_actions = found.babble, found.found_actions
            if self._found_actions is not None:
                self._expert = self._expert.with_actions(self._found_actions)
        if self._clones_first:
            updates = self.config.bc.pretrain_updates
            self._say(f'cloning the expert for {updates} updates')
            self.state = yield from clone_first(
                self.learner, self.state, self._expert, self._generator
            )

    def _inverse_dynamics(self) -> Work[Preparation]:
        """Take the preparation of another run over, or make one and keep it for others."""
        header = self._prepared_from()
        if self.config.pretraining.from_run is not None:
            self._say(f'taking the preparation of {self.config.pretraining.from_run} over')
            return Preparation.load(Path(self.config.pretraining.from_run), header)
        env = self._make_simulation(0)
        found = yield from prepare_inverse_dynamics(
            self.learner, self.state, env, self._expert.rows, self._generator, self._say
        )
        env.close()
        found.save(self.run, header)
        return found

    def _prepared_from(self) -> dict[str, Any]:
        """Return all that a preparation depends on."""
        config = self.config
        made_from = {
            'demonstrations': self._demos.sha256,
            'idm': vars(config.idm),
            'pretraining': {**asdict(config.pretraining), 'from_run': None},
            'task': config.task,
            'task_options': config.task_options,
            'simulations': [config.collection.task_options, config.collection.reset_to_expert],
            'inputs': [config.networks.normalise, config.networks.observation_clip],
        }
        kept: dict[str, Any] = json.loads(json.dumps(made_from))  # tuples become lists
        return kept

    @property
    def _babbles(self) -> bool:
        return self.learner.has_idm and self.config.pretraining.babble.transitions > 0

    @property
    def _clones_first(self) -> bool:
        knows_actions = not self.config.observations_only or self.learner.has_idm
        return knows_actions and self.config.bc.pretrain_updates > 0

    # ---------------------------------------------------------------- measuring

    def policy(self) -> Callable[..., npt.NDArray[np.float64]]:
        """Return the current policy as a function of one observation."""
        return policy_function(self.learner, self.state)

    def _measure(self, *, stochastic: bool = False, keep: bool = False) -> Rollouts:
        return self._examiner.measure(
            self.state, self.interrupted, stochastic=stochastic, keep=keep
        )

    def _evaluate(self) -> None:
        rollouts = self._measure(keep=self.learner.has_idm)
        figures = rollouts.figures(self.references)
        measured = {f'evaluation/{name}': value for name, value in figures.items()}
        if self.learner.has_idm:
            measured |= self._examiner.inverse_dynamics(
                self.state, rollouts.transitions, self._found_actions
            )
        self._write(measured)
        self.evaluations += 1
        self._evaluation_owed = False
        score = figures.get('normalized_return', figures['return_mean'])
        if score > self._best:
            self._best = score
            learned = {f'learner.{name}': tensor for name, tensor in self.state.items()}
            checkpoint.save(self.run / 'best.safetensors', learned, self._header())
        bar = self.config.report.stop_at
        if bar is not None:
            self._evaluations_at_bar = self._evaluations_at_bar + 1 if score >= bar else 0

    def _log(self) -> None:
        figures = {name: float(tensor) for name, tensor in self._last_metrics.items()}
        if self._finished_episodes:
            lengths = [episode.length for episode in self._finished_episodes]
            totals = [episode.total_reward for episode in self._finished_episodes]
            figures['training/episode_length'] = float(np.mean(lengths))
            figures['training/return'] = float(np.mean(totals))
            self._finished_episodes = []
        figures['training/updates'] = float(self.state['updates'])
        figures['time/minutes'] = self.seconds / 60
        self._write(figures)

    def _write(self, figures: dict[str, float]) -> None:
        assert self._writer is not None
        self._writer.write(self.steps, figures)
        self.latest |= figures

    @property
    def seconds(self) -> float:
        """Return how long the run has taken, over all its sessions."""
        return self._seconds if self._started is None else time.monotonic() - self._started

    def result(self) -> dict[str, Any]:
        """Measure the policy at the end, deterministic and stochastic."""
        figures = self._measure().figures(self.references)
        sampled = self._measure(stochastic=True).figures(self.references)
        return {
            'task': self.config.task,
            'algorithm': self.config.algorithm.name,
            'observations_only': self.config.observations_only,
            'seed': self.config.seed,
            'steps': self.steps,
            'minutes': self.seconds / 60,
            **self.references,
            **figures,
            **{f'stochastic_{name}': value for name, value in sampled.items()},
        }

    # ---------------------------------------------------------------- keeping

    def _header(self) -> dict[str, Any]:
        env = self._evaluation_env
        return {
            'config': to_dict(self.config),
            'steps': self.steps,
            'owed_updates': self._owed_updates,
            'best': self._best if np.isfinite(self._best) else None,
            'evaluations_at_bar': self._evaluations_at_bar,
            'pretrained': self._prepared,
            'evaluation_owed': self._evaluation_owed,
            'seconds': self.seconds,
            'references': self.references,
            'episodes': [list(episode) for episode in self._finished_episodes],
            'demonstrations': {
                'source': self._demos.source,
                'sha256': self._demos.sha256,
                'episodes': self._demos.num_episodes,
            },
            'spec': describe_env(env),
            'versions': {'torch': torch.__version__, 'python': platform.python_version()},
        }

    def save(self) -> Path:
        """Write ``last.safetensors``, from which the run can go on bit for bit."""
        path = self.run / 'last.safetensors'
        if self._preparation is not None:  # begins anew, from what was saved before it
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
        if self._found_actions is not None:
            tensors['refined_actions'] = self._found_actions
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
        self.state = learner_state(tensors)
        self._replay.restore(tensors)
        kept = {name: t.numpy() for name, t in tensors.items() if name.startswith('simulations.')}
        self._simulations.restore(kept)
        self._generator.set_state(tensors['generator'])
        self._babble = tensors.get('babble')
        self._found_actions = tensors.get('refined_actions')
        if self._found_actions is not None:
            self._expert = self._expert.with_actions(self._found_actions)
        self._prepared = header['pretrained']
        self._evaluation_owed = header.get('evaluation_owed', False)
        self.steps = self._resumed_at = header['steps']
        self._owed_updates = header['owed_updates']
        self._best = -np.inf if header['best'] is None else header['best']
        self._evaluations_at_bar = header['evaluations_at_bar']
        self._seconds = header['seconds']
        self._finished_episodes = [Episode(*episode) for episode in header['episodes']]
        self.references = header['references']
        self.finished = self._done and not self._evaluation_owed

    def close(self) -> None:
        """Close files and environments."""
        if self._writer is not None:
            self._writer.close()
        self._simulations.close()
        self._evaluation_env.close()
