# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""How far the feet of a robot are from the floor."""

from collections.abc import Iterable

from lsiq_core.types import Array
import mujoco
import numpy as np
from sim.chains import equality_jacobian
from sim.mjcf import floor_geom
from sim.robot import MujocoRobot

STANDING_M = 0.02  # a foot that is nearer to the floor than this bears weight
_FARTHEST_M = 1.0


class Feet:
    """The geoms of each foot that touch the floor."""

    def __init__(self, robot: MujocoRobot) -> None:
        model = self._model = robot.model
        self._floor = floor_geom(model)
        collides = (model.geom_contype | model.geom_conaffinity) != 0
        self.geoms: dict[int, list[int]] = {}
        for foot in robot.spec.feet.values():
            body = int(model.body(foot.body).id)
            own = collides & (model.geom_bodyid == body)
            if own.any():
                self.geoms[body] = np.flatnonzero(own).tolist()

    def clearance_m(self, data: mujoco.MjData) -> dict[int, float]:
        """Return the height of each foot's lowest point above the floor, by its body."""
        return {
            body: min(
                mujoco.mj_geomDistance(self._model, data, self._floor, geom, _FARTHEST_M, None)
                for geom in geoms
            )
            for body, geoms in self.geoms.items()
        }

    def standing(self, data: mujoco.MjData) -> list[int]:
        """Return the bodies of the feet that bear weight."""
        return [body for body, high in self.clearance_m(data).items() if high < STANDING_M]


def mobility(model: mujoco.MjModel, data: mujoco.MjData, standing: Iterable[int]) -> Array:
    """
    Return what a unit force at each degree of freedom accelerates, [nv, nv].

    Closed chains let it move only as a whole.

    :param data: with the pose worked out, equalities and all.
    :param standing: bodies that the floor holds.
    """
    inverse: Array = np.zeros((model.nv, model.nv))
    mujoco.mj_solveM(model, data, inverse, np.eye(model.nv))  # of the mass matrix
    rows = [equality_jacobian(model, data)] if data.ne else []
    for body in standing:
        place, turn = np.zeros((3, model.nv)), np.zeros((3, model.nv))
        mujoco.mj_jacBody(model, data, place, turn, body)
        rows += [place, turn]
    if rows:
        held = np.concatenate(rows)
        middle = held @ inverse @ held.T
        middle += 1e-6 * np.trace(middle) / len(middle) * np.eye(len(middle))
        inverse = inverse - inverse @ held.T @ np.linalg.solve(middle, held @ inverse)
    return inverse
