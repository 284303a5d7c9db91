# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
Worlds that differ from the MJCF: drawn anew for every episode.

Everything here is for N robots; one robot alone is N = 1. So single and batched stepping cannot
differ in what a range of the robot's file means.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
import math
from typing import Any

from lsiq_core.robot import Randomisation, reading_errors, RobotError
from lsiq_core.types import Array, Term
import mujoco
import numpy as np
from sim.robot import MujocoRobot


@dataclass(frozen=True)
class Conditions:
    """The world of one episode."""

    mass_scale: float = 1.0
    friction: float = math.nan  # not a number: the model's own
    joint_friction: float = 0.0
    joint_damping: float = 0.0
    armature: float = 0.0
    torque_scale: float = 1.0
    delay_steps: int = 0
    jitter_steps: int = 0
    observation_delay_steps: int = 0
    slope_x_rad: float = 0.0  # positive: uphill where the robot walks
    slope_y_rad: float = 0.0  # positive: uphill to its left
    com_offset_m: Array = field(default_factory=lambda: np.zeros(3))
    bias: Array = field(default_factory=lambda: np.zeros(0))  # [terms], on what is observed
    noise: Array = field(default_factory=lambda: np.zeros(0))  # [terms], standard deviation

    def as_array(self) -> Array:
        """Return the values for a saved state."""
        values = [np.ravel(getattr(self, part.name)) for part in fields(self)]
        return np.concatenate(values).astype(np.float64)

    @classmethod
    def from_array(cls, values: Array) -> Conditions:
        """Take the values back."""
        named: dict[str, Any] = {}
        scalars = [part for part in fields(cls) if part.type != 'Array']
        for part, value in zip(scalars, values.tolist()):
            named[part.name] = int(value) if part.type == 'int' else value
        rest = np.array(values[len(scalars) :])
        bias, noise = np.split(rest[3:], 2)
        return cls(**named, com_offset_m=rest[:3], bias=bias, noise=noise)


class Sensors:
    """What is wrong with the readings of these terms."""

    def __init__(
        self, ranges: Randomisation, terms: Sequence[Term], joints: Sequence[str]
    ) -> None:
        self._errors = reading_errors(ranges, terms)
        at = {term.name: column for column, term in enumerate(terms)}
        self._roll, self._pitch = at['base/roll'], at['base/pitch']
        self.encoders = np.array([at[f'{joint}/position'] for joint in joints])
        self.size = len(terms)

    def draw(
        self, rng: np.random.Generator, slope_x_rad: float, slope_y_rad: float
    ) -> tuple[Array, Array]:
        """Draw what is constant in an episode: bias and standard deviation, [terms] each."""
        bias, noise = np.zeros((2, self.size))
        for columns, deviation, largest in self._errors.values():
            noise[columns] = _draw(rng, deviation)
            if largest[1] > 0:
                bias[columns] = _draw(rng, largest) * rng.uniform(-1, 1, len(columns))
        # The world is tilted by its gravity, so the floor is level in it. Roll and pitch are
        # measured against gravity, as an IMU does.
        bias[self._pitch] -= slope_x_rad
        bias[self._roll] += slope_y_rad
        return bias, noise


def sample(
    ranges: Randomisation, rng: np.random.Generator, timestep_s: float, sensors: Sensors
) -> Conditions:
    """Draw the conditions of one episode."""

    def steps(limits: tuple[float, float]) -> int:
        return round(_draw(rng, limits) / (1000 * timestep_s))

    slope_x, slope_y = _direction(rng, ranges.slope_rad)
    bias, noise = sensors.draw(rng, slope_x, slope_y)
    offset = np.zeros(3)
    if ranges.com_offset_m[1] > 0:
        offset = rng.standard_normal(3)
        offset *= _draw(rng, ranges.com_offset_m) / np.linalg.norm(offset)
    return Conditions(
        mass_scale=_draw(rng, ranges.mass_scale),
        friction=math.nan if ranges.friction is None else _draw(rng, ranges.friction),
        joint_friction=_draw(rng, ranges.joint_friction),
        joint_damping=_draw(rng, ranges.joint_damping),
        armature=_draw(rng, ranges.armature),
        torque_scale=_draw(rng, ranges.torque_scale),
        delay_steps=steps(ranges.delay_ms),
        jitter_steps=steps(ranges.delay_jitter_ms),
        observation_delay_steps=steps(ranges.observation_delay_ms),
        slope_x_rad=slope_x,
        slope_y_rad=slope_y,
        com_offset_m=offset,
        bias=bias,
        noise=noise,
    )


