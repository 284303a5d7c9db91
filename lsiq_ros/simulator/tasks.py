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
from typing import Any, NamedTuple

from lsiq_core.env import Env
from lsiq_core.errors import TaskError
from lsiq_ros.wire.base import BaseOdometry, FramePose, odometry_from_chain, PelvisChain
import numpy as np
import numpy.typing as npt
import sim

Array = npt.NDArray[np.float64]


class RobotReadings(NamedTuple):
    """One instant of a robot, in the order of its joints and soles."""

    positions_rad: Array
    velocities_rad_s: Array
    efforts_nm: Array
    pelvis: BaseOdometry
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


def make_env(task: str, options: Mapping[str, Any] | None = None) -> Env:
    """Make a task by name; an unknown name or option is the user's error."""
    try:
        env: Env = sim.make(task, **(options or {}))
    except sim.UnknownTaskError as error:
        raise TaskError(str(error)) from error
    except (TypeError, ValueError) as error:
        raise TaskError(f'task {task}: {error}') from error
    return env


def make_task(name: str, options: Mapping[str, Any] | None = None) -> SimTask:
    """
    Make a task by name, and what a sim node shows of it.

    :param options: as ``task_options`` of a run has them.
    """
    env: Any = make_env(name, options)
    return _atlas(env) if name == 'atlas' else SimTask(env)


def _atlas(env: Any) -> SimTask:
    # Imported here so that a node for another robot does not need this one's packages.
    from lsiq_core.types import names
    from sim.atlas.readings import FIRST_FORCE, FIRST_JOINT, observation_terms
    from sim.atlas.table import SOLES

    start_names = names(observation_terms('kinematic', env.joints))
    soles = tuple(sole.name for sole in SOLES) if env.config.model.force_sensors else ()

    def read() -> RobotReadings:
        data = env.data
        forces = data.sensordata[FIRST_FORCE:].reshape(-1, 3)[: len(soles)]
        chain = PelvisChain(*data.qpos[:FIRST_JOINT].tolist(), *data.qvel[:FIRST_JOINT].tolist())
        return RobotReadings(
            positions_rad=data.qpos[FIRST_JOINT:],
            velocities_rad_s=data.qvel[FIRST_JOINT:],
            efforts_nm=env.efforts_nm,
            pelvis=odometry_from_chain(chain),
            forces_n=forces,
        )

    return SimTask(
        env=env,
        joints=env.joints,
        soles=soles,
        start_names=start_names,
        start_at=env.reset_to,
        read=read,
        frames=lambda: _atlas_frames(env),
    )


_SOLE_BELOW_ANKLE_M = (0.0, 0.0, -0.074119)  # the lower face of the foot's boxes
_SOLE_FRAMES = {'l_sole': 'l_talus', 'r_sole': 'r_talus'}


def _atlas_frames(env: Any) -> list[FramePose]:
    """Return the frames of REP-120 below base_link, which is the pelvis."""
    import mujoco

    data = env.data
    mujoco.mj_kinematics(env.model, data)  # a step leaves the poses one integration behind
    pelvis = data.body('pelvis')
    upright = pelvis.xmat.reshape(3, 3).T
    poses = []
    places = {'torso': (data.site('torso').xpos, data.site('torso').xmat)}
    for frame, link in _SOLE_FRAMES.items():
        body = data.body(link)
        place = body.xpos + body.xmat.reshape(3, 3) @ np.array(_SOLE_BELOW_ANKLE_M)
        places[frame] = (place, body.xmat)
    for frame, (place, matrix) in places.items():
        quaternion = np.empty(4)
        mujoco.mju_mat2Quat(quaternion, (upright @ matrix.reshape(3, 3)).ravel())
        w, x, y, z = quaternion.tolist()
        there = upright @ (place - pelvis.xpos)
        poses.append(FramePose('base_link', frame, tuple(there.tolist()), (x, y, z, w)))
    return poses
