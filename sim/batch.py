# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
Many robots stepped at once by mujoco.rollout.

The physics is that of :class:`sim.walking.Walking` to the bit. Robots that fell or ran
out of time start anew by themselves: act on :attr:`WalkingBatch.obs`, learn from
:attr:`BatchStep.obs`, which still shows how an episode ended.
"""

from __future__ import annotations

from collections.abc import Callable
import copy
import json
from typing import Any, NamedTuple

from lsiq_core.robot import RobotSpec
import mujoco
from mujoco import rollout
import numpy as np
import numpy.typing as npt
from sim.randomisation import apply_to_model, Conditions, next_push, NO_PUSH, Push, sample
from sim.robot import SPEED
from sim.walking import WalkingConfig, WalkingTask

Array = npt.NDArray[Any]
_CONTROL = mujoco.mjtState.mjSTATE_CTRL
_FORCES = mujoco.mjtState.mjSTATE_XFRC_APPLIED


class BatchStep(NamedTuple):
    """What one control step brought to N robots."""

    obs: Array  # [N, D], the successors, before any new start
    reward: Array  # [N]
    terminated: Array  # [N] bool
    truncated: Array  # [N] bool


class WalkingBatch(WalkingTask):
    """N independent robots on flat ground."""

    def __init__(
        self,
        num_envs: int,
        robot: RobotSpec | str = 'atlas',
        config: WalkingConfig | None = None,
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
        :param robot: its file, or its name or path.
        :param config: the settings of every robot.
        :param reset_frames: [F, D] kinematic observations to start from.
        :param on_reset: called with a robot's number and the generator, returns the
            kinematic observation it starts at; instead of start or frames.
        :param auto_reset: start anew whatever ended.
        :param seed: of everything random here.
        :param threads: of the physics; 0 steps in the calling thread.
        """
        super().__init__(robot, config, reset_frames)
        self.num_envs = num_envs
        self.on_reset = on_reset
        self.auto_reset = auto_reset
        self._build(threads)
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
        reward = self.metrics(self._sensors[:, SPEED])
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
        if self._changes_model:
            for model, conditions in zip(self._models, self._conditions):
                apply_to_model(model, self._nominal, conditions)

    def close(self) -> None:
        """End the physics threads."""
        self._rollout.close()

    # -- the readings ----------------------------------------------------------------------

    @property
    def lateral_m(self) -> Array:
        """Return how far left of its starting line each base is, [N]."""
        return self._qpos[:, self.robot.base_qpos + 1]

    @property
    def forward_m(self) -> Array:
        """Return how far each base has come, [N]."""
        return self._qpos[:, self.robot.base_qpos]

    def kinematic(self) -> Array:
        """Return the exact kinematic observations, [N, D]."""
        return self._kinematic.read()

    # -- underneath ------------------------------------------------------------------------

    def _build(self, threads: int) -> None:
        model = self._nominal = self.robot.model
        self._models = [model] * self.num_envs
        if self._changes_model:
            self._models = [copy.copy(model) for _ in range(self.num_envs)]
        # Rollout shares its robots among this many scratch simulations.
        self._scratch = [mujoco.MjData(model) for _ in range(max(1, threads))]
        self._rollout = rollout.Rollout(nthread=threads)
        self._substeps = self.robot.substeps
        # The state that rollout takes and gives: time, positions, velocities.
        size = 1 + model.nq + model.nv
        self._state = np.zeros((self.num_envs, size))
        self._qpos = self._state[:, 1 : 1 + model.nq]
        self._qvel = self._state[:, 1 + model.nq :]
        self._sensors = np.zeros((self.num_envs, model.nsensordata))
        arrays = (self._qpos, self._qvel, self._sensors)
        self._reader = self.robot.reader(self.config.observation, *arrays)
        self._kinematic = self.robot.reader('kinematic', *arrays)
        self._trace = np.zeros((self.num_envs, self._substeps, size))
        self._sensor_trace = np.zeros((self.num_envs, self._substeps, model.nsensordata))
        self._conditions = [Conditions()] * self.num_envs
        self._pushes = [NO_PUSH] * self.num_envs
        self._commands = np.tile(self.robot.rest, (2, self.num_envs, 1))

    def _start(self, index: int) -> None:
        conditions = sample(self.randomisation, self._rng, self._nominal.opt.timestep)
        self._conditions[index] = conditions
        model = self._nominal
        if self._changes_model:
            model = self._models[index]
            apply_to_model(model, self._nominal, conditions)
        if self.randomisation.pushes:
            self._pushes[index] = next_push(self.randomisation, self._rng, 0.0)
        if self.on_reset is None:
            qpos, qvel = self._starts.draw(self._rng)
        else:
            qpos, qvel = self.robot.split(self.on_reset(index, self._rng))
        self._state[index] = np.concatenate(((0.0,), qpos, qvel))
        self.steps[index] = 0
        held = max(c.delay_steps for c in self._conditions) // self._substeps + 2
        missing = max(0, held - len(self._commands))
        self._commands = np.pad(self._commands, ((0, missing), (0, 0), (0, 0)))
        self._commands[:, index] = self.robot.rest
        data = self._scratch[0]
        mujoco.mj_resetData(model, data)
        data.qpos[:], data.qvel[:] = qpos, qvel
        mujoco.mj_forward(model, data)
        self._sensors[index] = data.sensordata

    def _schedule(self, commands: Array) -> tuple[Array, mujoco.mjtState]:
        """Spread the commands over the physics steps: late, weaker and pushed where asked."""
        scale = np.array([self._command_scale(conditions) for conditions in self._conditions])
        delay = np.array([conditions.delay_steps for conditions in self._conditions])
        self._commands = np.roll(self._commands, 1, axis=0)
        self._commands[0] = commands * scale[:, None]
        substep = np.arange(self._substeps)
        age = -((substep[None, :] - delay[:, None]) // self._substeps)  # in control periods
        control = self._commands[age, np.arange(self.num_envs)[:, None]]
        if not self.randomisation.pushes:
            return control, _CONTROL
        forces = np.zeros((self.num_envs, self._substeps, self._nominal.nbody, 6))
        for index, time_s in enumerate(self._state[:, 0]):
            if time_s >= self._pushes[index].end_s:
                self._pushes[index] = next_push(self.randomisation, self._rng, time_s)
            forces[index, :, self.robot.pushed_body, :3] = self._pushes[index].at(time_s)
        flat = forces.reshape(self.num_envs, self._substeps, -1)
        return np.concatenate((control, flat), axis=-1), _CONTROL | _FORCES

    def _read(self) -> Array:
        return self._reader.read()

    def _noisy(self, obs: Array) -> Array:
        if self._noise_std is None:
            return obs
        return obs + self._noise_std * self._rng.standard_normal(obs.shape)

    def _fallen(self) -> Array:
        pose = self._reader.pose
        standing = ((self._low <= pose) & (pose <= self._high)).all(axis=1)
        standing &= np.cos(pose[:, 1]) * np.cos(pose[:, 2]) >= self._upright
        return np.logical_not(standing & np.isfinite(self._qpos).all(axis=1))
