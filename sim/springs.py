# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
Springs under load: where the joints rest that nobody drives and nobody observes.

A leg with springs in it is shorter when it bears weight. Recorded with its driven joints and
its base alone, and put back with the springs at ease, its feet stand centimetres under the
floor. So base and driven joints are held where they were observed, and the rest is left to the
springs, the floor and gravity until it hardly moves.
"""

from __future__ import annotations

import copy

from lsiq_core.types import Array
import mujoco
import numpy as np
from sim.chains import places_of

_HELD_KG_M2 = 1e7  # inertia of what is held: nothing moves it
_DAMPING = 1.4  # times sqrt(stiffness inertia): it does not swing
_ROUNDS = 5.0  # times 1 / frequency of the slowest spring, rad/s
_MOST_STEPS = 400
_STEP_S = 1e-3  # nobody sees the way there


class Springs:
    """Finds how far springs give way under what rests on them."""

    def __init__(self, model: mujoco.MjModel, observed: Array) -> None:
        """
        Find what is on springs.

        :param observed: degrees of freedom that are known, those of the base among them.
        """
        passive = np.setdiff1d(np.arange(model.nv), observed)
        stiffness = model.jnt_stiffness[model.dof_jntid[passive]]
        self.any = bool((stiffness > 0).any())
        if not self.any:
            return
        held = self._model = copy.copy(model)
        held.opt.timestep = _STEP_S
        held.opt.integrator = int(mujoco.mjtIntegrator.mjINT_IMPLICITFAST)
        held.dof_armature[observed] = _HELD_KG_M2
        held.actuator_gainprm[:] = held.actuator_biasprm[:] = 0.0
        # With friction it would rest where it was put, not where the springs have it.
        held.dof_frictionloss[passive] = 0.0
        held.geom_condim[:], held.pair_dim[:] = 1, 1
        inertia = np.maximum(model.dof_M0[passive], 1e-6)
        sprung = stiffness > 0
        # Without a spring of its own a joint moves along with those that have one.
        slowest = float(np.sqrt((stiffness[sprung] / inertia[sprung]).min()))
        damping = _DAMPING * np.where(sprung, np.sqrt(stiffness * inertia), inertia * slowest)
        held.dof_damping[passive] = np.maximum(held.dof_damping[passive], damping)
        self._steps = min(_MOST_STEPS, round(_ROUNDS / slowest / held.opt.timestep))
        self._data = mujoco.MjData(held)
        self._places = places_of(model, passive)

    def settle(self, qpos: Array) -> None:
        """
        Move what is not observed to where it rests, in place.

        :param qpos: [nq], chains closed.
        """
        data = self._data
        mujoco.mj_resetData(self._model, data)
        data.qpos[:] = qpos
        mujoco.mj_step(self._model, data, self._steps)
        diverged = data.warning[int(mujoco.mjtWarning.mjWARN_BADQACC)].number
        if np.isfinite(data.qpos).all() and not diverged:
            qpos[self._places] = data.qpos[self._places]
