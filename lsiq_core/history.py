# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
What a policy remembers: earlier observations and its own last actions.

One state does not tell in which world a robot is, nor, after a push, where in its stride it was.
The network's input is

    [o(t), o(t - every), ..., o(t - (length - 1) every), a(t - 1), ..., a(t - actions)]

At the start the first observation stands for all before it, and an action before the first is
one without torque: zero, or of PD targets the measured position. Learner, evaluation, stress test
and control node all remember through :class:`Memory`. It needs numpy alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from lsiq_core.env import Env
from lsiq_core.types import Array, names, Step, Term
import numpy as np
from pydantic import ConfigDict, Field, StrictInt
from pydantic.dataclasses import dataclass

COMMAND = 'command/'  # how the terms of its own actions begin


@dataclass(frozen=True, config=ConfigDict(extra='forbid', use_attribute_docstrings=True))
class History:
    """What of the past the policy sees beside the present observation."""

    length: StrictInt = Field(default=1, ge=1, le=100)
    """Observations, the present one among them."""
    every: StrictInt = Field(default=1, ge=1, le=100)
    """Control steps between two of them."""
    actions: StrictInt = Field(default=0, ge=0, le=100)
    """Its own last actions. Demonstrations must have actions, too."""
    initialisation: Literal['repeat_first'] = 'repeat_first'
    """What stands for the time before the first observation; actions were without torque."""

    @property
    def remembers(self) -> bool:
        """Return whether it sees more than the present."""
        return self.length > 1 or self.actions > 0

    def inputs(self, terms: int, actions: int) -> int:
        """Return how many numbers the network takes, of so many terms and actions."""
        return self.length * terms + self.actions * actions


class Memory:
    """
    The past of one robot, or of several in step: arrays are [D] and [A], or [N, D] and [N, A].

    :param history: what is remembered.
    :param positions: for each action the column of the measured position that is an action
        without torque; None where zero is.
    """

    def __init__(self, history: History, positions: Sequence[int | None]) -> None:
        self._history = history
        self._span = (history.length - 1) * history.every + 1
        self._measured = [place is not None for place in positions]
        self._columns = [place or 0 for place in positions]
        self._seen: list[Array] = []
        self._done: list[Array] = []

    @classmethod
    def of(cls, history: History, terms: Sequence[str], actions: Sequence[str]) -> Memory:
        """Return an empty memory; an action that has the name of a term is a target of it."""
        at = {name: column for column, name in enumerate(terms)}
        return cls(history, [at.get(name) for name in actions])

    def begin(self) -> None:
        """Forget everything."""
        self._seen, self._done = [], []

    def see(self, obs: Array) -> Array:
        """Take the observation of now and return the network's input."""
        if not self._history.remembers:
            return obs
        if not self._seen:
            rest = np.where(self._measured, obs[..., self._columns], 0.0)
            self._done = [rest] * self._history.actions
        self._seen = [*self._seen, obs][-self._span :]
        newest, every = len(self._seen) - 1, self._history.every
        blocks = [self._seen[max(newest - k * every, 0)] for k in range(self._history.length)]
        return np.concatenate((*blocks, *self._done), axis=-1)

    def did(self, action: Array) -> None:
        """Take what was answered to that observation."""
        if self._history.actions:
            self._done = [action, *self._done[:-1]]

    def state(self) -> dict[str, Array]:
        """Return what it holds, as plain arrays."""
        kept = {'memory.seen': self._seen, 'memory.done': self._done}
        return {name: np.stack(rows) for name, rows in kept.items() if rows}

    def restore(self, state: dict[str, Array]) -> None:
        """Go on where :meth:`state` was taken."""
        self._seen = list(state.get('memory.seen', ()))
        self._done = list(state.get('memory.done', ()))


def input_terms(
    history: History, terms: Sequence[Term], actions: Sequence[Term]
) -> tuple[Term, ...]:
    """Return the terms of the network's input: ``knee/position@-5`` is five steps old."""
    earlier = [
        term._replace(name=f'{term.name}@-{k * history.every}')
        for k in range(1, history.length)
        for term in terms
    ]
    commands = [
        Term(f'{COMMAND}{term.name}@-{j}', term.unit)
        for j in range(1, history.actions + 1)
        for term in actions
    ]
    return (*terms, *earlier, *commands)


def is_past(name: str) -> bool:
    """Return whether a term of this name is remembered."""
    return '@-' in name


def is_command(name: str) -> bool:
    """Return whether a term of this name is an action of the policy; those stand last."""
    return name.startswith(COMMAND)


class RememberingEnv:
    """A task whose observation holds what a policy remembers of it; all else is the task's."""

    def __init__(self, env: Env, history: History) -> None:
        self._env = env
        terms, actions = env.observation_terms, env.action_terms
        self._memory = Memory.of(history, names(terms), names(actions))
        self._terms = len(terms)
        self.observation_terms: Sequence[Term] = input_terms(history, terms, actions)

    def __getattr__(self, name: str) -> Any:
        """Ask the task."""
        return getattr(self._env, name)

    def reset(self, *, seed: int | None = None) -> Array:
        """Start an episode, remembering nothing."""
        return self._first(self._env.reset(seed=seed))

    def reset_to(self, obs: Array) -> Array:
        """Start an episode at an observation, remembering nothing."""
        return self._first(self._env.reset_to(obs[: self._terms]))  # type: ignore[attr-defined]

    def step(self, action: Array) -> Step:
        """Hold the action for one control period."""
        self._memory.did(np.asarray(action))
        return self._next(self._env.step(action))

    def state(self) -> dict[str, Array]:
        """Return all that a bit-identical continuation needs."""
        return self._env.state() | self._memory.state()

    def restore(self, state: dict[str, Array]) -> None:
        """Continue where :meth:`state` was taken."""
        self._memory.restore(state)
        self._env.restore({k: v for k, v in state.items() if not k.startswith('memory.')})

    def _first(self, obs: Array) -> Array:
        self._memory.begin()
        return self._memory.see(obs)

    def _next(self, step: Step) -> Step:
        return step._replace(obs=self._memory.see(step.obs))


class _RememberingRemote(RememberingEnv):
    """The same of a task that steps elsewhere while the caller goes on."""

    def step_async(self, action: Array) -> None:
        """Send the action and return at once."""
        self._memory.did(np.array(action))
        self._env.step_async(action)  # type: ignore[attr-defined]

    def step_wait(self) -> Step:
        """Wait for what it brought."""
        return self._next(self._env.step_wait())  # type: ignore[attr-defined]


def remembering(env: Env, history: History) -> Env:
    """Return the task as a policy with this history sees it."""
    if not history.remembers:
        return env
    remote = hasattr(env, 'step_async')
    wrapped: Env = (_RememberingRemote if remote else RememberingEnv)(env, history)
    return wrapped
