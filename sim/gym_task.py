# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Gymnasium's MuJoCo tasks behind the learner's protocol."""

from collections.abc import Iterator
from contextlib import contextmanager
import json
import sys
from typing import Any

import gymnasium
from lsiq_core.types import Array, Step, Term
import mujoco
import numpy as np

# What the public expert demonstrations of these tasks leave out of the observation.
_DEFAULT_OPTIONS: dict[str, dict[str, Any]] = {
    'Ant-v5': {'include_cfrc_ext_in_observation': False},
}

# How many coordinates on the ground the observation leaves out (tasks not named: none); the rest
# of the positions and all velocities come first in it.
_HIDDEN_COORDINATES = {
    'Hopper-v5': 1,
    'Walker2d-v5': 1,
    'HalfCheetah-v5': 1,
    'Ant-v5': 2,
    'Humanoid-v5': 2,
}


@contextmanager
def _without_deprecations() -> Iterator[None]:
    """Gymnasium's own files have what MuJoCo 4 calls deprecated; every simulation would say so."""
    before = mujoco.get_mju_user_warning()

    def told(text: str) -> None:
        if 'is deprecated' not in text:
            print(f'MuJoCo: {text}', file=sys.stderr)

    mujoco.set_mju_user_warning(told)
    try:
        yield
    finally:
        mujoco.set_mju_user_warning(before)


class GymTask:
    """One of the tasks, with its state open for exact continuation."""

    def __init__(self, name: str, *, reset_frames: Array | None = None, **options: Any) -> None:
        """
        Make the task.

        :param reset_frames: [F, D] observations to start episodes at; none starts them as
            Gymnasium does.
        """
        self.name = name
        self._frames = reset_frames
        made: Any = gymnasium.make
        with _without_deprecations():
            self._env = made(name, **{**_DEFAULT_OPTIONS.get(name, {}), **options})
        self._base = self._env.unwrapped
        box, actions = self._env.observation_space, self._env.action_space
        self.observation_terms = tuple(Term(f'observation/{i}') for i in range(box.shape[0]))
        self.action_terms = tuple(Term(f'{joint}/effort', 'N m') for joint in self._joints())
        self.action_low = actions.low.astype(np.float64)
        self.action_high = actions.high.astype(np.float64)
        self.rate_hz = 1.0 / float(self._base.dt)
        self.max_episode_steps = int(self._env.spec.max_episode_steps)
        self._elapsed = 0

    def _joints(self) -> list[str]:
        model = self._base.model
        return [model.joint(model.actuator_trnid[i, 0]).name for i in range(model.nu)]

    @property
    def model(self) -> mujoco.MjModel:
        """Return the physics model, to look at."""
        return self._base.model

    @property
    def data(self) -> mujoco.MjData:
        """Return the simulation as it stands, to look at."""
        return self._base.data

    def reset(self, *, seed: int | None = None) -> Array:
        """Start an episode."""
        self._elapsed = 0
        obs = self._env.reset(seed=seed)[0]
        if self._frames is not None:
            chosen = self._base.np_random.integers(len(self._frames))
            obs = self._start_at(self._frames[chosen])
        return np.asarray(obs, dtype=np.float64)

    def reset_to(self, obs: Array) -> Array:
        """Start an episode exactly at an observation."""
        self._elapsed = 0
        self._base.data.qacc_warmstart[:] = 0.0  # what the last episode left
        return np.asarray(self._start_at(obs), dtype=np.float64)

    def _start_at(self, frame: Array) -> Array:
        """Put the robot where it was observed, at the origin of the ground."""
        model = self._base.model
        leaves_out = getattr(self._base, '_exclude_current_positions_from_observation', True)
        hidden = _HIDDEN_COORDINATES.get(self.name, 0) if leaves_out else 0
        last = model.nq - hidden
        qpos = np.concatenate((np.zeros(hidden), frame[:last]))
        self._base.set_state(qpos, frame[last : last + model.nv].astype(np.float64))
        return self._base._get_obs()  # type: ignore[no-any-return]

    def step(self, action: Array) -> Step:
        """Hold the action for one control period."""
        obs, reward, terminated, _, _ = self._base.step(action)
        self._elapsed += 1
        truncated = self._elapsed >= self.max_episode_steps
        return Step(np.asarray(obs, np.float64), float(reward), bool(terminated), truncated)

    def state(self) -> dict[str, Array]:
        """Return physics, randomness and counters."""
        model, data = self._base.model, self._base.data
        spec = mujoco.mjtState.mjSTATE_INTEGRATION
        physics = np.empty(mujoco.mj_stateSize(model, spec))
        mujoco.mj_getState(model, data, physics, spec)
        generator = json.dumps(self._base.np_random.bit_generator.state).encode()
        return {
            'physics': physics,
            # MuJoCo's step leaves the positions of bodies one substep behind, and the tasks
            # measure speed from them: a recomputation would not give the same numbers.
            'xpos': data.xpos.copy(),
            'xipos': data.xipos.copy(),
            'elapsed': np.array(self._elapsed),
            'generator': np.frombuffer(generator, dtype=np.uint8).copy(),
        }

    def restore(self, state: dict[str, Array]) -> None:
        """Continue where :meth:`state` was taken."""
        self.reset(seed=0)
        model, data = self._base.model, self._base.data
        spec = mujoco.mjtState.mjSTATE_INTEGRATION
        mujoco.mj_setState(model, data, state['physics'].astype(np.float64), spec)
        data.xpos[:] = state['xpos']
        data.xipos[:] = state['xipos']
        self._elapsed = int(state['elapsed'])
        self._base.np_random.bit_generator.state = json.loads(state['generator'].tobytes())

    def close(self) -> None:
        """Close the task."""
        self._env.close()
