# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
A walking cycle from a motion-capture clip of less than a stride.

The clip holds ``q_<joint>`` and ``dq_<joint>`` arrays. Drift in place and heading is taken
out; the clip seen in a mirror, half a cycle later, fills what it lacks; harmonics fitted to
both give a cycle that is periodic and symmetric, and whose velocities are exact derivatives.
Played a little slower or faster it walks at the task's speed.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lsiq_core.robot import RobotError
import numpy as np
import numpy.typing as npt
from sim.gait import LEG
from sim.robot import MujocoRobot

Array = npt.NDArray[Any]

HARMONICS = 6
BASE = 6  # channels of the base: three slides (forward, sideways, up), three hinges


@dataclass(frozen=True)
class MocapCycle:
    """A periodic gait as a Fourier series."""

    coefficients: Array  # [1 + 2 HARMONICS, C]: the joints of the base, then the others
    robot: MujocoRobot
    period_s: float  # at walking speed
    clip_period_s: float  # as it was recorded
    clip_speed_mps: float
    fit_error_rad: float  # root mean square over clip and mirror

    def states(self, seconds: float, rate_hz: float = 100.0, phase: float = 0.0) -> Array:
        """
        Return the cycle as kinematic observations.

        :param seconds: how long; the first state is at time zero.
        :param rate_hz: of the states.
        :param phase: where in the cycle to begin.
        :return: [seconds rate_hz + 1, D].
        """
        times = np.arange(round(seconds * rate_hz) + 1) / rate_hz
        phases = phase + times / self.period_s
        positions = _basis(phases) @ self.coefficients
        velocities = _basis_slope(phases) @ self.coefficients / self.period_s
        velocities[:, 0] += self.robot.spec.task.speed_mps
        positions[:, 2] += self.robot.model.qpos0[self.robot.base_qpos + 2]
        sensors = np.zeros((len(positions), 3))
        return self.robot.reader('kinematic', positions, velocities, sensors).read()


def read_cycle(path: Path | str, robot: MujocoRobot, *, rate_hz: float = 500.0) -> MocapCycle:
    """
    Read a clip and make a cycle of it.

    :param path: an npz with an array ``q_<joint>`` for each joint of the base and the legs.
    :param robot: whose base hangs on slides and hinges, and whose joints are left leg, right leg.
    :param rate_hz: at which the clip was sampled.
    """
    channels = (*robot.compiled.base_joints, *robot.joints)
    if robot.free or len(robot.joints) != 2 * LEG:
        raise RobotError(
            f'{robot.spec.name}: a clip needs a base on slides and hinges and two legs'
        )
    with np.load(path, allow_pickle=False) as clip:
        missing = [name for name in channels if f'q_{name}' not in clip.files]
        if missing:
            raise ValueError(f'{path}: no arrays for {missing}; each joint is called q_<joint>')
        columns = [np.asarray(clip[f'q_{name}'], np.float64) for name in channels]
    if len({len(column) for column in columns}) != 1 or not np.isfinite(columns).all():
        raise ValueError(f'{path}: its arrays differ in length or hold values not finite')
    motion = np.stack(columns, axis=1)
    times = np.arange(len(motion)) / rate_hz
    speed = float(np.polyfit(times, motion[:, 0], 1)[0])
    motion = _without_drift(motion, times, robot)
    # The cycle's length is the one at which clip and mirror image fit together best.
    candidates = np.arange(0.8, 1.6, 0.005)
    errors = [_fit(motion, times / period, robot)[1] for period in candidates]
    period = float(candidates[int(np.argmin(errors))])
    coefficients, error = _fit(motion, times / period, robot)
    return MocapCycle(
        coefficients=coefficients,
        robot=robot,
        period_s=period * speed / robot.spec.task.speed_mps,
        clip_period_s=period,
        clip_speed_mps=speed,
        fit_error_rad=error,
    )


def mirror(motion: Array, robot: MujocoRobot) -> Array:
    """Return the motion as seen in a mirror: legs swapped, sideways quantities negated."""
    base, left, right = np.split(motion, [BASE, BASE + LEG], axis=1)
    signs = np.array([1.0, -1.0, 1.0, *(1.0 if axis == 1 else -1.0 for axis in robot.base_axes)])
    return np.concatenate((base * signs, right, left), axis=1)


def _without_drift(motion: Array, times: Array, robot: MujocoRobot) -> Array:
    """Take the straight line out of place and heading, so that what is left can repeat."""
    still = motion.copy()
    heading = 3 + robot.base_axes.index(2)
    for column in (0, 1, heading):
        line = np.polyfit(times, still[:, column], 1)
        still[:, column] -= np.polyval(line, times)
    return still


def _fit(motion: Array, phases: Array, robot: MujocoRobot) -> tuple[Array, float]:
    """Fit the series to the motion and, half a cycle later, to its mirror image."""
    basis = np.concatenate((_basis(phases), _basis(phases + 0.5)))
    target = np.concatenate((motion, mirror(motion, robot)))
    # A little damping keeps harmonics quiet where the two images leave a gap.
    damping = 1e-3 * np.eye(basis.shape[1])
    coefficients = np.linalg.solve(basis.T @ basis + damping, basis.T @ target)
    error = np.sqrt(np.mean((basis @ coefficients - target)[:, 3:] ** 2))
    return coefficients, float(error)


def _basis(phases: Array) -> Array:
    angle = 2 * np.pi * np.outer(phases, np.arange(1, HARMONICS + 1))
    return np.concatenate((np.ones((len(phases), 1)), np.cos(angle), np.sin(angle)), axis=1)


def _basis_slope(phases: Array) -> Array:
    order = 2 * np.pi * np.arange(1, HARMONICS + 1)
    angle = np.outer(phases, order)
    slopes = (np.zeros((len(phases), 1)), -order * np.sin(angle), order * np.cos(angle))
    return np.concatenate(slopes, axis=1)
