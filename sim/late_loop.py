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

from lsiq_core.types import Array
import mujoco
import numpy as np
from sim.feet import Feet, mobility
from sim.robot import MujocoRobot

_STEP_S = 0.002
_GROWS = 1.001  # a mode whose size is multiplied by more in a step grows
_ALONE = 1.3  # largest damping times delay over inertia; pi / 2 is where pure damping shakes
_ROUNDS = 100
_SOFTER = 0.9  # in one round, the joints that drive the worst mode
_RATIO_PER_S = 25.0  # largest stiffness per damping of a joint that was made softer
_ALIKE = 0.2  # joints whose inertia and gains differ by less share their gains
_LONGEST_S = 0.02


class LateLoop:
    """The linearised robot under PD torque that comes late."""

    def __init__(self, robot: MujocoRobot) -> None:
        model, data = robot.model, mujoco.MjData(robot.model)
        # Finer steps would say the same and make the matrix of all torques on the way larger.
        self._timestep_s = max(float(model.opt.timestep), _STEP_S)
        data.qpos[:] = robot.nominal_qpos
        mujoco.mj_forward(model, data)
        standings = ([], *([body] for body in Feet(robot).geoms))
        joints = np.ix_(robot.joint_qvel, robot.joint_qvel)
        # What a unit torque of each joint accelerates, in the air and on each foot.
        self._mobility = [mobility(model, data, feet)[joints] for feet in standings]

    def growth(self, stiffness: Array, damping: Array, delay_s: float) -> tuple[float, Array]:
        """
        Return the growth of the worst mode in a step, and how much each joint drives it, [A].

        :param stiffness: [A] N m/rad.
        :param damping: [A] N m s/rad.
        :param delay_s: from reading the state to the torque's effect.
        """
        worst = (0.0, np.zeros(len(stiffness)))
        for free in self._mobility:
            values, vectors = np.linalg.eig(self._step(free, stiffness, damping, delay_s))
            mode = int(np.abs(values).argmax())
            if abs(values[mode]) > worst[0]:
                position, velocity = np.split(vectors[: 2 * len(stiffness), mode], 2)
                torque = stiffness * position + damping * velocity
                worst = float(abs(values[mode])), np.abs(torque * velocity)
        return worst

    def stable(self, stiffness: Array, damping: Array, delay_s: float) -> bool:
        """Return whether no mode grows."""
        return self.growth(stiffness, damping, delay_s)[0] < _GROWS

    def longest_delay_s(self, stiffness: Array, damping: Array) -> float:
        """Return how late the torque may come, 0.02 s at most, or -1 if not even at once."""
        steps = round(_LONGEST_S / self._timestep_s)
        for late in range(steps + 1):
            if not self.stable(stiffness, damping, late * self._timestep_s):
                return (late - 1) * self._timestep_s if late else -1.0
        return _LONGEST_S

    def softened(self, stiffness: Array, damping: Array, delay_s: float) -> tuple[Array, Array]:
        """Return gains that are stable with torque so late: softer where they must be."""
        likeness = np.stack((stiffness, damping, self._mobility[0].diagonal()))
        # Left and right, front and rear stay alike.
        alike = np.isclose(likeness[:, None], likeness[:, :, None], rtol=_ALIKE).all(axis=0)
        # No joint bears more even alone; what is left to find is what they do together.
        most = _ALONE / (self._mobility[0].diagonal() * max(delay_s, self._timestep_s))
        most = np.where(alike, most, np.inf).min(axis=1)
        softer = np.where(damping > most, most / damping, 1.0)
        for _ in range(_ROUNDS):
            damping = damping * softer
            limited = np.minimum(stiffness, _RATIO_PER_S * damping)
            stiffness = np.where(softer < 1, limited, stiffness)
            growth, driving = self.growth(stiffness, damping, delay_s)
            if growth < _GROWS:
                break
            chosen = alike[driving >= 0.5 * driving.max()].any(axis=0)
            softer = np.where(chosen, _SOFTER, 1.0)
        return stiffness, damping

    def _step(self, free: Array, stiffness: Array, damping: Array, delay_s: float) -> Array:
        """Return the matrix of one step; the state ends with the torques on the way."""
        count, late = len(stiffness), round(delay_s / self._timestep_s)
        size = (2 + late) * count
        law = np.zeros((count, size))
        law[:, :count], law[:, count : 2 * count] = -np.diag(stiffness), -np.diag(damping)
        acting = law if not late else np.eye(count, size, size - count)
        step = np.eye(size)
        step[count : 2 * count] += self._timestep_s * free @ acting
        step[:count] += self._timestep_s * step[count : 2 * count]
        if late:
            step[2 * count :] = np.eye(size, k=-count)[2 * count :]
            step[2 * count : 3 * count] = law
        return step
