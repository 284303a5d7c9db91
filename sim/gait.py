# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
A walking gait written as a formula, its numbers in the robot's file.

A leg swings forward while its phase runs from 0 to 0.5 and bears weight from 0.5 to 1; the
right leg is half a cycle behind the left. The formula is not dynamically exact: it is where
episodes start and what the expert learns to correct.
"""

from collections.abc import Sequence
from typing import Any

from lsiq_core.robot import explain, Part, RobotError, RobotSpec
from lsiq_core.types import Array
import numpy as np
from pydantic import ValidationError

ROLES = ('hip_pitch', 'hip_roll', 'hip_yaw', 'knee', 'ankle')
LEG = len(ROLES)


class GaitSettings(Part):
    """The formula's numbers."""

    period_s: float
    hip_mean_rad: float
    hip_swing_rad: float
    knee_mean_rad: float
    knee_bends: list[tuple[float, float, float]]
    """Depth in rad, centre and width as shares of the cycle."""
    ankle_share: float
    """Of hip and knee together: -1 keeps the sole level."""
    thigh_m: float
    shank_m: float
    sole_ends_m: list[tuple[float, float]]
    """x and z of toe and heel below the ankle."""


class LegJoints(Part):
    """The joint of each role."""

    hip_pitch: str
    hip_roll: str
    hip_yaw: str
    knee: str
    ankle: str

    def names(self) -> tuple[str, ...]:
        """Return them in the order of ROLES."""
        return tuple(getattr(self, role) for role in ROLES)


class TrackingSettings(Part):
    """``tracking`` in a robot's file: the gait that the built-in expert follows."""

    left: LegJoints
    right: LegJoints
    gait: GaitSettings


def tracking_settings(spec: RobotSpec) -> TrackingSettings:
    """Read ``tracking`` of a robot's file."""
    if not spec.tracking:
        raise RobotError(f'{spec.path}: tracking is missing: {spec.name} has no built-in expert')
    try:
        return TrackingSettings(**spec.tracking)
    except (ValidationError, TypeError) as error:
        raise RobotError(f'tracking in {explain(error, spec.path, TrackingSettings)}') from error


class Gait:
    """The formula of one robot."""

    def __init__(self, spec: RobotSpec) -> None:
        settings = tracking_settings(spec)
        self._numbers = settings.gait
        self.joints = settings.left.names() + settings.right.names()  # the order of this module
        self.period_s = settings.gait.period_s
        self.speed_mps = spec.task.speed_mps

    def leg_angles(self, phase: Any) -> Any:
        """
        Return hip pitch, roll and yaw, knee and ankle of one leg.

        :param phase: [...], any real number; the gait repeats after 1.
        :return: [..., 5] rad.
        """
        numbers = self._numbers
        hip = numbers.hip_mean_rad - numbers.hip_swing_rad * np.cos(2 * np.pi * phase)
        knee = numbers.knee_mean_rad - sum(
            depth * _bump(phase, at, width) for depth, at, width in numbers.knee_bends
        )
        return self._leg(hip, knee)

    def leg_velocities(self, phase: Any) -> Any:
        """Return the time derivative of :meth:`leg_angles`, [..., 5] rad/s."""
        swing = 2 * self._numbers.hip_swing_rad * np.pi
        hip = swing * np.sin(2 * np.pi * phase) / self.period_s
        knee = sum(
            depth * _bump(phase, at, width) * _offset(phase, at) / (width**2 * self.period_s)
            for depth, at, width in self._numbers.knee_bends
        )
        return self._leg(hip, knee)

    def joint_angles(self, phase: Any) -> Any:
        """Return the leg joints, left then right: [..., 10] rad."""
        return np.concatenate((self.leg_angles(phase), self.leg_angles(phase + 0.5)), -1)

    def joint_velocities(self, phase: Any) -> Any:
        """Return the velocities of the leg joints: [..., 10] rad/s."""
        return np.concatenate((self.leg_velocities(phase), self.leg_velocities(phase + 0.5)), -1)

    def base_height(self, phase: Array) -> Array:
        """Return the height at which the lowest sole touches the floor: [...] m."""
        numbers = self._numbers
        angles = self.joint_angles(phase)
        lowest = np.full(angles.shape[:-1], np.inf)
        for first in (0, LEG):
            hip, knee, ankle = (
                angles[..., first + ROLES.index(role)] for role in ('hip_pitch', 'knee', 'ankle')
            )
            thigh, shank, foot = hip, hip + knee, hip + knee + ankle
            ankle_z = -numbers.thigh_m * np.cos(thigh) - numbers.shank_m * np.cos(shank)
            for x, z in numbers.sole_ends_m:
                lowest = np.minimum(lowest, ankle_z + x * np.sin(foot) + z * np.cos(foot))
        return -lowest

    def kinematic_frames(self, phase: Array | float, joints: Sequence[str] | None = None) -> Array:
        """
        Return the gait as kinematic observations, upright and at walking speed.

        :param phase: [...].
        :param joints: the robot's joints, in its order; those of no leg are at rest.
        :return: [..., 10 + 2 joints].
        """
        phase = np.asarray(phase, np.float64)
        joints = self.joints if joints is None else joints
        columns = [joints.index(name) for name in self.joints]
        positions = np.zeros((*phase.shape, len(joints)))
        velocities = np.zeros((*phase.shape, len(joints)))
        positions[..., columns] = self.joint_angles(phase)
        velocities[..., columns] = self.joint_velocities(phase)
        zero = np.zeros_like(phase)
        forward = np.full_like(phase, self.speed_mps)
        pose = np.stack((self.base_height(phase), zero, zero, zero), axis=-1)
        twist = np.stack((forward, zero, self._height_rate(phase), zero, zero, zero), axis=-1)
        return np.concatenate((pose, positions, twist, velocities), axis=-1)

    def _leg(self, hip: Any, knee: Any) -> Any:
        """Put a leg together: the ankle keeps the sole nearly level."""
        ankle = self._numbers.ankle_share * (hip + knee)
        return np.stack((hip, 0 * hip, 0 * hip, knee, ankle), -1)

    def _height_rate(self, phase: Array) -> Array:
        """Return how fast the base rises, by central differences across its kinks."""
        step = 1e-5
        change = self.base_height(phase + step) - self.base_height(phase - step)
        return change / (2 * step * self.period_s)


def _offset(phase: Any, centre: float) -> Any:
    """Return the signed distance on the circle of phases."""
    return (phase - centre + 0.5) % 1.0 - 0.5


def _bump(phase: Any, centre: float, width: float) -> Any:
    """Return a Gaussian on the circle of phases."""
    return np.exp(-0.5 * (_offset(phase, centre) / width) ** 2)
