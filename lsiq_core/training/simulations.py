# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Several simulations that feed one learner, stepped while it learns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

from lsiq_core.data.batch import pack
from lsiq_core.data.dataset import ActionBox
from lsiq_core.env import Env
from lsiq_core.types import Step
import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

WHOLE_EPISODES = 4  # of so many simulations one is never cut


@runtime_checkable
class Remote(Protocol):
    """An environment that steps elsewhere while the caller goes on."""

    def step_async(self, action: npt.NDArray[np.float64]) -> None:
        """Send the action and return at once."""

    def step_wait(self) -> Step:
        """Wait for what it brought."""


class Episode(NamedTuple):
    """What one finished training episode came to."""

    total_reward: float
    length: int
    terminated: bool


class Simulations:
    """
    Environments in lock-step with the learner.

    ``send`` hands out actions, ``receive`` brings the transitions: between the two the
    learner updates. In process the physics simply runs in ``receive``, so both ways see
    the same order of events and give the same numbers.
    """

    def __init__(
        self,
        envs: Sequence[Env],
        seed: int,
        max_episode_steps: int | None = None,
        *,
        window: bool = False,
    ) -> None:
        """
        Take the environments; :meth:`start` resets them.

        :param seed: of the first; each has a seed of its own.
        :param max_episode_steps: cut episodes after so many, but for those of the first quarter;
            none leaves that to the task.
        :param window: transitions know the states before and after them, and come a step later.
        """
        self._envs, self._seed = envs, seed
        self._cuts = [max_episode_steps] * len(envs)
        whole = len(envs) // WHOLE_EPISODES
        self._cuts[:whole] = [None] * whole
        self._box = ActionBox.of(envs[0])
        self._actions = torch.zeros((len(envs), len(envs[0].action_terms)))
        self._commands = np.zeros(self._actions.shape)
        self._totals = np.zeros(len(envs))
        self._lengths = np.zeros(len(envs), dtype=np.int64)
        self.obs = torch.zeros((len(envs), len(envs[0].observation_terms)))  # [N, D]
        self._window = window
        # Of the last step, which waits for what comes after: [N, 3 D + A + 1], none at first.
        self._waiting = torch.zeros((0, 3 * self.obs.shape[1] + self._actions.shape[1] + 1))
        self._ended = np.ones(len(envs), bool)  # whether the step before was an episode's last

    def start(self) -> None:
        """Reset every environment."""
        first = [env.reset(seed=self._seed + index) for index, env in enumerate(self._envs)]
        self.obs = torch.as_tensor(np.stack(first), dtype=torch.float32)

    def __len__(self) -> int:
        """Return how many simulations there are."""
        return len(self._envs)

    def send(self, actions: Tensor) -> None:
        """Hand out normalised actions [N, A]."""
        self._actions = actions
        self._commands = self._box.scale(actions).numpy()
        for env, command in zip(self._envs, self._commands):
            if isinstance(env, Remote):
                env.step_async(command)

    def receive(self) -> tuple[Tensor, list[Episode]]:
        """Return packed transitions, [N, 2 D + A + 1] or wider, and the episodes that ended."""
        before, after, absorbing, finished = self.obs, [], [], []
        current = []
        for index, (env, command) in enumerate(zip(self._envs, self._commands)):
            step = env.step_wait() if isinstance(env, Remote) else env.step(command)
            after.append(step.obs)
            absorbing.append(float(step.terminated))
            self._totals[index] += step.reward
            self._lengths[index] += 1
            length = int(self._lengths[index])
            if step.terminated or step.truncated or length == self._cuts[index]:
                finished.append(Episode(float(self._totals[index]), length, step.terminated))
                self._totals[index], self._lengths[index] = 0.0, 0
                current.append(env.reset())
            else:
                current.append(step.obs)
        self.obs = torch.as_tensor(np.stack(current), dtype=torch.float32)
        next_obs = torch.as_tensor(np.stack(after), dtype=torch.float32)
        rows = pack(before, self._actions, next_obs, torch.tensor(absorbing))
        if self._window:
            rows = self._surrounded(rows, before, next_obs)
            self._ended = self._lengths == 0
        return rows, finished

    def _surrounded(self, rows: Tensor, obs: Tensor, next_obs: Tensor) -> Tensor:
        """Return the step before with the states around it; this one waits for the next."""
        waiting, size = self._waiting, obs.shape[1]
        begins = torch.from_numpy(self._ended)[:, None]
        if not len(waiting):
            self._waiting = torch.cat((rows, obs), dim=1)
            return waiting.new_zeros((0, waiting.shape[1] + size))
        end = rows.shape[1] - 1
        after = torch.where(begins, waiting[:, end - size : end], next_obs)
        before = torch.where(begins, obs, waiting[:, :size])
        self._waiting = torch.cat((rows, before), dim=1)
        return torch.cat((waiting, after), dim=1)

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return what a bit-identical continuation needs."""
        kept: dict[str, npt.NDArray[Any]] = {
            'simulations.obs': self.obs.numpy(),
            'simulations.totals': self._totals,
            'simulations.lengths': self._lengths,
        }
        if self._window:
            kept |= {
                'simulations.waiting': self._waiting.numpy(),
                'simulations.ended': self._ended,
            }
        for index, env in enumerate(self._envs):
            kept |= {f'simulations.{index}.{key}': item for key, item in env.state().items()}
        return kept

    def restore(self, state: dict[str, npt.NDArray[Any]]) -> None:
        """Continue where :meth:`state` was taken."""
        self.start()
        self.obs = torch.as_tensor(state['simulations.obs']).clone()
        self._totals = state['simulations.totals'].copy()
        self._lengths = state['simulations.lengths'].copy()
        if self._window:
            self._waiting = torch.as_tensor(state['simulations.waiting']).clone()
            self._ended = state['simulations.ended'].astype(bool)
        for index, env in enumerate(self._envs):
            prefix = f'simulations.{index}.'
            own = {key.removeprefix(prefix): state[key] for key in state if key.startswith(prefix)}
            env.restore(own)

    def close(self) -> None:
        """Close every environment."""
        for env in self._envs:
            env.close()
