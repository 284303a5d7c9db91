# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
What happens before the first step: the inverse dynamics are fitted, the policy is cloned.

The stages, each only where the settings ask for it:

1. babble: random torque in simulation (:mod:`.babble`),
2. the model is fitted to it (:mod:`.idm_training`),
3. action refinement: the expert's actions are solved for in simulation (:mod:`.gauss_newton`),
4. behavioural cloning of the expert's actions, known or found.

All of it can be stopped at any pause and goes on from a checkpoint. What stages 1 to 3 find
depends on robot and demonstrations alone, so it is kept in the run directory, and other runs
may take it over (``pretraining.from_run``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
import json
from pathlib import Path
from typing import Any

from lsiq_core import checkpoint
from lsiq_core.config import RunConfig
from lsiq_core.data.dataset import ExpertData
from lsiq_core.data.demonstrations import Demonstrations
from lsiq_core.env import Env
from lsiq_core.errors import CheckpointError
from lsiq_core.job import Job, StageProgress
from lsiq_core.learning.algorithms import bc
from lsiq_core.learning.babble import Babble
from lsiq_core.learning.device import moved
from lsiq_core.learning.gauss_newton import GaussNewton, SOLVED
from lsiq_core.learning.idm_training import IdmFit
from lsiq_core.learning.learner import eager_gradient, Learner
from lsiq_core.learning.optimiser import adam, State, with_moments
from lsiq_core.learning.stage import Stage
import torch
from torch import Tensor

FILE = 'pretraining.safetensors'
_PAUSE = 50  # updates of cloning between two pauses
_BATCH = 256
_SETTLED = 0.05  # share of the cloning rate that is left at the end
_AVERAGED = 0.002  # how much of the policy its average takes over in each cloning update


@dataclass(frozen=True)
class FoundActions:
    """What babble and refinement brought."""

    idm: Tensor  # parameters of the inverse dynamics model, none where actions are known
    replay: Tensor  # packed transitions that start the replay
    babble: Tensor | None = None  # packed transitions to go on fitting the model with
    refined_actions: Tensor | None = None  # the expert's, [N, A], where the model learns no more

    def tensors(self) -> dict[str, Tensor]:
        """Return what there is by name."""
        return {name: tensor for name, tensor in vars(self).items() if tensor is not None}

    def to(self, device: torch.device) -> FoundActions:
        """Return the same on this device."""
        return FoundActions(**moved(self.tensors(), device))

    @classmethod
    def load(cls, run: Path, made_from: dict[str, Any]) -> FoundActions:
        """Read that of another run, which must have been made from the same."""
        tensors, found = checkpoint.load(run / FILE)
        for name, wanted in made_from.items():
            if found.get(name) != wanted:
                raise CheckpointError(
                    f'{run / FILE}: made with {name} {found.get(name)!r}, this run has {wanted!r}'
                )
        return cls(**tensors)


def made_from(config: RunConfig, demos: Demonstrations) -> dict[str, Any]:
    """Return all that babble and refinement depend on, as a file's header has it."""
    parts = {
        'demonstrations': demos.sha256,
        'idm': asdict(config.idm),  # type: ignore[call-overload]
        'pretraining': {**asdict(config.pretraining), 'from_run': None},  # type: ignore[call-overload]
        'task': config.task,
        'task_options': config.task_options,
        'simulations': [config.collection.task_options, config.collection.reset_to_expert],
        'inputs': [config.networks.normalise, config.networks.observation_clip],
        'history': asdict(config.networks.history),  # type: ignore[call-overload]
    }
    kept: dict[str, Any] = json.loads(json.dumps(parts))  # tuples become lists
    return kept


class Cloning(Stage):
    """Updates of behavioural cloning alone; the policy's late average is what stays."""

    KEPT = ('done', 'average')

    def __init__(self, learner: Learner, state: State) -> None:
        self._learner = learner
        self._updates = learner.config.bc.pretrain_updates
        self.average = state['actor']
        self.done = 0

    def run(self, state: State, expert: ExpertData, generator: torch.Generator) -> Job[None]:
        """Do all updates that are left; the policy in ``state`` is changed in place."""
        learner, settings = self._learner, self._learner.config.bc
        none = torch.zeros_like(state['updates'])
        if not self.done:
            state |= {**with_moments('actor', state['actor']), 'updates': none}
        while self.done < self._updates:
            done = self.done
            batch = learner.expert_batch(state, expert.sample(_BATCH, generator))
            gradient, _ = eager_gradient(
                bc.actor_loss, state['actor'], learner.networks, batch, settings.huber_delta
            )
            rate = settings.pretrain_rate * (1.0 - (1.0 - _SETTLED) * done / self._updates)
            state |= adam(state, 'actor', gradient, torch.tensor(rate, device=gradient.device))
            state['updates'] = state['updates'] + 1.0
            late = 2 * done > self._updates  # before, the average would remember the start
            actor = state['actor']
            self.average = torch.lerp(self.average, actor, _AVERAGED) if late else actor
            self.done += 1
            if self.done % _PAUSE == 0:
                yield
        state |= {**with_moments('actor', self.average), 'updates': none}
        if 'actor_ema' in state:
            state['actor_ema'] = self.average.clone()

    @property
    def progress(self) -> StageProgress:
        """Return how far it is."""
        return StageProgress('cloning the expert', self.done, self._updates)


class Pretraining:
    """
    The stages one after the other.

    :param learner: whose model and policy are trained.
    :param state: the learner's at the start.
    :param expert: the expert's transitions; their actions are read where the learner may.
    :param generator: source of everything random.
    :param log: takes the few sentences a person should read.
    """

    def __init__(
        self,
        learner: Learner,
        state: State,
        expert: ExpertData,
        generator: torch.Generator,
        log: Callable[[str], None],
    ) -> None:
        self._learner, self._generator, self._log = learner, generator, log
        self.state = dict(state)  # changed in place, a copy of what was given
        self._device = state['actor'].device
        self.expert = expert  # with refined actions, once there are any
        self.found: FoundActions | None = None
        self._number = 0  # stages that are over
        self._stage: Stage | None = None
        self._env: Env | None = None
        self._kept: dict[str, Tensor] = {}  # of a checkpoint, until env and stage take it

    @property
    def babbles(self) -> bool:
        """Return whether babble and refinement are asked for."""
        babble = self._learner.config.pretraining.babble
        return babble.transitions > 0 and (self._learner.has_idm or babble.to_replay > 0)

    @property
    def clones(self) -> bool:
        """Return whether the policy is cloned before the first step."""
        config = self._learner.config
        knows_actions = not config.observations_only or self._learner.has_idm
        return knows_actions and config.bc.pretrain_updates > 0

    @property
    def progress(self) -> StageProgress:
        """Return how far the present stage is."""
        return StageProgress('pretraining', 0, 1) if self._stage is None else self._stage.progress

    def run(
        self, make_env: Callable[[], Env], directory: Path, made_from: dict[str, Any]
    ) -> Job[None]:
        """
        Do all that is left.

        :param make_env: makes the simulation to babble in and to try actions in.
        :param directory: of the run, which keeps what was found.
        :param made_from: all that it depends on.
        """
        other = self._learner.config.pretraining.from_run
        if self.babbles and self.found is None:
            if other is not None:
                self._log(f'taking the pretraining of {other} over')
                self._take(FoundActions.load(Path(other), made_from).to(self._device))
            else:
                self._env = self._restored(make_env())
                found = yield from self._find_actions(self._env)
                self._env.close()
                self._env = None
                checkpoint.save(directory / FILE, found.tensors(), made_from)
                self._take(found)
        if self.clones:
            cloning = Cloning(self._learner, self.state)
            self._enter(cloning, f'cloning the expert for {cloning.progress.total} updates')
            yield from cloning.run(self.state, self.expert, self._generator)

    def _find_actions(self, env: Env) -> Job[FoundActions]:
        learner, state, generator = self._learner, self.state, self._generator
        config, known = learner.config.pretraining, torch.zeros(0, device=self._device)
        if self._number == 0:
            babble = Babble(env, config.babble, window=learner.window)
            self._enter(babble, f'babbling for {config.babble.transitions} transitions')
            known = (yield from babble.run(generator)).to(self._device)
            if not learner.has_idm:
                return FoundActions(known.new_zeros(0), known[: config.babble.to_replay].clone())
            self._number = 1
        if self._number == 1:
            fit = IdmFit(learner, known, config.babble.updates)
            self._enter(fit, '')
            yield from fit.run(state, generator)
            known, self._number = fit.rows, 2
        if config.refine:
            return (yield from self._solve(env, known))
        expert = learner.batch(state, self.expert.rows)
        scale = state['difference_scale']
        guess = learner.idm.predict(state['idm'], expert, scale)
        return self._found(known, guess.detach())

    def _solve(self, env: Env, known: Tensor) -> Job[FoundActions]:
        """Find the expert's actions by Gauss-Newton."""
        solver = GaussNewton(env, self.expert.rows, self.state, known)
        self._enter(solver, "solving for the expert's actions")
        yield from solver.run()
        self._log(
            f'found the actions of {solver.solved:.1%} of the transitions; on average one step '
            f'misses the expert by {float(solver.misses.mean()):.4f} of a step'
        )
        actions = solver.actions.float().to(self._device)
        hit = (solver.misses <= SOLVED).to(self._device)
        solved = self.expert.with_actions(actions).rows[hit]
        return self._found(torch.cat((solver.rows, solved)), actions)

    def _found(self, rows: Tensor, actions: Tensor) -> FoundActions:
        config = self._learner.config.pretraining.babble
        replay = rows[: min(config.to_replay, config.transitions)].clone()
        idm = self.state['idm'].clone()
        if self._learner.config.idm.online:
            return FoundActions(idm, replay, babble=rows)
        return FoundActions(idm, replay, refined_actions=actions)

    def _enter(self, stage: Stage, announcement: str) -> None:
        """Begin a stage, or go on with it where a checkpoint has it."""
        self._stage = stage
        if self._kept:
            stage.restore(checkpoint.part(self._kept, 'stage'))
            self._kept = {}
            name, done, total = stage.progress
            announcement = f'going on with {name}: {done} of {total}'
        if announcement:
            self._log(announcement)

    def _restored(self, env: Env) -> Env:
        kept = {key: each.numpy() for key, each in checkpoint.part(self._kept, 'env').items()}
        if kept:
            env.reset(seed=0)
            env.restore(kept)
        return env

    def _take(self, found: FoundActions) -> None:
        self.found = found
        if self._learner.has_idm:
            self.state |= with_moments('idm', found.idm.clone())
            if 'idm_ema' in self.state:
                self.state['idm_ema'] = found.idm.clone()
        if found.refined_actions is not None:
            self.expert = self.expert.with_actions(found.refined_actions)

    def tensors(self) -> dict[str, Tensor]:
        """Return what a checkpoint keeps beside the learner's state and the generator's."""
        if self._kept:
            return {f'pretraining.{name}': tensor for name, tensor in self._kept.items()}
        kept = {'number': torch.tensor(self._number)}
        if self._stage is not None:
            kept |= {f'stage.{name}': each for name, each in self._stage.state().items()}
        if self._env is not None:
            arrays = self._env.state().items()
            kept |= {f'env.{name}': torch.as_tensor(array) for name, array in arrays}
        if self.found is not None:
            kept |= {f'found.{name}': each for name, each in self.found.tensors().items()}
        return {f'pretraining.{name}': tensor for name, tensor in kept.items()}

    def restore(self, tensors: dict[str, Tensor]) -> None:
        """Go on where :meth:`tensors` was taken; ``state`` is the checkpoint's already."""
        kept = checkpoint.part(tensors, 'pretraining')
        if not kept:  # stopped before it began
            return
        self._number = int(kept['number'])
        found = checkpoint.part(kept, 'found')
        if found:
            self.found = FoundActions(**found).to(self._device)
            if self.found.refined_actions is not None:
                self.expert = self.expert.with_actions(self.found.refined_actions)
        if checkpoint.part(kept, 'stage'):
            self._kept = kept
