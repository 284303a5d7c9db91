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
_KNEE_BENDS = ((0.85, 0.19, 0.085), (0.15, 0.62, 0.07))  # depth, centre, width


def leg_angles(phase: Any, xp: Any = np) -> Any:
    """
    Return flexion, adduction, rotation, knee and ankle angles of one leg.

    :param phase: [...], any real number; the gait repeats after 1.
    :param xp: numpy, or torch where the gait goes into a network's graph.
    :return: [..., 5] rad.
    """
    hip = 0.06 - 0.40 * xp.cos(2 * np.pi * phase)
    knee = -0.12 - sum(depth * _bump(phase, at, width, xp) for depth, at, width in _KNEE_BENDS)
    return _leg(hip, knee, xp)


def leg_velocities(phase: Any, xp: Any = np) -> Any:
    """Return the time derivative of :func:`leg_angles`, [..., 5] rad/s."""
    hip = 0.80 * np.pi * xp.sin(2 * np.pi * phase) / PERIOD_S
    knee = sum(
        depth * _bump(phase, at, width, xp) * _offset(phase, at) / (width**2 * PERIOD_S)
        for depth, at, width in _KNEE_BENDS
    )
    return _leg(hip, knee, xp)


def joint_angles(phase: Any, xp: Any = np) -> Any:
    """Return the ten leg joints, left then right: [..., 10] rad."""
    return xp.concatenate((leg_angles(phase, xp), leg_angles(phase + 0.5, xp)), -1)


def joint_velocities(phase: Any, xp: Any = np) -> Any:
    """Return the velocities of the ten leg joints: [..., 10] rad/s."""
    return xp.concatenate((leg_velocities(phase, xp), leg_velocities(phase + 0.5, xp)), -1)


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


def kinematic_frames(phase: Array | float, upper_joints: int = 0) -> Array:
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
    pelvis_rates = np.stack((forward, zero, _height_rate(phase), zero, zero, zero), axis=-1)
    return np.concatenate(
        (pelvis, joint_angles(phase), rest, pelvis_rates, joint_velocities(phase), rest), axis=-1
    )


def _leg(hip: Any, knee: Any, xp: Any) -> Any:
    """Put a leg together: the ankle keeps the sole nearly level."""
    return xp.stack((hip, 0 * hip, 0 * hip, knee, -0.7 * (hip + knee)), -1)


def _offset(phase: Any, centre: float) -> Any:
    """Return the signed distance on the circle of phases."""
    return (phase - centre + 0.5) % 1.0 - 0.5


def _bump(phase: Any, centre: float, width: float, xp: Any) -> Any:
    """Return a Gaussian on the circle of phases."""
    return xp.exp(-0.5 * (_offset(phase, centre) / width) ** 2)


def _height_rate(phase: Array) -> Array:
    """Return how fast the pelvis rises, by central differences across its kinks."""
    step = 1e-5
    change = pelvis_height(phase + step) - pelvis_height(phase - step)
    return change / (2 * step * PERIOD_S)
