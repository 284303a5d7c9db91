# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
Where episodes start: in the expert's stride, in the gait's formula, or at given frames.

``stride.npz`` holds frames of the shipped expert's steady walk, without noise (made by
``python -m sim.expert.stride``). The formula is no motion that physics allows: a robot put there
must first find its feet, which is the harder start.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sim.atlas import gait
from sim.atlas.readings import HEIGHT, split_kinematic
from sim.atlas.table import LEG_JOINTS

Array = npt.NDArray[Any]
STRIDE = Path(__file__).parents[2] / 'models/atlas/stride.npz'


class Starts:
    """
    A source of starting states.

    A standing robot cannot be caught by a policy that has only seen walking, so episodes
    start in mid-stride.
    """

    def __init__(
        self,
        joints: int,
        frames: Array | None = None,
        *,
        formula: bool = False,
        position_noise_rad: float = 0.01,
        velocity_noise: float = 0.05,
    ) -> None:
        """
        Prepare the frames.

        :param joints: how many joints the robot has.
        :param frames: kinematic or full observations, one in a row; None for the stride.
        :param formula: without frames, start in the gait's formula instead.
        :param position_noise_rad: std on pelvis and joint angles.
        :param velocity_noise: std on all velocities, rad/s and m/s.
        """
        self._upper_joints = joints - len(LEG_JOINTS)
        self._joints = joints
        self._position_noise_rad = position_noise_rad
        self._velocity_noise = velocity_noise
        self._frames = None
        if frames is None and not formula and not self._upper_joints:
            frames = stride()
        if frames is not None:
            self._frames = np.atleast_2d(np.asarray(frames, np.float64))
            split_kinematic(self._frames, joints)  # refuses frames of another robot

    def draw(self, rng: np.random.Generator) -> tuple[Array, Array]:
        """Return qpos and qvel of one start."""
        if self._frames is None:
            frame = gait.kinematic_frames(rng.uniform(), self._upper_joints)
        else:
            frame = self._frames[rng.integers(len(self._frames))]
        qpos, qvel = split_kinematic(frame, self._joints)
        angles = qpos[HEIGHT + 1 :]
        angles += self._position_noise_rad * rng.standard_normal(len(angles))
        qvel += self._velocity_noise * rng.standard_normal(len(qvel))
        return qpos, qvel


@cache
def stride() -> Array:
    """Return kinematic frames of steady walking, [F, 30]."""
    with np.load(STRIDE, allow_pickle=False) as archive:
        frames: Array = archive['frames'].astype(np.float64)
    return frames
