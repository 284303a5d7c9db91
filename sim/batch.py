# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
Many robots stepped at once by mujoco.rollout.

The physics is that of :class:`sim.walking.Walking` to the bit.
"""

from __future__ import annotations

from collections.abc import Callable
import copy
from typing import NamedTuple

from lsiq_core.robot import RobotSpec
from lsiq_core.types import Array
import mujoco
from mujoco import rollout
import numpy as np
from sim.robot import SPEED
from sim.walking import WalkingConfig, WalkingTask

_CONTROL = mujoco.mjtState.mjSTATE_CTRL
_FORCES = mujoco.mjtState.mjSTATE_XFRC_APPLIED


class BatchStep(NamedTuple):
    """What one control step brought to N robots."""

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
        :param seed: of everything random here.
        :param threads: of the physics; 0 steps in the calling thread.
        """
        super().__init__(num_envs, robot, config, reset_frames, drawn=False)
        self.num_envs = num_envs
        self.on_reset = on_reset
        self._moving: Array | None = None
        self._build(threads)
        self._rng = np.random.default_rng(seed)
        self.steps = np.zeros(num_envs, np.int64)  # taken since each robot's start
        self.obs = np.zeros((num_envs, len(self.observation_terms)))
        self.reset_where(np.ones(num_envs, bool))

    # -- the task --------------------------------------------------------------------------

    def reset_where(self, mask: Array) -> None:
        """Start the marked robots anew."""
        for index in np.flatnonzero(mask):
            self._start(int(index))
        fresh = self._observe(self._reader.read())
        self.obs = np.where(mask[:, None], fresh, self.obs)

    def step(self, actions: Array, moving: Array | None = None) -> BatchStep:
        """
        Hold each robot's torques for one control period.

        :param actions: [N, A] in N m, clipped to the motors' limits.
        :param moving: [N] bool, which robots; the others stay as they are. None: all.
        """
        commands = np.clip(actions, self.action_low, self.action_high)
        self._moving = None if moving is None or moving.all() else np.flatnonzero(moving)
        self._advance(commands)
        self.steps += 1 if moving is None else moving
        obs = self._reader.read()
        terminated = self._fallen()
        broken = terminated & ~np.isfinite(obs).all(axis=1)
        obs = self._observe(obs)
        obs[broken] = self.obs[broken]
        truncated = ~terminated & (self.steps >= self.max_episode_steps)
        reward = self.metrics(self._sensors[:, SPEED])
        self.obs = obs
        return BatchStep(reward, terminated, truncated)

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

    @property
    def fastest(self) -> Array:
        """Return the largest speed of each joint in the physics steps of the last period."""
        first = 1 + self._nominal.nq
        speeds: Array = np.abs(self._trace[..., first + self.robot.joint_qvel]).max(axis=1)
        return speeds

    def exact(self) -> Array:
        """Return the observations as they are, whatever the sensors say, [N, D]."""
        return self._reader.read()

    def kinematic(self) -> Array:
        """Return the exact kinematic observations, [N, D]."""
        return self._kinematic.read()

    # -- underneath ------------------------------------------------------------------------

    def _build(self, threads: int) -> None:
        model = self._nominal = self.robot.model
        self._models = [model] * self.num_envs
        if self._worlds.changes_model:
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
        # What the sensors see is a copy: it may be old.
        self._seen = tuple(np.zeros_like(array) for array in arrays)
        self._seen_reader = self.robot.reader(self._everything, *self._seen)

    def _start(self, index: int) -> None:
        self._worlds.draw(index, self._rng)
        model = self._models[index]
        self._worlds.apply(index, model, self._nominal, self._scratch[0])
        if self.on_reset is None:
            qpos, qvel = self._starts.draw(self._rng)
        else:
            qpos, qvel = self.robot.split(self.on_reset(index, self._rng))
        self._state[index] = np.concatenate(((0.0,), qpos, qvel))
        self.steps[index] = 0
        data = self._scratch[0]
        mujoco.mj_resetData(model, data)
        data.qpos[:], data.qvel[:] = qpos, qvel
        mujoco.mj_forward(model, data)
        self._sensors[index] = data.sensordata
        self._worlds.past.start(index, np.concatenate((qpos, qvel, data.sensordata)))

    def _advance(self, commands: Array) -> None:
        """Move all robots on by one control period."""
        worlds, substeps = self._worlds, self._substeps
        forces = None
        if worlds.keeps_commands:
            control = np.repeat(commands[:, None], substeps, axis=1)
        else:
            if self.randomisation.pushes:
                forces = worlds.pushes.at(self._state[:, 0], self._rng)
            received, delays = worlds.received(commands), worlds.delays(self._rng)
            if worlds.late_torque:
                self._advance_late_torques(received, delays, forces)
                return
            control = worlds.on_the_way.send(received, delays)
        self._run(control, forces, self._trace, self._sensor_trace)
        self._remember()

    def _advance_late_torques(self, targets: Array, delays: Array, forces: Array | None) -> None:
        """Close the loop of the drives here, so that what comes of it can be late."""
        worlds, trace, sensors = self._worlds, self._trace, self._sensor_trace
        one = np.empty((self.num_envs, 1, trace.shape[-1]))
        read = np.empty((self.num_envs, 1, sensors.shape[-1]))
        for step in range(self._substeps):
            torque = worlds.torques(targets, self._qpos, self._qvel, worlds.torque_scale)
            late = worlds.on_the_way.send(torque, delays)
            # A drive that is not late closes its loop in the physics, as in the bare model.
            control = np.where(worlds.late[:, None, None], late, targets[:, None])
            self._run(control, forces, one, read)
            trace[:, step], sensors[:, step] = one[:, 0], read[:, 0]
        self._remember()

    def _run(self, control: Array, forces: Array | None, trace: Array, sensors: Array) -> None:
        """Take so many physics steps as there are controls, [N, S, A]."""
        spec = int(_CONTROL)
        if forces is not None:
            applied = np.zeros((*control.shape[:2], self._nominal.nbody, 6))
            applied[:, :, self.robot.pushed_body, :3] = forces[:, None]
            control = np.concatenate((control, applied.reshape(*control.shape[:2], -1)), axis=-1)
            spec = int(_CONTROL | _FORCES)
        who, models, state = self._moving, self._models, self._state
        if who is not None and not len(who):
            return  # rollout crashes without a robot
        if who is not None:  # the rest costs nothing
            models, state, control = [models[i] for i in who], state[who], control[who]
            whole, whole_sensors = trace, sensors
            trace, sensors = trace[who], sensors[who]
        self._rollout.rollout(
            models,
            self._scratch,
            state,
            control,
            control_spec=spec,
            skip_checks=True,
            nstep=control.shape[1],
            state=trace,
            sensordata=sensors,
        )
        if who is None:
            self._state[:], self._sensors[:] = trace[:, -1], sensors[:, -1]
        else:
            whole[who], whole_sensors[who] = trace, sensors
            self._state[who], self._sensors[who] = trace[:, -1], sensors[:, -1]

    def _remember(self) -> None:
        if self._worlds.keeps_states:
            self._worlds.past.add(np.concatenate((self._trace[..., 1:], self._sensor_trace), -1))

    def _observe(self, exact: Array) -> Array:
        """Return what the sensors give instead of these observations."""
        worlds = self._worlds
        if not worlds.changes_readings:
            return exact
        now: tuple[Array, ...] = (self._qpos, self._qvel, self._sensors)
        if worlds.keeps_states:
            ends = np.cumsum([array.shape[-1] for array in now])[:-1]
            now = tuple(np.split(worlds.past.at(worlds.observation_delay), ends, axis=-1))
        for seen, values in zip(self._seen, now):
            seen[:] = values
        return worlds.sensed(self._seen_reader.read(), self._rng)[:, self._observed]

    def _fallen(self) -> Array:
        standing = self._bounds.contain(self._reader.pose)
        return np.logical_not(standing & np.isfinite(self._qpos).all(axis=1))
