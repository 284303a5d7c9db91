# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Demonstrations as the learner samples them: packed transitions in normalised actions."""

from __future__ import annotations

from dataclasses import dataclass, replace

from lsiq_core.data.batch import draw, pack, with_neighbours
from lsiq_core.data.demonstrations import Demonstrations
from lsiq_core.env import Env
from lsiq_core.errors import ConfigError, TaskError
from lsiq_core.history import History, input_terms, is_command, Memory
from lsiq_core.robot import Randomisation, reading_errors, ReadingError
from lsiq_core.types import Array, names
import numpy as np
import torch
from torch import Tensor

# Demonstrations are remembered anew after so many steps: a policy must also know what to do when
# it was switched on a moment ago.
RESTART_STEPS = 50


@dataclass(frozen=True)
class ActionBox:
    """Scales between the task's actions (N m) and the learner's [-1, 1]."""

    low: Tensor  # [A]
    high: Tensor  # [A]

    @classmethod
    def of(cls, env: Env) -> ActionBox:
        """Return the box of a task."""
        return cls(torch.as_tensor(env.action_low), torch.as_tensor(env.action_high))

    def normalise(self, action: Tensor) -> Tensor:
        """Return actions in [-1, 1], clipped."""
        centre, half = (self.high + self.low) / 2, (self.high - self.low) / 2
        return ((action - centre) / half).clamp(-1.0, 1.0)

    def scale(self, action: Tensor) -> Tensor:
        """Return the task's actions for normalised ones."""
        return self.low + (action.double() + 1.0) / 2 * (self.high - self.low)


@dataclass(frozen=True)
class SensorErrors:
    """
    What the simulated sensors do to the policy's observations, done to the expert's.

    Else a critic would tell expert and policy apart by their noise, and a policy that clones
    would never have seen any.
    """

    errors: tuple[ReadingError, ...]

    def on(self, rows: Tensor, obs_dim: int, generator: torch.Generator) -> Tensor:
        """Return rows [B, 2 D + A + 1] as they would have been observed, each of its episode."""
        rows, second = rows.clone(), rows.shape[1] - 1 - obs_dim  # where the next state begins
        for columns, noise, bias in self.errors:
            now = list(columns)
            after = [second + column for column in columns]
            shape = (len(rows), len(columns))
            if noise[1] > 0:
                size = _between(noise, len(rows), generator)
                for place in (now, after):
                    error = size * torch.randn(shape, generator=generator)
                    rows[:, place] += error.to(rows.device)
            if bias[1] > 0:
                size = _between(bias, len(rows), generator)
                offset = size * (2 * torch.rand(shape, generator=generator) - 1)
                offset = offset.to(rows.device)
                rows[:, now] += offset
                rows[:, after] += offset
        return rows


def _between(limits: tuple[float, float], count: int, generator: torch.Generator) -> Tensor:
    low, high = limits
    return low + (high - low) * torch.rand((count, 1), generator=generator)


@dataclass(frozen=True)
class ExpertData:
    """All (s, a, s') of the demonstrations; the actions are zero where they are unknown."""

    rows: Tensor  # [N, 2 D + A + 1]
    obs_dim: int = 0
    sensors: SensorErrors | None = None

    def to(self, device: torch.device) -> ExpertData:
        """Return the same transitions on this device."""
        return replace(self, rows=self.rows.to(device))

    def with_actions(self, actions: Tensor) -> ExpertData:
        """Return the same transitions with other actions, [N, A]."""
        obs_dim = (self.rows.shape[1] - actions.shape[1] - 1) // 2
        rows = self.rows.clone()
        rows[:, obs_dim : obs_dim + actions.shape[1]] = actions
        return replace(self, rows=rows)

    def sample(self, count: int, generator: torch.Generator) -> Tensor:
        """Return ``count`` rows drawn with replacement, however few there are."""
        rows = draw(self.rows, count, generator)
        return rows if self.sensors is None else self.sensors.on(rows, self.obs_dim, generator)


def check_fits(demos: Demonstrations, env: Env) -> None:
    """Refuse demonstrations that are not of this task."""
    wanted = names(env.observation_terms)
    found = demos.states.shape[1]
    if found != len(wanted):
        raise TaskError(
            f'{demos.source}: states have {found} values, task {env.name} observes '
            f'{len(wanted)}: {list(wanted)}'
        )
    if demos.state_names and demos.state_names != wanted:
        place = next(i for i, (a, b) in enumerate(zip(demos.state_names, wanted)) if a != b)
        raise TaskError(
            f'{demos.source}: state {place} is {demos.state_names[place]!r}, '
            f'task {env.name} has {wanted[place]!r} there'
        )
    if demos.actions is not None and demos.actions.shape[1] != len(env.action_terms):
        raise TaskError(
            f'{demos.source}: actions have {demos.actions.shape[1]} values, task {env.name} '
            f'takes {len(env.action_terms)}'
        )
    if demos.rate_hz is not None and not np.isclose(demos.rate_hz, env.rate_hz):
        raise TaskError(
            f'{demos.source}: recorded at {demos.rate_hz} Hz, task {env.name} runs at '
            f'{env.rate_hz} Hz'
        )


