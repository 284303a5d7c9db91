# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
A walking gait written as a formula.

A leg swings forward while its phase runs from 0 to 0.5 and bears weight from 0.5 to 1; the
right leg is half a cycle behind the left. The formula is not dynamically exact: it is where
episodes start and what the expert learns to correct.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sim.atlas.task import WALKING_SPEED_MPS

Array = npt.NDArray[Any]

PERIOD_S = 1.1
_THIGH_M, _SHANK_M = 0.44, 0.422
_SOLE_ENDS_M = ((0.1725, -0.0741), (-0.0905, -0.074119))  # toe and heel below the ankle
_DERIVATIVE_STEP = 1e-5


def leg_angles(phase: Array) -> Array:
    """
    Return flexion, adduction, rotation, knee and ankle angles of one leg.

    :param phase: [...], any real number; the gait repeats after 1.
    :return: [..., 5] rad.
    """
    phase = np.asarray(phase, np.float64)
    hip = 0.06 - 0.40 * np.cos(2 * np.pi * phase)
    knee = -0.12 - 0.85 * _bump(phase, 0.19, 0.085) - 0.15 * _bump(phase, 0.62, 0.07)
    ankle = -0.7 * (hip + knee)
    level = np.zeros_like(hip)
    return np.stack((hip, level, level, knee, ankle), axis=-1)


def joint_angles(phase: Array) -> Array:
    """Return the ten leg joints, left then right: [..., 10] rad."""
    phase = np.asarray(phase, np.float64)
    return np.concatenate((leg_angles(phase), leg_angles(phase + 0.5)), axis=-1)


def joint_velocities(phase: Array) -> Array:
    """Return the velocities of the ten leg joints: [..., 10] rad/s."""
    return _rate(joint_angles, phase)


def pelvis_height(phase: Array) -> Array:
    """Return the height at which the lowest sole touches the floor: [...] m."""
    angles = joint_angles(phase)
    lowest = np.full(angles.shape[:-1], np.inf)
    for first in (0, 5):
        hip, knee, ankle = (angles[..., first + joint] for joint in (0, 3, 4))
        thigh, shank, foot = hip, hip + knee, hip + knee + ankle
        ankle_z = -_THIGH_M * np.cos(thigh) - _SHANK_M * np.cos(shank)
        for x, z in _SOLE_ENDS_M:
            lowest = np.minimum(lowest, ankle_z + x * np.sin(foot) + z * np.cos(foot))
    return -lowest


def kinematic_frames(phase: Array, upper_joints: int = 0) -> Array:
    """
    Return the gait as kinematic observations, upright and at walking speed.

    :param phase: [...].
    :param upper_joints: how many joints of back and arms follow the legs, all at rest.
    :return: [..., 30 + 2 upper_joints].
    """
    phase = np.asarray(phase, np.float64)
    rest = np.zeros((*phase.shape, upper_joints))
    zero = np.zeros_like(phase)
    forward = np.full_like(phase, WALKING_SPEED_MPS)
    pelvis = np.stack((pelvis_height(phase), zero, zero, zero), axis=-1)
    pelvis_rates = np.stack(
        (forward, zero, _rate(pelvis_height, phase), zero, zero, zero), axis=-1
    )
    return np.concatenate(
        (pelvis, joint_angles(phase), rest, pelvis_rates, joint_velocities(phase), rest), axis=-1
    )


def _bump(phase: Array, centre: float, width: float) -> Array:
    """Return a Gaussian on the circle of phases."""
    distance = (phase - centre + 0.5) % 1.0 - 0.5
    return np.exp(-0.5 * (distance / width) ** 2)


def _rate(of_phase: Any, phase: Array) -> Array:
    """Return the time derivative, by central differences."""
    phase = np.asarray(phase, np.float64)
    ahead, behind = of_phase(phase + _DERIVATIVE_STEP), of_phase(phase - _DERIVATIVE_STEP)
    return (ahead - behind) / (2 * _DERIVATIVE_STEP * PERIOD_S)
