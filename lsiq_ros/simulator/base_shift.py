# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
Whether base and joints of a recording belong to the same instants, by the robot's own model.

A foot that stands is at rest. Its velocity is put together of the base's twist and of the
joints' velocities, so it is least when both are of one instant: the base is shifted in time
against the joints until the lowest sole moves least.
"""

from typing import NamedTuple

from lsiq_core.robot import RobotSpec
from lsiq_core.types import Array
import mujoco
import numpy as np
from sim.feet import Feet
from sim.robot import kinematic_columns, MujocoRobot

LARGEST_SHIFT_S = 0.1
FRAMES = 400  # that are looked at


class BaseShift(NamedTuple):
    """How far the base lies behind the joints, and what speaks for it."""

    shift_s: float  # positive: the base is of a later instant than the joints beside it
    slip_m_s: float  # of the standing foot as it was recorded
    least_slip_m_s: float  # after the shift


def find_base_shift(spec: RobotSpec, episodes: list[Array], rate_hz: float) -> BaseShift:
    """
    Find the shift under which standing feet slip least.

    :param episodes: kinematic observations, [T, D] each.
    """
    robot = MujocoRobot(spec, forces=False)
    soles = _Soles(robot)
    columns = kinematic_columns(robot.kinematic_size)
    most = round(LARGEST_SHIFT_S * rate_hz)
    every = max(1, sum(len(frames) for frames in episodes) // FRAMES)
    slips = {}
    for lag in range(-most, most + 1):
        seen = []
        for frames in episodes:
            rows = np.arange(most, len(frames) - most, every)
            shifted = frames[rows].copy()
            for part in (columns.pose, columns.twist):
                shifted[:, part] = frames[rows + lag][:, part]
            seen += [soles.slip(qpos, qvel) for qpos, qvel in zip(*robot.split(shifted))]
        slips[lag] = float(np.mean(seen))
    best = min(slips, key=lambda lag: slips[lag])
    return BaseShift(-best / rate_hz, slips[0], slips[best])


class _Soles:
    """The geoms that stand on the floor."""

    def __init__(self, robot: MujocoRobot) -> None:
        self._model, self._data = robot.model, mujoco.MjData(robot.model)
        self._geoms = sorted(geom for foot in Feet(robot).geoms.values() for geom in foot)

    def slip(self, qpos: Array, qvel: Array) -> float:
        """Return the speed of the lowest sole, m/s."""
        model, data = self._model, self._data
        data.qpos[:], data.qvel[:] = qpos, qvel
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_comVel(model, data)
        geom = min(self._geoms, key=lambda one: data.geom_xpos[one, 2])
        velocity = np.empty(6)
        mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_GEOM, geom, velocity, 0)
        return float(np.linalg.norm(velocity[3:]))
