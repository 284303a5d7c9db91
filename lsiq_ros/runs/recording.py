# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
A recording is made ready to be followed: gaps filled, noise taken out, put on the floor.

All functions work on kinematic frames: height, roll, pitch, yaw, the joints' positions, then
the velocities of all of these (:func:`sim.robot.kinematic_columns`).
"""

from __future__ import annotations

from typing import Any

from lsiq_core.data.demonstrations import Demonstrations
from lsiq_core.data.smoothing import smooth
from lsiq_core.errors import DemonstrationError
from lsiq_core.types import names
import mujoco
import numpy as np
import numpy.typing as npt
from sim.mjcf import FLOOR
from sim.robot import MujocoRobot
from sim.tracking.reference import FIRST_JOINT

Array = npt.NDArray[Any]

_LOOKED_AT = 200  # frames that say how high the recording's floor is


def kinematic_episodes(demos: Demonstrations, robot: MujocoRobot) -> list[Array]:
    """Return the episodes as kinematic frames of a robot, columns found by name."""
    wanted = names(robot.terms('kinematic'))
    missing = [name for name in wanted if name not in demos.state_names]
    if missing:
        raise DemonstrationError(
            f'{demos.source}: lacks {missing}, which a recording of {robot.spec.name} needs'
        )
    columns = [demos.state_names.index(name) for name in wanted]
    frames = demos.states[:, columns].astype(np.float64)
    return [frames[part] for part in demos.state_slices()]


def smoothed(frames: Array, rate_hz: float) -> tuple[Array, dict[str, float]]:
    """
    Smooth one episode of kinematic frames.

    :return: the frames, and the median noise of angles and of their velocities.
    """
    joints = (frames.shape[1] - 10) // 2
    twist = FIRST_JOINT + joints
    # The height's rate is the third velocity of the base, the angles' rates follow it.
    rates = np.r_[twist + 2 : twist + 6, twist + 6 : frames.shape[1]]
    position = frames[:, :twist].copy()
    position[:, 1:FIRST_JOINT] = np.unwrap(position[:, 1:FIRST_JOINT], axis=0)
    found = smooth(position, frames[:, rates], rate_hz)
    plane = smooth(frames[:, twist : twist + 2], None, rate_hz)
    clean = frames.copy()
    clean[:, :twist] = found.position
    clean[:, rates] = found.velocity
    clean[:, twist : twist + 2] = plane.position
    return clean, {
        'position': float(np.median(found.position_noise)),
        'velocity': float(np.median(found.velocity_noise)),
    }


def resampled(frames: Array, rate_hz: float, wanted_hz: float) -> Array:
    """Return frames at another rate, interpolated."""
    if abs(rate_hz - wanted_hz) < 1e-6 * wanted_hz:
        return frames
    times = np.arange(len(frames)) / rate_hz
    at = np.arange(int(times[-1] * wanted_hz) + 1) / wanted_hz
    return np.stack([np.interp(at, times, column) for column in frames.T], axis=1)


def floor_offset(robot: MujocoRobot, episodes: list[Array]) -> float:
    """Return how far above the floor the recording's lowest foot typically is, m."""
    model, data = robot.model, mujoco.MjData(robot.model)
    floor = int(model.geom(FLOOR).id)
    collides = (model.geom_contype | model.geom_conaffinity) != 0
    bodies = [int(model.body(foot.body).id) for foot in robot.spec.feet.values()]
    feet = np.flatnonzero(collides & np.isin(model.geom_bodyid, bodies)).tolist()
    if not feet:
        return 0.0
    frames = np.concatenate(episodes)
    frames = frames[:: max(1, len(frames) // _LOOKED_AT)]
    lowest = []
    for qpos in robot.split(frames)[0]:
        data.qpos[:] = qpos
        mujoco.mj_kinematics(model, data)
        lowest.append(
            min(mujoco.mj_geomDistance(model, data, floor, geom, 1.0, None) for geom in feet)
        )
    return float(np.median(lowest))
