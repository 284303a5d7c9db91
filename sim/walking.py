# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""The walking task: walk at the robot's speed and do not fall. One robot on flat ground."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import copy
from dataclasses import dataclass
import json
import math
from typing import Any

from lsiq_core.robot import load_robot, Randomisation, ranges_of, RobotSpec
from lsiq_core.types import Array, FallBounds, Step, Term
import mujoco
import numpy as np
from sim.randomisation import Worlds
from sim.reset_states import ResetStates
from sim.robot import MujocoRobot, SPEED

_STATE = mujoco.mjtState.mjSTATE_INTEGRATION
_SPEED_MPS = 1.0  # of the metric, where nobody says it
RENAMED = {  # options of 0.1
    'spec': ', it is called observation',
    'variations': ', it is called randomisation',
    'upper_body': ', a robot with more joints has a file of its own',
}


@dataclass(frozen=True)
class WalkingConfig:
    """What of the task can be chosen; else it is what the robot's file says."""

    observation: str = 'kinematic'  # one that the robot's file knows
    action: str | None = None  # torque or pd_target
    max_episode_steps: int | None = None
    start: str | None = None  # one of reset_states.STARTS
    falls: FallBounds | None = None
    randomisation: Randomisation | None = None  # None: the world as the MJCF has it
    speed_mps: float | None = None  # of the metric, where the robot's file has none


class WalkingTask:
    """What single and batched stepping share: names, limits, metric, falls, starts."""

    def __init__(
        self,
        num_envs: int,
        robot: RobotSpec | str,
        config: WalkingConfig | None,
        reset_frames: Array | None,
        drawn: bool,
    ) -> None:
        self.spec = load_robot(robot) if isinstance(robot, str) else robot
        self.config = config = config or WalkingConfig()
        self.robot = MujocoRobot(
            self.spec,
            forces='foot_forces' in self.spec.groups(config.observation),
            action=config.action,
            drawn=drawn,
        )
        self.name = self.spec.name
        self.rate_hz = self.spec.control.rate_hz
        self.joints = self.robot.joints
        self.observation_terms: Sequence[Term] = self.robot.terms(config.observation)
        self.action_terms: Sequence[Term] = self.robot.action_terms
        self.action_low, self.action_high = self.robot.action_low, self.robot.action_high
        self.pd_targets = self.robot.pd_targets
        self.max_episode_steps = config.max_episode_steps or self.spec.task.max_episode_steps
        self.randomisation = config.randomisation or Randomisation()
        self._starts = ResetStates(self.robot, reset_frames, start=config.start)
        # All that can be read off the robot, and which of it is observed.
        self._everything = 'full' if self.robot.soles else 'kinematic'
        terms = self.robot.terms(self._everything)
        self._worlds = Worlds(self.robot, self.randomisation, terms, num_envs)
        self._observed = [terms.index(term) for term in self.observation_terms]
        self._bounds = config.falls or self.spec.task.fall.bounds()
        wanted = (self.spec.task.speed_mps, config.speed_mps, _SPEED_MPS)
        self._speed = next(speed for speed in wanted if speed is not None)

    def metric(self, forward_velocity_mps: float) -> float:
        """Return the paper's r = exp(-(v - speed)^2) of the forward velocity."""
        return math.exp(-((forward_velocity_mps - self._speed) ** 2))

    def metrics(self, forward_velocity_mps: Array) -> Array:
        """Return :meth:`metric` of many robots; one that diverged gets nothing."""
        return np.nan_to_num(np.exp(-((forward_velocity_mps - self._speed) ** 2)))