def expert_data(
    demos: Demonstrations,
    env: Env,
    ranges: Randomisation | None = None,
    *,
    window: bool = False,
) -> ExpertData:
    """
    Cut the episodes into transitions; only a terminated episode ends in an absorbing one.

    :param ranges: of the worlds that the policy practises in.
    :param window: keep the states before and after each transition.
    """
    check_fits(demos, env)
    # What the expert answered to: its actions follow from the errors of its sensors.
    seen = demos.states if ranges is None or demos.observed is None else demos.observed
    obs, next_obs, absorbing = [], [], []
    for states, terminated in zip(demos.state_slices(), demos.terminated):
        episode = torch.as_tensor(seen[states], dtype=torch.float32)
        obs.append(episode[:-1])
        next_obs.append(episode[1:])
        flags = torch.zeros(len(episode) - 1)
        flags[-1] = float(terminated)
        absorbing.append(flags)
    if demos.actions is None:
        action = torch.zeros((demos.num_transitions, len(env.action_terms)))
    else:
        action = ActionBox.of(env).normalise(torch.as_tensor(demos.actions)).float()
    rows = pack(torch.cat(obs), action, torch.cat(next_obs), torch.cat(absorbing))
    if window:
        rows = with_neighbours(rows, len(env.observation_terms))
    if ranges is None or demos.observed is not None or not ranges.changes_readings:
        return ExpertData(rows)
    read = [term for term in env.observation_terms if not is_command(term.name)]
    errors = tuple(reading_errors(ranges, read).values())
    return ExpertData(rows, len(env.observation_terms), SensorErrors(errors))


def state_statistics(demos: Demonstrations) -> dict[str, Tensor]:
    """
    Return mean and deviation of the expert's states, and the scale of one step's change.

    A value that the expert never moves has no deviation of its own, and what rounding makes of it
    is none; it is left at its own scale.
    """
    states = torch.as_tensor(demos.states, dtype=torch.float64)
    deviation = states.std(0, correction=0)
    rounding = 1e-6 + 1e-6 * states.abs().amax(0)
    scale = torch.where(deviation > rounding, deviation, torch.ones(()).double())
    changes = torch.cat(
        [(states[episode][1:] - states[episode][:-1]) / scale for episode in demos.state_slices()]
    )
    change = changes.square().mean(0).sqrt()
    return {
        'obs_mean': states.mean(0).float(),
        'obs_std': scale.float(),
        'difference_scale': torch.where(change > 1e-6, change, torch.ones(()).double()).float(),
    }


def actor_mask(env: Env, privileged: tuple[str, ...]) -> Tensor:
    """Return zeros for the privileged terms, which the policy does not see, else ones, [D]."""
    for part in privileged:
        if not any(part in term.name for term in env.observation_terms):
            raise TaskError(
                f'networks.privileged_terms: task {env.name} observes nothing named {part!r}'
            )
    hidden = [any(part in term.name for part in privileged) for term in env.observation_terms]
    return 1.0 - torch.tensor(hidden, dtype=torch.float32)


def remembered(demos: Demonstrations, history: History, env: Env) -> Demonstrations:
    """
    Return demonstrations whose states hold what a policy with this history would remember.

    :param env: of the task, as it is.
    """
    if not history.remembers:
        return demos
    if history.actions and demos.actions is None:
        raise ConfigError(
            f'networks.history.actions is {history.actions}, {demos.source} holds no actions or '
            'they are not to be used; set networks.history.actions=0'
        )
    terms, actions = names(env.observation_terms), names(env.action_terms)
    memory = Memory.of(history, terms, actions)

    def along(states: Array) -> Array:
        rows, first = [], 0
        for span, length in zip(demos.state_slices(), demos.episode_lengths):
            for t, obs in enumerate(states[span]):
                if t % RESTART_STEPS == 0:
                    memory.begin()
                rows.append(memory.see(obs))
                if demos.actions is not None and t < length:
                    memory.did(demos.actions[first + t])
            first += int(length)
        return np.stack(rows)

    return replace(
        demos,
        states=along(demos.states),
        observed=None if demos.observed is None else along(demos.observed),
        state_names=names(input_terms(history, env.observation_terms, env.action_terms)),
    )
