# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
What happens before the first step: the inverse dynamics are taught, the policy is cloned.

Babble and rehearsals take minutes and depend on robot and demonstrations alone, so what they
bring is kept in the run directory, and other runs may take it over (``idm.prepared``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lsiq_core.data.dataset import ExpertData
from lsiq_core.env import Env
from lsiq_core.errors import CheckpointError
from lsiq_core.learning.action_refinement import Rehearsal
from lsiq_core.learning.algorithms import bc
from lsiq_core.learning.babble import babble
from lsiq_core.learning.idm_training import teach
from lsiq_core.learning.learner import eager_gradient, Learner
from lsiq_core.learning.optimiser import adam, State, with_moments
from lsiq_core.training import checkpoint
from lsiq_core.training.job import Work
import torch
from torch import Tensor

FILE = 'prepared.safetensors'
_PAUSE = 100  # updates between two pauses of the work
_BATCH = 256
_SETTLED = 0.05  # share of the cloning rate that is left at the end
_AVERAGED = 0.002  # how much of the policy its average takes over in each cloning update


@dataclass(frozen=True)
class Preparation:
    """What babble and rehearsals brought."""

    idm: Tensor  # parameters of the inverse dynamics model
    replay: Tensor  # packed transitions that start the replay
    babble: Tensor | None = None  # packed transitions to go on teaching the model with
    found_actions: Tensor | None = None  # the expert's, [N, A], where the model learns no more

    def save(self, run: Path, header: dict[str, Any]) -> None:
        """Write it into a run directory, with what it was made from."""
        kept = {name: tensor for name, tensor in vars(self).items() if tensor is not None}
        checkpoint.save(run / FILE, kept, header)

    @classmethod
    def load(cls, run: Path, header: dict[str, Any]) -> Preparation:
        """Read that of another run, which must have been made from the same."""
        tensors, found = checkpoint.load(run / FILE)
        for name, wanted in header.items():
            if found.get(name) != wanted:
                raise CheckpointError(
                    f'{run / FILE}: prepared with {name} {found.get(name)!r}, '
                    f'this run has {wanted!r}'
                )
        return cls(**tensors)


def prepare_inverse_dynamics(
    learner: Learner,
    state: State,
    env: Env,
    expert_rows: Tensor,
    generator: torch.Generator,
    say: Callable[[str], None],
) -> Work[Preparation]:
    """
    Let the robot babble, teach the model on it, and rehearse what the expert may have done.

    :param env: a simulation to babble and rehearse in.
    :param expert_rows: packed expert transitions; their actions are not read.
    :param say: takes the few sentences a person should read.
    """
    config = learner.config.pretraining
    babble_config = config.babble
    say(f'babbling for {babble_config.transitions} transitions')
    known = yield from babble(
        env,
        transitions=babble_config.transitions,
        burst=babble_config.burst,
        quietest=babble_config.quietest,
        generator=generator,
    )
    replay = known[: babble_config.to_replay].clone()  # a file holds no two views of one tensor
    state = yield from teach(learner, state, known, babble_config.updates, generator)
    rehearsal = Rehearsal(learner, env, expert_rows, known, generator)
    for number in range(config.refinement.rounds):
        state = yield from rehearsal.round(state)
        say(
            f'rehearsal {number + 1} of {config.refinement.rounds}: missed the expert by '
            f'{rehearsal.miss:.3f} of a step'
        )
    if learner.config.idm.online:
        return Preparation(state['idm'], replay, babble=rehearsal.rows)
    return Preparation(state['idm'], replay, found_actions=rehearsal.actions(state))


def clone_first(
    learner: Learner, state: State, expert: ExpertData, generator: torch.Generator
) -> Work[State]:
    """Return the state with a policy that was cloned from the expert's actions alone."""
    settings = learner.config.bc
    state = {**state, **with_moments('actor', state['actor']), 'updates': torch.zeros(())}
    average = state['actor']
    for done in range(settings.pretrain_updates):
        if done % _PAUSE == 0:
            yield
        batch = learner.expert_batch(state, expert.sample(_BATCH, generator))
        gradient, _ = eager_gradient(
            bc.actor_loss, state['actor'], learner.networks, batch, settings.huber_delta
        )
        rate = settings.pretrain_rate * (1.0 - (1.0 - _SETTLED) * done / settings.pretrain_updates)
        state |= adam(state, 'actor', gradient, torch.tensor(rate))
        state['updates'] = state['updates'] + 1.0
        late = 2 * done > settings.pretrain_updates  # before, the average would remember the start
        average = torch.lerp(average, state['actor'], _AVERAGED) if late else state['actor']
    state |= {**with_moments('actor', average), 'updates': torch.zeros(())}
    if 'actor_ema' in state:
        state['actor_ema'] = average.clone()
    return state
