# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
Closed chains: where the joints are that nobody observes, so that all equalities hold.

A rod that closes a chain moves with the joints that are driven. Left where it was, the chain
would be open, and the simulation would close it with a jerk.
"""

from collections.abc import Callable
import copy

from lsiq_core.types import Array
import mujoco
import numpy as np

_ROUNDS = 30
_CLOSED = 1e-6  # m or rad by which an equality may be missed
_LARGEST_STEP = 0.3  # rad or m in one round: farther the linearisation says little
_SPRING = 1e-4  # how much a joint on a spring gives way, compared with one that is free
_FIXED = 0.0  # springs give way only where a chain cannot be closed without
_STUCK = 1e-7  # a round that moves less than this is the last
_DAMPING = 1e-9


class Chains:
    """Solves the equalities of a model for the degrees of freedom that are not observed."""

    def __init__(self, model: mujoco.MjModel, observed: Array) -> None:
        """
        Find what is to be solved for.

        :param observed: degrees of freedom that are known, those of the base among them.
        """
        self._model = copy.copy(model)
        # Only equalities are rows of the constraints then.
        self._model.opt.disableflags |= int(
            mujoco.mjtDisableBit.mjDSBL_CONTACT
            | mujoco.mjtDisableBit.mjDSBL_LIMIT
            | mujoco.mjtDisableBit.mjDSBL_FRICTIONLOSS
        )
        self._data = mujoco.MjData(self._model)
        self._passive = np.setdiff1d(np.arange(model.nv), observed)
        springs = model.jnt_stiffness[model.dof_jntid[self._passive]] > 0
        self._yields = [np.where(springs, share, 1.0) for share in (_FIXED, _SPRING)]
        self.rigid = self._passive[~springs]  # neither observed nor on a spring
        self.any = bool(model.neq and model.eq_active0.any() and len(self._passive))
        self._places = places_of(model, self._passive)

    def close_all(
        self, qpos: Array, qvel: Array, settle: Callable[[Array], None] | None = None
    ) -> None:
        """
        Close the chains of many robots, [..., nq] and [..., nv], in place.

        Each begins where the one before ended: frames of a motion follow each other.

        :param settle: moves the springs of a closed [nq] to where they rest; None leaves them.
        """
        if not self.any and settle is None:
            return
        rows, speeds = qpos.reshape(-1, self._model.nq), qvel.reshape(-1, self._model.nv)
        for number, (row, speed) in enumerate(zip(rows, speeds)):
            if number:
                row[self._places] = rows[number - 1, self._places]
            self.close(row, speed)
            if settle is not None:
                settle(row)  # under load chains give way, too: they are not closed again
                self._carry(speed, self.jacobian(row), self._yields[0])

    def close(self, qpos: Array, qvel: Array | None = None) -> None:
        """
        Move what is not observed so that the equalities hold, in place.

        :param qpos: [nq]; where it is not observed, where to begin.
        :param qvel: [nv]; changed so that the chains stay closed.
        """
        if not self.any:
            return
        for yields in self._yields:
            missed, equalities = self._approach(qpos, yields)
            if missed < _CLOSED:
                break
        if not np.isfinite(self._data.qpos).all():
            return
        qpos[:] = self._data.qpos
        if qvel is not None:
            self._carry(qvel, equalities, yields)

    def _carry(self, qvel: Array, equalities: Array, yields: Array) -> None:
        """Let what is not observed move along with what is, so that the chains stay closed."""
        qvel[self._passive] = 0.0
        qvel[self._passive] = self._solved(equalities, -equalities @ qvel, yields)

    def _approach(self, qpos: Array, yields: Array) -> tuple[float, Array]:
        """Return by how much the equalities are missed at best, and how they change there."""
        data, step = self._data, np.zeros(self._model.nv)
        data.qpos[:] = qpos
        for _ in range(_ROUNDS):
            equalities, missed = self._linearised()
            largest = float(np.abs(missed).max(initial=0.0))
            if largest < _CLOSED:
                break
            step[self._passive] = self._solved(equalities, -missed, yields)
            step *= min(1.0, _LARGEST_STEP / max(np.abs(step).max(), 1e-12))
            if np.abs(step).max() < _STUCK:
                break
            mujoco.mj_integratePos(self._model, data.qpos, step, 1.0)
        return largest, equalities

    def jacobian(self, qpos: Array) -> Array:
        """Return how the equalities are missed with each degree of freedom, [E, nv]."""
        if not self.any:
            return np.zeros((0, self._model.nv))
        self._data.qpos[:] = qpos
        return self._linearised()[0]

    def _linearised(self) -> tuple[Array, Array]:
        model, data = self._model, self._data
        mujoco.mj_fwdPosition(model, data)
        return equality_jacobian(model, data), data.efc_pos[: int(data.ne)].copy()

    def _solved(self, equalities: Array, wanted: Array, yields: Array) -> Array:
        """Return the smallest motion of what is not observed that brings what is wanted."""
        free = equalities[:, self._passive]
        weighted = free * yields
        square = weighted @ free.T + _DAMPING * np.eye(len(wanted))
        found: Array = weighted.T @ np.linalg.solve(square, wanted)
        return found


def places_of(model: mujoco.MjModel, dofs: Array) -> Array:
    """Return where the joints of these degrees of freedom stand in qpos."""
    sizes = {int(mujoco.mjtJoint.mjJNT_FREE): 7, int(mujoco.mjtJoint.mjJNT_BALL): 4}
    return np.concatenate(
        [np.zeros(0, np.int64)]
        + [
            model.jnt_qposadr[joint] + np.arange(sizes.get(int(model.jnt_type[joint]), 1))
            for joint in np.unique(model.dof_jntid[dofs])
        ]
    )


def equality_jacobian(model: mujoco.MjModel, data: mujoco.MjData) -> Array:
    """
    Return how the equalities are missed with each degree of freedom, [E, nv].

    :param data: with the constraints worked out; equalities are the first of them.
    """
    rows = int(data.ne)
    if not mujoco.mj_isSparse(model):
        found: Array = data.efc_J.reshape(-1, model.nv)[:rows].copy()
        return found
    dense = np.zeros((data.nefc, model.nv))
    mujoco.mju_sparse2dense(
        dense, data.efc_J.ravel(), data.efc_J_rownnz, data.efc_J_rowadr, data.efc_J_colind
    )
    return dense[:rows]
