# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
The tasks by name, and what a sim node shows of them.

A robot's readings go onto the state topics; any other task of ``sim.registry`` runs too, in
lock-step, with nothing there but the clock.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TYPE_CHECKING

from lsiq_core.env import Env
from lsiq_core.errors import TaskError
from lsiq_core.robot import RobotSpec
from lsiq_core.types import names
from lsiq_ros.wire.base import (
    BaseOdometry,
    BaseReadings,
    FramePose,
    odometry_from_readings,
)
from lsiq_ros.wire.messages import BASE_FRAME
import numpy as np
import numpy.typing as npt
import sim

if TYPE_CHECKING:  # the command line must start on a robot without a simulator
    from sim.walking import Walking

Array = npt.NDArray[np.float64]
MOST_STATES_HZ = 500.0  # of a robot whose PD targets are closed outside


class RobotReadings(NamedTuple):
    """One instant of a robot, in the order of its joints and soles."""

    positions_rad: Array
    velocities_rad_s: Array
    efforts_nm: Array
    base: BaseOdometry
    forces_n: Array  # [soles, 3], along the axes of odom


@dataclass(frozen=True)
class SimTask:
    """An env and what the sim node shows of it."""

    env: Env
    joints: tuple[str, ...] = ()
    soles: tuple[str, ...] = ()
    start_names: tuple[str, ...] = ()
    start_at: Callable[[Array], Array] | None = None
    read: Callable[[], RobotReadings] | None = None
    frames: Callable[[], Sequence[FramePose]] = tuple


def make_env(task: str | RobotSpec, options: Mapping[str, Any] | None = None) -> Env:
    """Make a task by name; an unknown name or option is the user's error."""
    try:
        env: Env = sim.make(task, **(options or {}))
    except sim.UnknownTaskError as error:
        raise TaskError(str(error)) from error
    except (TypeError, ValueError) as error:
        name = task if isinstance(task, str) else task.name
        raise TaskError(f'task {name}: {error}') from error
    return env


def driven_by_torque(robot: RobotSpec) -> RobotSpec:
    """
    Return a robot as it is on the effort topic: commanded by torque.

    Whoever follows PD targets closes the loop outside, from the states. So they come as often as
    physics gives them, up to 500 times a second.
    """
    if robot.control.action == 'torque':
        return robot
    from sim.mjcf import compile_robot

    timestep_s = float(compile_robot(robot, forces=False).model.opt.timestep)
    steps = max(1, round(1 / (robot.control.rate_hz * timestep_s)))  # of physics in a period
    fitting = [n for n in range(1, steps + 1) if steps % n == 0]
    each = next((n for n in fitting if n * timestep_s * MOST_STATES_HZ > 0.999), steps)
    periods = steps // each
    control = {'action': 'torque', 'rate_hz': robot.control.rate_hz * periods}
    task = {'max_episode_steps': robot.task.max_episode_steps * periods}
    return robot.model_copy(
        update={
            'control': robot.control.model_copy(update=control),
            'task': robot.task.model_copy(update=task),
        }
    )


def make_task(name: str | RobotSpec, options: Mapping[str, Any] | None = None) -> SimTask:
    """
    Make a task by name, or of a robot, and what a sim node shows of it.

    :param options: as ``task_options`` of a run has them.
    """
    from sim.walking import Walking

    env: Any = make_env(name, options)
    return _robot_task(env) if isinstance(env, Walking) else SimTask(env)


def _sensed(env: Walking) -> RobotReadings:
    """Return what the sensors gave last: late, wrong and with noise."""
    from sim.robot import kinematic_columns

    robot, values = env.robot, env.sensed
    columns = kinematic_columns(robot.kinematic_size)
    at = robot.base_qpos
    place = env.data.qpos[at : at + 2].tolist()
    base = (*place, *values[columns.pose].tolist(), *values[columns.twist].tolist())
    return RobotReadings(
        positions_rad=values[columns.positions],
        velocities_rad_s=values[columns.velocities],
        efforts_nm=env.efforts_nm,
        base=odometry_from_readings(BaseReadings(*base)),
        forces_n=values[robot.kinematic_size :].reshape(-1, 3),
    )


def _robot_task(env: Walking) -> SimTask:
    from sim.robot import FIRST_FORCE

    robot, data = env.robot, env.data
    positions, velocities = robot.joint_qpos, robot.joint_qvel

    def read() -> RobotReadings:
        if env.sensed.size:  # sensors that err
            return _sensed(env)
        return RobotReadings(
            positions_rad=data.qpos[positions],
            velocities_rad_s=data.qvel[velocities],
            efforts_nm=env.efforts_nm,
            base=robot.base_state(data),
            forces_n=data.sensordata[FIRST_FORCE:].reshape(-1, 3),
        )

    def frames() -> list[FramePose]:
        return [
            FramePose(BASE_FRAME, name, tuple(place.tolist()), tuple(turn.tolist()))
            for name, (place, turn) in robot.frames(data).items()
        ]

    return SimTask(
        env=env,
        joints=env.joints,
        soles=robot.soles,
        start_names=names(robot.terms('kinematic')),
        start_at=env.reset_to,
        read=read,
        frames=frames,
    )