class Walking(WalkingTask):
    """One robot: torques (or PD targets) in, observations out."""

    def __init__(
        self,
        robot: RobotSpec | str = 'atlas',
        config: WalkingConfig | None = None,
        *,
        reset_frames: Array | None = None,
        seed: int = 0,
        drawn: bool = True,
    ) -> None:
        """
        Build the robot and start an episode.

        :param robot: its file, or its name or path.
        :param config: the task's settings.
        :param reset_frames: [F, D] kinematic observations to start from; None starts where
            ``config.start`` says.
        :param seed: of everything random here.
        :param drawn: it can be looked at.
        """
        super().__init__(1, robot, config, reset_frames, drawn)
        self.model = self.robot.model
        self.data = mujoco.MjData(self.model)
        self._nominal, self._blank = copy.copy(self.model), mujoco.MjData(self.model)
        # Views into the simulation, taken once: asking for them again costs a microsecond.
        self._ctrl, self._sensors = self.data.ctrl, self.data.sensordata
        arrays = (self.data.qpos, self.data.qvel, self.data.sensordata)
        self._reader = self.robot.reader(self.config.observation, *arrays)
        self._kinematic = self.robot.reader('kinematic', *arrays)
        # What the sensors see is a copy: it may be old.
        self._seen = tuple(array.copy() for array in arrays)
        self._seen_reader = self.robot.reader(self._everything, *self._seen)
        self._trace = np.zeros((1, self.robot.substeps, self._worlds.past.states.shape[-1]))
        self._substeps = self.robot.substeps
        # Of plain numbers: one pose is compared faster by hand than by FallBounds.contain.
        self._low, self._high = self._bounds.low.tolist(), self._bounds.high.tolist()
        self._upright = self._bounds.upright
        self._rng = np.random.default_rng(seed)
        self._last_obs = np.zeros(len(self.observation_terms))
        self.sensed = np.zeros(0)  # all that the sensors gave last, where they err
        self.reset()

    # -- the task --------------------------------------------------------------------------

    def reset(self, *, seed: int | None = None) -> Array:
        """Start an episode; a seed restarts the task's own randomness."""
        if seed is not None:
            self._rng = np.random.default_rng(seed)
        self._draw_conditions()
        return self._start_at(*self._starts.draw(self._rng))

    def reset_to(self, obs: Array) -> Array:
        """
        Start an episode exactly at an observation.

        :param obs: [D] in the order of the ``kinematic`` terms, or of the ``full`` ones.
        """
        self._draw_conditions()
        return self._start_at(*self.robot.split(obs))

    def step(self, action: Array) -> Step:
        """Hold the command (N m, or rad for PD targets; clipped) for one control period."""
        if self._worlds.keeps_commands:
            self._ctrl[:] = action  # the motors of the model clip it
            mujoco.mj_step(self.model, self.data, self._substeps)
        else:
            self._step_varied(np.clip(action, self.action_low, self.action_high))
        self._steps += 1
        obs = self._reader.read()
        reward = self.metric(self._sensors.item(SPEED))
        fallen = self._fallen()
        if fallen and not np.isfinite(obs).all():
            # A diverged simulation leaves nothing to learn from.
            obs, reward = self._last_obs.copy(), 0.0
        elif self._worlds.changes_readings:
            obs = self._sense()
        self._last_obs = obs
        self._metric_total += reward
        return Step(obs, reward, fallen, self._steps >= self.max_episode_steps and not fallen)

    def episode_summary(self) -> dict[str, float]:
        """Return how the episode so far went: fallen or not, speed, metric per step."""
        return {
            'fall_rate': float(self._fallen()),
            'speed_mean_mps': float(self.data.qpos[self.robot.base_qpos]) / max(self.time_s, 1e-9),
            'metric_mean': self._metric_total / max(self._steps, 1),
        }

    def state(self) -> dict[str, Array]:
        """Return all that a bit-identical continuation needs, as plain arrays."""
        physics = np.empty(mujoco.mj_stateSize(self.model, _STATE))
        mujoco.mj_getState(self.model, self.data, physics, _STATE)
        return {
            'physics': physics,
            'steps': np.array(self._steps),
            **self._worlds.state(),
            'last_obs': self._last_obs.copy(),
            'metric_total': np.array(self._metric_total),
            'rng': np.frombuffer(
                json.dumps(self._rng.bit_generator.state).encode(), np.uint8
            ).copy(),
        }

    def restore(self, state: dict[str, Array]) -> None:
        """Continue where :meth:`state` was taken."""
        self._worlds.restore(state)
        self._change_model()
        mujoco.mj_resetData(self.model, self.data)
        mujoco.mj_setState(self.model, self.data, np.asarray(state['physics']), _STATE)
        self._reader.read()  # falls are told from the last reading
        self._steps = int(state['steps'])
        self._last_obs = np.array(state['last_obs'])
        self._metric_total = float(state['metric_total'])
        self._rng.bit_generator.state = json.loads(state['rng'].tobytes())

    def close(self) -> None:
        """Release nothing: the simulation holds memory alone."""

    # -- the readings ----------------------------------------------------------------------

    @property
    def place_m(self) -> Array:
        """Return where the base is on the floor, [2]."""
        return self.data.qpos[self.robot.base_qpos : self.robot.base_qpos + 2].copy()

    @property
    def time_s(self) -> float:
        """Return the simulated time since the reset."""
        return float(self.data.time)

    @property
    def efforts_nm(self) -> Array:
        """Return the torques that the motors gave in the last physics step, [A]."""
        return self.data.actuator_force.copy()

    def kinematic(self) -> Array:
        """Return the exact kinematic observation, whatever this task's own is."""
        return self._kinematic.read()

    # -- underneath ------------------------------------------------------------------------

    def _start_at(self, qpos: Array, qvel: Array) -> Array:
        mujoco.mj_resetData(self.model, self.data)
        self.data.qpos[:] = qpos
        self.data.qvel[:] = qvel
        mujoco.mj_forward(self.model, self.data)  # sensors read the start, too
        self._steps = 0
        self._metric_total = 0.0
        obs = self._reader.read()
        if self._worlds.changes_readings:
            self._worlds.past.start(0, self._physics())
            obs = self._sense()
        self._last_obs = obs
        return obs

    def _draw_conditions(self) -> None:
        self._worlds.draw(0, self._rng)
        self._change_model()

    def _change_model(self) -> None:
        self._worlds.apply(0, self.model, self._nominal, self._blank)

    def _physics(self) -> Array:
        return np.concatenate((self.data.qpos, self.data.qvel, self._sensors))

    def _sense(self) -> Array:
        """Observe as the sensors do: late, wrong and with noise."""
        worlds = self._worlds
        state = worlds.past.at(worlds.observation_delay)[0] if worlds.keeps_states else None
        first = 0
        for seen, now in zip(self._seen, (self.data.qpos, self.data.qvel, self._sensors)):
            last = first + len(seen)
            seen[:] = now if state is None else state[first:last]
            first = last
        self.sensed = worlds.sensed(self._seen_reader.read()[None], self._rng)[0]
        return self.sensed[self._observed]

    def _step_varied(self, command: Array) -> None:
        """Step with what differs from the model: late, weaker or pushed."""
        data, worlds = self.data, self._worlds
        if self.randomisation.pushes:
            force = worlds.pushes.at(np.array([data.time]), self._rng)[0]
            data.xfrc_applied[self.robot.pushed_body, :3] = force
        received, delays = worlds.received(command[None]), worlds.delays(self._rng)
        on_the_way = worlds.on_the_way
        if not worlds.late_torque:
            schedule = on_the_way.send(received, delays)[0]
        for step in range(self._substeps):
            if not worlds.late_torque:
                self._ctrl[:] = schedule[step]
            elif worlds.late[0]:
                torque = worlds.torques(
                    received, data.qpos[None], data.qvel[None], worlds.torque_scale
                )
                self._ctrl[:] = on_the_way.send(torque, delays)[0, 0]
            else:
                self._ctrl[:] = received[0]
            mujoco.mj_step(self.model, data)
            if worlds.keeps_states:
                self._trace[0, step] = self._physics()
        if worlds.keeps_states:
            worlds.past.add(self._trace)

    def _fallen(self) -> bool:
        """Return whether the base left its bounds; not-a-number counts as a fall."""
        height, roll, pitch, yaw = self._reader.one
        low, high = self._low, self._high
        return not (
            low[0] <= height <= high[0]
            and low[1] <= roll <= high[1]
            and low[2] <= pitch <= high[2]
            and low[3] <= yaw <= high[3]
            and (self._upright < -1 or math.cos(roll) * math.cos(pitch) >= self._upright)
        )


