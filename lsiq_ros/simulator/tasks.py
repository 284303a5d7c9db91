# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
The tasks that a sim node can run, by name.

A robot joins by an entry in ``ROBOTS``: how its env is built, what an episode can be
started at, and how its readings are taken for the topics. Every other task of
``sim.registry`` runs too, in lock-step, with nothing on the state topics but the clock.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from lsiq_core.data import demonstrations
from lsiq_core.env import Env, starts_at_expert
from lsiq_core.errors import TaskError
from lsiq_core.shipped_files import find_file
from lsiq_ros.wire.base import odometry_from_chain, PelvisChain, PelvisOdometry
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class TaskSettings:
    """What the parameters of the sim node say of the task."""

    observation: str = 'full'
    start: str = 'stride'  # where episodes start that do not start at reset_frames
    seed: int = 0
    reset_frames: str = ''  # a demonstration file whose states episodes start from
    reset_share: float = 1.0  # share of the robots whose episodes start there
    delay_ms: float = 0.0  # until a command acts
    number: int = 0  # of this robot among those of its node
    max_episode_steps: int = 1000


class FramePose(NamedTuple):
    """Where a frame is in its parent."""

    parent: str
    child: str
    position_m: tuple[float, float, float]
    orientation_xyzw: tuple[float, float, float, float]


class RobotReadings(NamedTuple):
    """One instant of a robot, in the order of its joints and soles."""

    positions_rad: Array
    velocities_rad_s: Array
    efforts_nm: Array
    pelvis: PelvisOdometry
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


def make_task(name: str, settings: TaskSettings) -> SimTask:
    """Build a task by its name."""
    if name in ROBOTS:
        return ROBOTS[name](settings)
    from sim import registry

    try:
        return SimTask(registry.make(name))
    except registry.UnknownTaskError as error:
        raise TaskError(f'the sim node: {error}; robots are {sorted(ROBOTS)}') from error


def _atlas(settings: TaskSettings, *, upper_body: bool = False) -> SimTask:
    # Imported here so that a node for another robot does not need this one's packages.
    from lsiq_core.types import names
    from sim.atlas import AtlasConfig, AtlasEnv
    from sim.atlas.config import STARTS
    from sim.atlas.readings import FIRST_FORCE, FIRST_JOINT, observation_terms, SPECS
    from sim.atlas.table import SOLES
    from sim.atlas.variations import Variations

    if settings.observation not in SPECS:
        raise TaskError(f'observation {settings.observation!r}: Atlas offers {list(SPECS)}')
    if settings.start not in STARTS:
        raise TaskError(f'start {settings.start!r}: Atlas offers {list(STARTS)}')
    config = AtlasConfig(
        observation=settings.observation,
        upper_body=upper_body,
        max_episode_steps=settings.max_episode_steps,
        start=settings.start,
        variations=Variations(delay_ms=(settings.delay_ms, settings.delay_ms)),
    )
    start_names = names(observation_terms('kinematic', config.model.joints))
    env: Any = AtlasEnv(
        config, reset_frames=_reset_frames(settings, start_names), seed=settings.seed
    )
    soles = tuple(sole.name for sole in SOLES) if config.model.force_sensors else ()

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


def _reset_frames(settings: TaskSettings, wanted: tuple[str, ...]) -> Array | None:
    """Return the columns of a demonstration's states that an episode starts at."""
    if not settings.reset_frames or not starts_at_expert(settings.number, settings.reset_share):
        return None
    demos = demonstrations.load(find_file(settings.reset_frames), with_actions=False)
    at = {name: column for column, name in enumerate(demos.state_names)}
    missing = [name for name in wanted if name not in at]
    if missing:
        raise TaskError(
            f'{settings.reset_frames}: an episode starts at {len(wanted)} values, it lacks '
            f'{missing}'
        )
    return demos.states[:, [at[name] for name in wanted]].astype(np.float64)


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


ROBOTS: dict[str, Callable[[TaskSettings], SimTask]] = {
    'atlas': _atlas,
    'atlas_upper_body': lambda settings: _atlas(settings, upper_body=True),
}
