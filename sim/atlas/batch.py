# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
Many Atlas robots stepped at once by mujoco.rollout.

The physics is that of :class:`sim.atlas.env.AtlasEnv` to the bit. Robots that fell or ran
out of time start anew by themselves: act on :attr:`AtlasBatch.obs`, learn from
:attr:`BatchStep.obs`, which still shows how an episode ended.
"""

from __future__ import annotations

from collections.abc import Callable
import json
import math
from typing import Any, NamedTuple

import mujoco
from mujoco import rollout
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
from sim.atlas.task import metrics
from sim.atlas.variations import apply_to_model, Conditions, Push

Array = npt.NDArray[Any]
_CONTROL = mujoco.mjtState.mjSTATE_CTRL
_FORCES = mujoco.mjtState.mjSTATE_XFRC_APPLIED


class BatchStep(NamedTuple):
    """What one control step brought to N robots."""

    obs: Array  # [N, D], the successors, before any new start
    reward: Array  # [N]
    terminated: Array  # [N] bool
    truncated: Array  # [N] bool


class AtlasBatch:
    """N independent robots on flat ground."""

    name = 'atlas'
    rate_hz = RATE_HZ

    def __init__(
        self,
        num_envs: int,
        config: AtlasConfig | None = None,
        *,
        reset_frames: Array | None = None,
        on_reset: Callable[[int, np.random.Generator], Array] | None = None,
        auto_reset: bool = True,
        seed: int = 0,
        threads: int = 0,
    ) -> None:
        """
        Build the robots and start them all.

        :param num_envs: N.
        :param config: the settings of every robot.
        :param reset_frames: [F, 30] kinematic observations to start from.
        :param on_reset: called with a robot's number and the generator, returns the
            kinematic observation it starts at; instead of gait or frames.
        :param auto_reset: start anew whatever ended.
        :param seed: of everything random here.
        :param threads: of the physics; 0 steps in the calling thread.
        """
        self.config = config or AtlasConfig()
        self.num_envs = num_envs
        self.joints = self.config.model.joints
        self.observation_terms = observation_terms(self.config.observation, self.joints)
        self.action_terms = action_terms(self.joints)
        self.max_episode_steps = self.config.max_episode_steps
        self.on_reset = on_reset
        self.auto_reset = auto_reset
        self._build(threads)
        self._starts = Starts(
            len(self.joints),
            reset_frames,
            formula=self.config.start == 'gait',
            position_noise_rad=self.config.reset_position_noise_rad,
            velocity_noise=self.config.reset_velocity_noise,
        )
        self._noise_std = self.config.variations.observation_noise(
            tuple(term.unit for term in self.observation_terms)
        )
        self._rng = np.random.default_rng(seed)
        self.steps = np.zeros(num_envs, np.int64)  # taken since each robot's start
        self.reset()

    # -- the task --------------------------------------------------------------------------

    def reset(self, *, seed: int | None = None) -> Array:
        """Start all robots and return their observations, [N, D]."""
        if seed is not None:
            self._rng = np.random.default_rng(seed)
        return self.reset_where(np.ones(self.num_envs, bool))

    def reset_where(self, mask: Array) -> Array:
        """Start the marked robots anew and return all observations, [N, D]."""
        for index in np.flatnonzero(mask):
            self._start(int(index))
        self.obs = self._noisy(self._read())
        return self.obs

    def step(self, actions: Array) -> BatchStep:
        """
        Hold each robot's torques for one control period.

        :param actions: [N, A] in N m, clipped to the motors' limits.
        """
        commands = np.clip(actions, self.action_low, self.action_high)
        control, spec = self._schedule(commands)
        self._rollout.rollout(
            self._models,
            self._scratch,
            self._state,
            control,
            control_spec=int(spec),
            skip_checks=True,
            nstep=self._substeps,
            state=self._trace,
            sensordata=self._sensor_trace,
        )
        before = self.obs
        self._state[:] = self._trace[:, -1]
        self._sensors[:] = self._sensor_trace[:, -1]
        self.steps += 1
        obs = self._noisy(self._read())
        terminated = self._fallen()
        broken = terminated & ~np.isfinite(obs).all(axis=1)
        obs[broken] = before[broken]
        truncated = ~terminated & (self.steps >= self.max_episode_steps)
        reward = metrics(self._sensors[:, 0])
        self.obs = obs
        if self.auto_reset and (terminated | truncated).any():
            self.reset_where(terminated | truncated)
        return BatchStep(obs, reward, terminated, truncated)

    def state(self) -> dict[str, Array]:
        """Return all that a bit-identical continuation needs, as plain arrays."""
        return {
            'physics': self._state.copy(),
            'sensors': self._sensors.copy(),
            'steps': self.steps.copy(),
            'conditions': np.stack([conditions.as_array() for conditions in self._conditions]),
            'pushes': np.stack([push.as_array() for push in self._pushes]),
            'commands': self._commands.copy(),
            'obs': self.obs.copy(),
            'rng': np.array(json.dumps(self._rng.bit_generator.state)),
        }

    def restore(self, state: dict[str, Array]) -> None:
        """Continue where :meth:`state` was taken."""
        self._state[:] = state['physics']
        self._sensors[:] = state['sensors']
        self.steps[:] = state['steps']
        self._conditions = [Conditions.from_array(row) for row in state['conditions']]
        self._pushes = [Push.from_array(row) for row in state['pushes']]
        self._commands = np.array(state['commands'])
        self.obs = np.array(state['obs'])
        self._rng.bit_generator.state = json.loads(str(state['rng']))
        if self.config.variations.changes_model:
            for model, conditions in zip(self._models, self._conditions):
                apply_to_model(model, self._nominal, conditions)

    def close(self) -> None:
        """End the physics threads."""
        self._rollout.close()

    # -- the readings ----------------------------------------------------------------------

    @property
    def lateral_m(self) -> Array:
        """Return how far left of its starting line each pelvis is, [N]."""
        return self._qpos[:, LATERAL]

    @property
    def forward_m(self) -> Array:
        """Return how far each pelvis has come, [N]."""
        return self._qpos[:, FORWARD]

    def kinematic(self) -> Array:
        """Return the exact kinematic observations, [N, 30]."""
        return np.concatenate(self._kinematic_parts, axis=-1)

    # -- underneath ------------------------------------------------------------------------

    def _build(self, threads: int) -> None:
        model = build_model(self.config.model)
        self._nominal = model
        self._models = [model] * self.num_envs
        if self.config.variations.changes_model:
            self._models = [build_model(self.config.model) for _ in range(self.num_envs)]
        # Rollout shares its robots among this many scratch simulations.
        self._scratch = [mujoco.MjData(model) for _ in range(max(1, threads))]
        self._rollout = rollout.Rollout(nthread=threads)
        self._substeps = self.config.physics_steps
        self.action_low = model.actuator_ctrlrange[:, 0].copy()
        self.action_high = model.actuator_ctrlrange[:, 1].copy()
        self._low, self._high = self.config.falls.low, self.config.falls.high
        self._pushed_body = int(model.site('torso').bodyid[0])
        # The state that rollout takes and gives: time, positions, velocities.
        size = 1 + model.nq + model.nv
        self._state = np.zeros((self.num_envs, size))
        self._qpos = self._state[:, 1 : 1 + model.nq]
        self._qvel = self._state[:, 1 + model.nq :]
        self._sensors = np.zeros((self.num_envs, model.nsensordata))
        arrays = (self._qpos, self._qvel, self._sensors)
        self._parts = observation_parts(self.config.observation, *arrays)
        self._kinematic_parts = observation_parts('kinematic', *arrays)
        self._trace = np.zeros((self.num_envs, self._substeps, size))
        self._sensor_trace = np.zeros((self.num_envs, self._substeps, model.nsensordata))
        self._conditions = [Conditions()] * self.num_envs
        self._pushes = [Push(math.inf, math.inf, np.zeros(3))] * self.num_envs
        self._commands = np.zeros((2, self.num_envs, model.nu))

    def _start(self, index: int) -> None:
        variations = self.config.variations
        conditions = variations.sample(self._rng, self._nominal.opt.timestep)
        self._conditions[index] = conditions
        model = self._nominal
        if variations.changes_model:
            model = self._models[index]
            apply_to_model(model, self._nominal, conditions)
        if variations.pushes:
            self._pushes[index] = variations.next_push(self._rng, 0.0)
        if self.on_reset is None:
            qpos, qvel = self._starts.draw(self._rng)
        else:
            frame = self.on_reset(index, self._rng)
            qpos, qvel = split_kinematic(frame, len(self.joints))
        self._state[index] = np.concatenate(((0.0,), qpos, qvel))
        self.steps[index] = 0
        held = max(c.delay_steps for c in self._conditions) // self._substeps + 2
        missing = max(0, held - len(self._commands))
        self._commands = np.pad(self._commands, ((0, missing), (0, 0), (0, 0)))
        self._commands[:, index] = 0.0
        data = self._scratch[0]
        mujoco.mj_resetData(model, data)
        data.qpos[:], data.qvel[:] = qpos, qvel
        mujoco.mj_forward(model, data)
        self._sensors[index] = data.sensordata

    def _schedule(self, commands: Array) -> tuple[Array, mujoco.mjtState]:
        """Spread the commands over the physics steps: late, weaker and pushed where asked."""
        scale = np.array([conditions.torque_scale for conditions in self._conditions])
        delay = np.array([conditions.delay_steps for conditions in self._conditions])
        self._commands = np.roll(self._commands, 1, axis=0)
        self._commands[0] = commands * scale[:, None]
        substep = np.arange(self._substeps)
        age = -((substep[None, :] - delay[:, None]) // self._substeps)  # in control periods
        control = self._commands[age, np.arange(self.num_envs)[:, None]]
        if not self.config.variations.pushes:
            return control, _CONTROL
        forces = np.zeros((self.num_envs, self._substeps, self._nominal.nbody, 6))
        for index, time_s in enumerate(self._state[:, 0]):
            if time_s >= self._pushes[index].end_s:
                self._pushes[index] = self.config.variations.next_push(self._rng, time_s)
            forces[index, :, self._pushed_body, :3] = self._pushes[index].at(time_s)
        flat = forces.reshape(self.num_envs, self._substeps, -1)
        return np.concatenate((control, flat), axis=-1), _CONTROL | _FORCES

    def _read(self) -> Array:
        return np.concatenate(self._parts, axis=-1)

    def _noisy(self, obs: Array) -> Array:
        if self._noise_std is None:
            return obs
        return obs + self._noise_std * self._rng.standard_normal(obs.shape)

    def _fallen(self) -> Array:
        pose = self._qpos[:, HEIGHT : HEIGHT + 4]
        standing = ((self._low <= pose) & (pose <= self._high)).all(axis=1)
        return np.logical_not(standing & np.isfinite(self._qpos).all(axis=1))