class Pushes:
    """Forces on the upper bodies of N robots, each for a while; columns start, end, x, y."""

    def __init__(self, ranges: Randomisation, num: int) -> None:
        self._ranges = ranges
        self.values = np.full((num, 4), math.inf)

    def start(self, index: int, now_s: float, rng: np.random.Generator) -> None:
        """Draw when, how hard and where to the next push of a robot goes."""
        begin = now_s + _draw(rng, self._ranges.push_every_s)
        end = begin + _draw(rng, self._ranges.push_duration_s)
        self.values[index] = begin, end, *_direction(rng, self._ranges.push_n)

    def at(self, times_s: Array, rng: np.random.Generator) -> Array:
        """Return the forces that act now, [N, 3] in the world frame."""
        for index in np.flatnonzero(times_s >= self.values[:, 1]):
            self.start(int(index), float(times_s[index]), rng)
        forces = np.zeros((len(times_s), 3))
        now = times_s >= self.values[:, 0]
        forces[now, :2] = self.values[now, 2:]
        return forces


class LateCommands:
    """
    Commands of N robots on their way to the motors.

    A command is sent every so many physics steps and comes some steps later. The newest that
    has come acts; one that is overtaken never does.
    """

    def __init__(self, num: int, rest: Array, every: int, latest: int) -> None:
        """
        Begin with nothing sent.

        :param rest: [A], what acts before the first command comes.
        :param every: physics steps from command to command.
        :param latest: the largest delay in physics steps.
        """
        held = -(-latest // every) + 1
        self._rest = rest
        self._robots = np.arange(num)[:, None]
        # How many steps after the start of a period each command must have been sent.
        self._waited = np.arange(every)[:, None] + every * np.arange(held)
        self.commands = np.tile(rest, (held, num, 1))  # newest first
        self.delays = np.zeros((held, num), np.int64)

    def start(self, index: int) -> None:
        """Forget what a robot was sent."""
        self.commands[:, index] = self._rest
        self.delays[:, index] = 0

    def send(self, commands: Array, delays: Array) -> Array:
        """
        Send commands and return what acts in the physics steps until the next ones.

        :param commands: [N, A].
        :param delays: [N] in physics steps.
        :return: [N, every, A].
        """
        self.commands[1:], self.delays[1:] = self.commands[:-1], self.delays[:-1]
        self.commands[0], self.delays[0] = commands, delays
        come = self._waited[None] >= self.delays.T[:, None, :]
        return self.commands[come.argmax(axis=-1), self._robots]


class PdTorques:
    """The torque of PD targets, computed outside of the physics so that it can be late."""

    def __init__(self, robot: MujocoRobot) -> None:
        model = robot.model
        self._qpos, self._qvel = robot.joint_qpos, robot.joint_qvel
        self._stiffness = model.actuator_gainprm[:, 0].copy()
        self._damping = -model.actuator_biasprm[:, 2]
        self._low, self._high = model.actuator_forcerange.T.copy()

    def __call__(self, targets: Array, qpos: Array, qvel: Array, scale: Array) -> Array:
        """Return the torques at these states, [N, A]; the encoders' errors are in the targets."""
        error = targets - qpos[:, self._qpos]
        torque = self._stiffness * error - self._damping * qvel[:, self._qvel]
        return scale[:, None] * np.clip(torque, self._low, self._high)


class PastStates:
    """The physics states of N robots in the last steps, newest last."""

    def __init__(self, num: int, size: int, oldest: int) -> None:
        self.states = np.zeros((num, oldest + 1, size))
        self._robots = np.arange(num)

    def start(self, index: int, state: Array) -> None:
        """Let it be that a robot was always in this state."""
        self.states[index] = state

    def add(self, trace: Array) -> None:
        """Add what the physics steps of one control period went through, [N, S, size]."""
        held = self.states.shape[1]
        self.states = np.concatenate((self.states, trace), axis=1)[:, -held:]

    def at(self, ages: Array) -> Array:
        """Return each robot's state so many steps ago, [N, size]."""
        return self.states[self._robots, self.states.shape[1] - 1 - ages]


class Worlds:
    """The worlds of N robots, and what is under way in them."""

    def __init__(
        self, robot: MujocoRobot, ranges: Randomisation, terms: Sequence[Term], num: int
    ) -> None:
        self._robot, self._ranges = robot, ranges
        self._sensors = Sensors(ranges, terms, robot.joints)
        model = robot.model
        drives = robot.action != 'torque'
        self.late_torque = drives and ranges.late_ms > 0
        # Weaker or later PD drives are another model, weaker motors another command.
        self.changes_model = ranges.changes_model or (
            drives and (ranges.torque_scale != (1, 1) or self.late_torque or self._off)
        )
        self.changes_readings = ranges.changes_readings
        self.keeps_states = ranges.observation_delay_ms[1] > 0
        self.keeps_commands = not (
            ranges.late_ms > 0
            or ranges.pushes
            or self.keeps_states
            or (self._off if drives else ranges.torque_scale != (1, 1))
        )
        self.conditions = [Conditions()] * num
        self.torque_scale = np.ones(num)
        self.late = np.zeros(num, bool)
        self.observation_delay, self._delay, self._jitter = np.zeros((3, num), np.int64)
        self._bias, self._noise = np.zeros((2, num, len(terms)))
        self.pushes = Pushes(ranges, num)
        latest = self._steps(ranges.delay_ms) + self._steps(ranges.delay_jitter_ms)
        if self.late_torque:
            self.on_the_way = LateCommands(num, np.zeros(model.nu), 1, latest)
            self.torques = PdTorques(robot)
        else:
            self.on_the_way = LateCommands(num, robot.rest, robot.substeps, latest)
        size = model.nq + model.nv + model.nsensordata
        self.past = PastStates(num, size, self._steps(ranges.observation_delay_ms))

    @property
    def _off(self) -> bool:
        return self._ranges.encoder_offset_rad[1] > 0

    def draw(self, index: int, rng: np.random.Generator) -> Conditions:
        """Draw a new world for a robot."""
        timestep = self._robot.model.opt.timestep
        conditions = sample(self._ranges, rng, timestep, self._sensors)
        self._put(index, conditions)
        if self._ranges.pushes:
            self.pushes.start(index, 0.0, rng)
        self.on_the_way.start(index)
        return conditions

    def apply(
        self,
        index: int,
        model: mujoco.MjModel,
        nominal: mujoco.MjModel,
        data: mujoco.MjData,
    ) -> None:
        """Write a robot's world into its model; ``data`` is overwritten."""
        if not self.changes_model:
            return
        conditions, robot = self.conditions[index], self._robot
        model.body_mass[:] = nominal.body_mass * conditions.mass_scale
        model.body_inertia[:] = nominal.body_inertia * conditions.mass_scale
        upper = robot.pushed_body
        model.body_ipos[upper] = nominal.body_ipos[upper] + conditions.com_offset_m
        if not math.isnan(conditions.friction):
            model.geom_friction[:, 0] = conditions.friction  # the larger of sole and floor counts
        dofs = robot.joint_qvel
        torque = np.array(
            [max(-joint.effort_low_nm, joint.effort_high_nm) for joint in robot.facts]
        )
        inertia = nominal.dof_M0[dofs] - nominal.dof_armature[dofs]
        for name, added in (
            ('dof_frictionloss', conditions.joint_friction * torque),
            ('dof_damping', conditions.joint_damping * torque),
            ('dof_armature', conditions.armature * inertia),
        ):
            getattr(model, name)[dofs] = getattr(nominal, name)[dofs] + added
        down = np.array([-math.tan(conditions.slope_x_rad), -math.tan(conditions.slope_y_rad), -1])
        model.opt.gravity[:] = np.linalg.norm(nominal.opt.gravity) * down / np.linalg.norm(down)
        if robot.action != 'torque':
            self._apply_to_drives(model, nominal, conditions)
        mujoco.mj_setConst(model, data)

    def _apply_to_drives(
        self, model: mujoco.MjModel, nominal: mujoco.MjModel, conditions: Conditions
    ) -> None:
        """Make PD drives weaker; where the torque is late, make them take torques."""
        if not self.keeps_commands:
            model.actuator_ctrllimited[:] = 0  # they are clipped before they are changed
        for name in ('actuator_gainprm', 'actuator_biasprm', 'actuator_forcerange'):
            getattr(model, name)[:] = getattr(nominal, name) * conditions.torque_scale
        if conditions.delay_steps or conditions.jitter_steps:
            model.actuator_gainprm[:, 0] = 1.0
            model.actuator_biasprm[:] = 0.0

    def received(self, commands: Array) -> Array:
        """Return commands [N, A] as the drives take them: weaker, or by their own encoders."""
        if self._robot.action == 'torque':
            return commands * self.torque_scale[:, None]
        return commands - self._bias[:, self._sensors.encoders]

    def delays(self, rng: np.random.Generator) -> Array:
        """Draw how late the next command of each robot comes, [N] in physics steps."""
        if self._jitter.any():
            return self._delay + rng.integers(0, self._jitter + 1)
        return self._delay

    def sensed(self, readings: Array, rng: np.random.Generator) -> Array:
        """Return exact readings [N, terms] as the sensors give them."""
        return readings + self._bias + self._noise * rng.standard_normal(readings.shape)

    def state(self) -> dict[str, Array]:
        """Return all that a continuation needs, as plain arrays."""
        return {
            'conditions': np.stack([conditions.as_array() for conditions in self.conditions]),
            'pushes': self.pushes.values.copy(),
            'commands': self.on_the_way.commands.copy(),
            'delays': self.on_the_way.delays.copy(),
            'past': self.past.states.copy(),
        }

    def restore(self, state: dict[str, Array]) -> None:
        """Continue where :meth:`state` was taken."""
        conditions = np.atleast_2d(state['conditions'])
        if 'past' not in state or conditions.shape[1] != len(self.conditions[0].as_array()):
            raise RobotError(
                f'{self._robot.spec.name}: the saved simulation is of an earlier version, whose '
                'worlds differed in less: the run can be evaluated, not resumed'
            )
        for index, row in enumerate(conditions):
            self._put(index, Conditions.from_array(row))
        self.pushes.values = np.array(state['pushes'])
        self.on_the_way.commands = np.array(state['commands'])
        self.on_the_way.delays = np.array(state['delays'])
        self.past.states = np.array(state['past'])

    def _put(self, index: int, conditions: Conditions) -> None:
        """Lay a robot's conditions out by column: what every step needs of all robots."""
        self.conditions[index] = conditions
        self.torque_scale[index] = conditions.torque_scale
        self._delay[index], self._jitter[index] = conditions.delay_steps, conditions.jitter_steps
        self.late[index] = conditions.delay_steps + conditions.jitter_steps > 0
        self.observation_delay[index] = conditions.observation_delay_steps
        self._bias[index], self._noise[index] = conditions.bias, conditions.noise

    def _steps(self, limits: tuple[float, float]) -> int:
        return round(limits[1] / (1000 * self._robot.model.opt.timestep))


def _draw(rng: np.random.Generator, limits: tuple[float, float]) -> float:
    low, high = limits
    return float(rng.uniform(low, high)) if low < high else float(low)


def _direction(rng: np.random.Generator, limits: tuple[float, float]) -> tuple[float, float]:
    """Draw a size and a horizontal direction."""
    if limits[1] == 0:
        return 0.0, 0.0
    size, angle = _draw(rng, limits), rng.uniform(0, 2 * np.pi)
    return size * math.cos(angle), size * math.sin(angle)