def make_walking(
    robot: RobotSpec | str,
    observation: str = 'kinematic',
    *,
    action: str | None = None,
    max_episode_steps: int | None = None,
    start: str | None = None,
    randomisation: Randomisation | Mapping[str, Any] | str | None = None,
    speed_mps: float | None = None,
    reset_frames: Array | None = None,
    seed: int = 0,
    **unknown: Any,
) -> Walking:
    """
    Make the walking task from plain options, as a configuration file has them; it is not drawn.

    :param robot: its file, or its name or path.
    :param observation: what is observed, by the names in the robot's file.
    :param action: ``torque`` or ``pd_target``.
    :param max_episode_steps: time limit, in control steps.
    :param start: one of ``sim.reset_states.STARTS``.
    :param randomisation: how worlds differ; a mapping names the fields of ``Randomisation``,
        ``robot`` stands for the ranges of the robot's file.
    :param speed_mps: of the metric, where the robot's file has none.
    :param reset_frames: [F, D] observed states that episodes start at.
    :param seed: of everything random.
    """
    for name in unknown:
        raise ValueError(f'no option {name!r}{RENAMED.get(name, "")}')
    spec = load_robot(robot) if isinstance(robot, str) else robot
    config = WalkingConfig(
        observation=observation,
        action=action,
        max_episode_steps=max_episode_steps,
        start=start,
        randomisation=ranges_of(spec, randomisation),
        speed_mps=speed_mps,
    )
    return Walking(spec, config, reset_frames=reset_frames, seed=seed, drawn=False)
