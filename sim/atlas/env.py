# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""The Atlas walking task, one robot: torques in N m in, named readings out, at 100 Hz."""

from __future__ import annotations

import json
import math
from typing import Any

import mujoco
import numpy as np
import numpy.typing as npt
from sim.atlas.config import AtlasConfig, RATE_HZ
from sim.atlas.model import build_model
from sim.atlas.readings import (
    action_terms,
    FORWARD,
    HEIGHT,
    LATERAL,
    observation_parts,
    observation_terms,
    split_kinematic,
)
from sim.atlas.resets import Starts
from sim.atlas.task import metric, Step
from sim.atlas.variations import apply_to_model, Conditions, Push

Array = npt.NDArray[Any]
_STATE = mujoco.mjtState.mjSTATE_INTEGRATION


class AtlasEnv:
    """
    Atlas on flat ground.

    Readings (:meth:`readings`, :attr:`lateral_m`) stand apart from the task (metric, falls).
    """

    name = 'atlas'
    rate_hz = RATE_HZ

    def __init__(
        self,
        config: AtlasConfig | None = None,
        *,
        reset_frames: Array | None = None,
        seed: int = 0,
    ) -> None:
        """
        Build the robot and start an episode.

        :param config: the task's settings.
        :param reset_frames: [F, 30] kinematic observations to start from; None starts where
            ``config.start`` says.
        :param seed: of everything random here.
        """
        self.config = config or AtlasConfig()
        self.joints = self.config.model.joints
        self.observation_terms = observation_terms(self.config.observation, self.joints)
        self.action_terms = action_terms(self.joints)
        self.max_episode_steps = self.config.max_episode_steps
        self.model = build_model(self.config.model)
        self.data = mujoco.MjData(self.model)
        self.action_low = self.model.actuator_ctrlrange[:, 0].copy()
        self.action_high = self.model.actuator_ctrlrange[:, 1].copy()
        self._nominal = build_model(self.config.model)
        self._starts = Starts(
            len(self.joints),
            reset_frames,
            formula=self.config.start == 'gait',
            position_noise_rad=self.config.reset_position_noise_rad,
            velocity_noise=self.config.reset_velocity_noise,
        )
        # Views into the simulation, taken once: asking for them again costs a microsecond.
        self._pose = self.data.qpos[HEIGHT : HEIGHT + 4]
        self._ctrl, self._sensors = self.data.ctrl, self.data.sensordata
        arrays = (self.data.qpos, self.data.qvel, self.data.sensordata)
        self._parts = observation_parts(self.config.observation, *arrays)
        self._kinematic_parts = observation_parts('kinematic', *arrays)
        self._substeps = self.config.physics_steps
        self._low, self._high = self.config.falls.low.tolist(), self.config.falls.high.tolist()
        self._noise_std = self.config.variations.observation_noise(
            tuple(term.unit for term in self.observation_terms)
        )
        self._pushed_body = int(self.model.site('torso').bodyid[0])
        self._rng = np.random.default_rng(seed)
        self._last_obs = np.zeros(len(self.observation_terms))
        self.reset()

    # -- the task --------------------------------------------------------------------------

    def reset(self, *, seed: int | None = None) -> Array:
        """Start an episode in mid-stride; a seed restarts the task's own randomness."""
        if seed is not None:
            self._rng = np.random.default_rng(seed)
        self._draw_conditions()
        return self._start_at(*self._starts.draw(self._rng))

    def reset_to(self, obs: Array, *, lateral_m: float = 0.0) -> Array:
        """
        Start an episode exactly at an observation.

        :param obs: [30] in the order of the ``kinematic`` terms, or [42] of the ``full`` ones.
        :param lateral_m: how far left of its line the robot starts.
        """
        self._draw_conditions()
        qpos, qvel = split_kinematic(obs, len(self.joints))
        qpos[LATERAL] = lateral_m
        return self._start_at(qpos, qvel)

    def step(self, action: Array) -> Step:
        """Hold the torques (N m, clipped to the motors' limits) for one control period."""
        if self._varied:
            self._step_varied(np.clip(action, self.action_low, self.action_high))
        else:
            self._ctrl[:] = action  # the motors of the model clip it
            mujoco.mj_step(self.model, self.data, self._substeps)
        self._steps += 1
        obs = np.concatenate(self._parts)
        reward = metric(self._sensors.item(0))
        fallen = self._fallen()
        if fallen and not np.isfinite(obs).all():
            # A diverged simulation leaves nothing to learn from.
            obs, reward = self._last_obs.copy(), 0.0
        elif self._noise_std is not None:
            obs += self._noise_std * self._rng.standard_normal(len(obs))
        self._last_obs = obs
        self._metric_total += reward
        return Step(obs, reward, fallen, self._steps >= self.max_episode_steps and not fallen)

    def episode_summary(self) -> dict[str, float]:
        """Return how the episode so far went: fallen or not, speed, metric per step."""
        return {
            'fall_rate': float(self._fallen()),
            'speed_mean_mps': float(self.data.qpos[FORWARD]) / max(self.time_s, 1e-9),
            'metric_mean': self._metric_total / max(self._steps, 1),
        }

    def state(self) -> dict[str, Array]:
        """Return all that a bit-identical continuation needs, as plain arrays."""
        physics = np.empty(mujoco.mj_stateSize(self.model, _STATE))
        mujoco.mj_getState(self.model, self.data, physics, _STATE)
        return {
            'physics': physics,
            'steps': np.array(self._steps),
            'conditions': self._conditions.as_array(),
            'commands': self._commands.copy(),
            'push': self._push.as_array(),
            'last_obs': self._last_obs.copy(),
            'metric_total': np.array(self._metric_total),
            'rng': np.frombuffer(
                json.dumps(self._rng.bit_generator.state).encode(), np.uint8
            ).copy(),
        }

    def restore(self, state: dict[str, Array]) -> None:
        """Continue where :meth:`state` was taken."""
        self._apply(Conditions.from_array(state['conditions']))
        mujoco.mj_resetData(self.model, self.data)
        mujoco.mj_setState(self.model, self.data, np.asarray(state['physics']), _STATE)
        self._steps = int(state['steps'])
        self._commands = np.array(state['commands'])
        self._push = Push.from_array(state['push'])
        self._last_obs = np.array(state['last_obs'])
        self._metric_total = float(state['metric_total'])
        self._rng.bit_generator.state = json.loads(state['rng'].tobytes())

    def close(self) -> None:
        """Release nothing: the simulation holds memory alone."""

    # -- the readings ----------------------------------------------------------------------

    @property
    def lateral_m(self) -> float:
        """Return how far left of its starting line the pelvis is."""
        return float(self.data.qpos[LATERAL])

    @property
    def time_s(self) -> float:
        """Return the simulated time since the reset."""
        return float(self.data.time)

    @property
    def efforts_nm(self) -> Array:
        """Return the torques that the motors gave in the last physics step, [A]."""
        return self.data.actuator_force.copy()

    def kinematic(self) -> Array:
        """Return the exact kinematic observation, whatever this task's own spec is."""
        return np.concatenate(self._kinematic_parts)

    def readings(self) -> dict[str, float]:
        """Return the present observation by name, without noise."""
        values = np.concatenate(self._parts).tolist()
        return {term.name: value for term, value in zip(self.observation_terms, values)}

    # -- underneath ------------------------------------------------------------------------

    def _start_at(self, qpos: Array, qvel: Array) -> Array:
        mujoco.mj_resetData(self.model, self.data)
        self.data.qpos[:] = qpos
        self.data.qvel[:] = qvel
        mujoco.mj_forward(self.model, self.data)  # sensors read the start, too
        self._steps = 0
        self._metric_total = 0.0
        obs = np.concatenate(self._parts)
        if self._noise_std is not None:
            obs += self._noise_std * self._rng.standard_normal(len(obs))
        self._last_obs = obs
        return obs

    def _draw_conditions(self) -> None:
        variations = self.config.variations
        self._apply(variations.sample(self._rng, self.model.opt.timestep))
        held = self._conditions.delay_steps // self._substeps + 2
        self._commands = np.zeros((held, len(self.joints)))  # newest first
        self._push = Push(math.inf, math.inf, np.zeros(3))
        if variations.pushes:
            self._push = variations.next_push(self._rng, 0.0)

    def _apply(self, conditions: Conditions) -> None:
        self._conditions = conditions
        self._varied = (
            conditions.torque_scale != 1
            or conditions.delay_steps > 0
            or self.config.variations.pushes
        )
        if self.config.variations.changes_model:
            apply_to_model(self.model, self._nominal, conditions)

    def _step_varied(self, command: Array) -> None:
        """Step with what differs from the table: late, weaker or pushed."""
        data, conditions = self.data, self._conditions
        if self.config.variations.pushes:
            if data.time >= self._push.end_s:
                self._push = self.config.variations.next_push(self._rng, data.time)
            data.xfrc_applied[self._pushed_body, :3] = self._push.at(data.time)
        self._commands = np.roll(self._commands, 1, axis=0)
        self._commands[0] = command * conditions.torque_scale
        # A command waits so many whole control periods and then some physics steps, in
        # which its predecessor still acts.
        whole, part = divmod(conditions.delay_steps, self._substeps)
        if part:
            data.ctrl[:] = self._commands[whole + 1]
            mujoco.mj_step(self.model, data, part)
        data.ctrl[:] = self._commands[whole]
        mujoco.mj_step(self.model, data, self._substeps - part)

    def _fallen(self) -> bool:
        """Return whether the pelvis left its bounds; not-a-number counts as a fall."""
        height, tilt, list_, rotation = self._pose.tolist()
        low, high = self._low, self._high
        return not (
            low[0] <= height <= high[0]
            and low[1] <= tilt <= high[1]
            and low[2] <= list_ <= high[2]
            and low[3] <= rotation <= high[3]
        )
