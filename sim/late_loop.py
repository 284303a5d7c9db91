# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
Whether the loop of PD targets is stable where its torque comes late, and how stiff it may be.

Torque that travels over topics is some milliseconds old when it acts. The robot is linearised at
its nominal pose, in the air and standing on each foot. All joints together are looked at: a leg
has modes with less inertia than any of its joints alone.
"""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np
import numpy.typing as npt
from sim.feet import Feet
from sim.robot import MujocoRobot

Array = npt.NDArray[Any]

_GROWS = 1.001  # a mode whose size is multiplied by more in a physics step grows
_SOFTER = 0.93  # in one round, the joint that drives the worst mode
_RATIO_PER_S = 25.0  # largest stiffness per damping of a joint that was made softer
_ALIKE = 0.2  # joints whose inertia and gains differ by less share their gains
_LONGEST_S = 0.03


class LateLoop:
    """The linearised robot under PD torque that comes late."""

    def __init__(self, robot: MujocoRobot) -> None:
        model, data = robot.model, mujoco.MjData(robot.model)
        self._timestep_s = float(model.opt.timestep)
        data.qpos[:] = robot.nominal_qpos
        mujoco.mj_forward(model, data)
        inverse = np.zeros((model.nv, model.nv))
        mujoco.mj_solveM(model, data, inverse, np.eye(model.nv))
        free = [inverse]
        for body in Feet(robot).geoms:
            place, turn = np.zeros((3, model.nv)), np.zeros((3, model.nv))
            mujoco.mj_jacBody(model, data, place, turn, body)
            held = np.concatenate((place, turn))
            middle = held @ inverse @ held.T
            middle += 1e-8 * np.trace(middle) / len(middle) * np.eye(len(middle))
            free.append(inverse - inverse @ held.T @ np.linalg.solve(middle, held @ inverse))
        joints = np.ix_(robot.joint_qvel, robot.joint_qvel)
        # What a unit torque of each joint accelerates, in the air and on each foot.
        self._mobility = [matrix[joints] for matrix in free]

    def growth(self, stiffness: Array, damping: Array, delay_s: float) -> tuple[float, int]:
        """
        Return the growth of the worst mode in a physics step, and the joint that drives it most.

        :param stiffness: [A] N m/rad.
        :param damping: [A] N m s/rad.
        :param delay_s: from reading the state to the torque's effect.
        """
        worst = (0.0, 0)
        for mobility in self._mobility:
            values, vectors = np.linalg.eig(self._step(mobility, stiffness, damping, delay_s))
            mode = int(np.abs(values).argmax())
            if abs(values[mode]) > worst[0]:
                position, velocity = np.split(vectors[: 2 * len(stiffness), mode], 2)
                torque = stiffness * position + damping * velocity
                worst = float(abs(values[mode])), int(np.abs(torque * velocity).argmax())
        return worst

    def stable(self, stiffness: Array, damping: Array, delay_s: float) -> bool:
        """Return whether no mode grows."""
        return self.growth(stiffness, damping, delay_s)[0] < _GROWS

    def longest_delay_s(self, stiffness: Array, damping: Array) -> float:
        """Return how late the torque may come, 0.03 s at most, or -1 if not even at once."""
        steps = round(_LONGEST_S / self._timestep_s)
        for late in range(steps + 1):
            if not self.stable(stiffness, damping, late * self._timestep_s):
                return (late - 1) * self._timestep_s if late else -1.0
        return _LONGEST_S

    def softened(self, stiffness: Array, damping: Array, delay_s: float) -> tuple[Array, Array]:
        """Return gains that are stable with torque so late: softer where they must be."""
        likeness = np.stack((stiffness, damping, self._mobility[0].diagonal()))
        stiffness, damping = stiffness.copy(), damping.copy()
        for _ in range(50 * len(stiffness)):
            growth, joint = self.growth(stiffness, damping, delay_s)
            if growth < _GROWS:
                break
            # Left and right, front and rear stay alike.
            alike = np.isclose(likeness, likeness[:, [joint]], rtol=_ALIKE).all(axis=0)
            damping[alike] *= _SOFTER
            stiffness[alike] = np.minimum(stiffness, _RATIO_PER_S * damping)[alike]
        return stiffness, damping

    def _step(self, mobility: Array, stiffness: Array, damping: Array, delay_s: float) -> Array:
        """Return the matrix of one physics step; the state ends with the torques on the way."""
        count, late = len(stiffness), round(delay_s / self._timestep_s)
        size = (2 + late) * count
        law = np.zeros((count, size))
        law[:, :count], law[:, count : 2 * count] = -np.diag(stiffness), -np.diag(damping)
        acting = law if not late else np.eye(count, size, size - count)
        step = np.eye(size)
        step[count : 2 * count] += self._timestep_s * mobility @ acting
        step[:count] += self._timestep_s * step[count : 2 * count]
        if late:
            step[2 * count :] = np.eye(size, k=-count)[2 * count :]
            step[2 * count : 3 * count] = law
        return step
