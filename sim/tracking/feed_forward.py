# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
The torques that a motion needs, by inverse dynamics: where a tracker begins.

The floor's force on the standing feet is the smallest that carries the base. Recorded motions
are not exact, so this is no solution, but a PD controller that starts from it does not sag.
Closed chains carry what the joints without motor and spring cannot.
"""

from __future__ import annotations

import copy

from lsiq_core.types import Array
import mujoco
import numpy as np
from sim.feet import Feet
from sim.robot import MujocoRobot
from sim.tracking.reference import Reference

_MOST = 0.8  # of the torque limit
_AVERAGED_S = 0.06  # feet take over from each other in about this time


def feed_forward(robot: MujocoRobot, reference: Reference) -> Array:
    """Return the joint torques of each frame, [F, A] N m."""
    model = copy.copy(robot.model)
    # The forces of floor and chains are what is solved for, so the model must not add its own.
    model.opt.disableflags |= int(
        mujoco.mjtDisableBit.mjDSBL_CONTACT | mujoco.mjtDisableBit.mjDSBL_EQUALITY
    )
    data, feet = mujoco.MjData(model), Feet(robot)
    rows = np.arange(len(reference.frames))
    qpos, qvel = robot.split(reference.frames)
    after, before = reference.after(rows, 1), reference.before(rows, 1)
    passed = np.maximum(reference.between(before, after), 1)
    qacc = (qvel[after] - qvel[before]) * (reference.rate_hz / passed)[:, None]
    carried = np.arange(robot.base_qvel, robot.base_qvel + 6)
    if robot.chains.any:
        carried = np.concatenate((carried, robot.chains.rigid))
    limit = np.array([min(-j.effort_low_nm, j.effort_high_nm) for j in robot.facts])
    found = np.zeros((len(rows), len(robot.joints)))
    for row in rows:
        data.qpos[:], data.qvel[:], data.qacc[:] = qpos[row], qvel[row], qacc[row]
        mujoco.mj_inverse(model, data)
        wanted = data.qfrc_inverse.copy()
        bodies = feet.standing(data)
        soles = [_sole_jacobian(model, data, body, feet.geoms[body]) for body in bodies]
        held = np.concatenate((*soles, robot.chains.jacobian(qpos[row])))
        if len(held):
            force = np.linalg.lstsq(held[:, carried].T, wanted[carried], rcond=1e-6)[0]
            wanted -= held.T @ force
        found[row] = wanted[robot.joint_qvel]
    return _averaged(np.clip(found, -_MOST * limit, _MOST * limit), reference)


def _sole_jacobian(
    model: mujoco.MjModel, data: mujoco.MjData, body: int, geoms: list[int]
) -> Array:
    """Return how a sole moves and turns with the joints, [6, nv]; turns count by its size."""
    place, turn = np.zeros((3, model.nv)), np.zeros((3, model.nv))
    sole = data.geom_xpos[geoms].mean(axis=0)
    sole[2] = 0.0  # where it touches the floor
    mujoco.mj_jac(model, data, place, turn, sole, body)
    # A force at the end of the sole is all the moment that there is: a ball has nearly none.
    spread = np.linalg.norm(data.geom_xpos[geoms] - data.geom_xpos[geoms].mean(axis=0), axis=1)
    reach = float((spread + model.geom_rbound[geoms]).max())
    return np.concatenate((place, reach * turn))


def _averaged(torques: Array, reference: Reference) -> Array:
    """Average over neighbouring frames of the same episode."""
    rows, total = np.arange(len(torques)), torques.copy()
    reach = max(1, round(_AVERAGED_S * reference.rate_hz / 2))
    for steps in range(1, reach + 1):
        total += torques[reference.after(rows, steps)] + torques[reference.before(rows, steps)]
    return total / (2 * reach + 1)
