# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""What the expert is rewarded for: to follow the gait, upright, at speed and on its line."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sim.gait import Gait
from sim.robot import kinematic_columns

Array = npt.NDArray[Any]

EFFORT_WEIGHT = 0.005
CHATTER_WEIGHT = 0.02


def tracking_reward(gait: Gait, state: Array, phase: Array, lateral_m: Array) -> Array:
    """
    Return how well the robot keeps to the reference, at most 1.

    :param gait: the reference.
    :param state: [N, D] kinematic observations.
    :param phase: [N] of the reference at that instant.
    :param lateral_m: [N].
    """
    at = kinematic_columns(state.shape[1])
    joints = _squares(state[:, at.positions] - gait.joint_angles(phase))
    rates = _squares(state[:, at.velocities] - gait.joint_velocities(phase))
    height, angles = state[:, 0], state[:, 1:4]
    forward, sideways = state[:, at.twist][:, :2].T
    lean = 20 * _squares(angles) + 40 * (height - gait.base_height(phase)) ** 2
    speed = (forward - gait.speed_mps) ** 2 + sideways**2
    astray = 2 * np.minimum(np.abs(lateral_m), 0.5)
    return (
        0.4 * np.exp(-4 * joints)
        + 0.1 * np.exp(-0.02 * rates)
        + 0.2 * np.exp(-lean)
        + 0.3 * np.exp(-4 * speed - astray)
    )


def residual_cost(residual: Array, previous: Array) -> Array:
    """Return the price of large residuals and, so that joints do not chatter, of jumps."""
    effort = np.mean(residual**2, axis=-1)
    jumps = np.mean((residual - previous) ** 2, axis=-1)
    return EFFORT_WEIGHT * effort + CHATTER_WEIGHT * jumps


def _squares(errors: Array) -> Array:
    return np.sum(errors**2, axis=-1)
