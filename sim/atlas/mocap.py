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

import numpy as np
import numpy.typing as npt
from sim.atlas.table import LEG_JOINTS, PELVIS_HEIGHT_M
from sim.atlas.task import WALKING_SPEED_MPS

Array = npt.NDArray[Any]

HARMONICS = 6
CHANNELS = (
    'pelvis_tx',
    'pelvis_tz',
    'pelvis_ty',
    'pelvis_tilt',
    'pelvis_list',
    'pelvis_rotation',
    *LEG_JOINTS,
)
_DRIFTING = ('pelvis_tx', 'pelvis_tz', 'pelvis_rotation')
_MIRROR_NEGATES = ('pelvis_tz', 'pelvis_list', 'pelvis_rotation')


@dataclass(frozen=True)
class MocapCycle:
    """A periodic gait as a Fourier series."""

    coefficients: Array  # [1 + 2 HARMONICS, 16], in the order of CHANNELS
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
        :return: [seconds rate_hz + 1, 30].
        """
        times = np.arange(round(seconds * rate_hz) + 1) / rate_hz
        phases = phase + times / self.period_s
        positions = _basis(phases) @ self.coefficients
        velocities = _basis_slope(phases) @ self.coefficients / self.period_s
        velocities[:, 0] += WALKING_SPEED_MPS
        positions[:, 2] += PELVIS_HEIGHT_M
        return np.concatenate((positions[:, 2:], velocities), axis=1)


def read_cycle(path: Path | str, *, rate_hz: float = 500.0) -> MocapCycle:
    """
    Read a clip and make a cycle of it.

    :param path: an npz with an array ``q_<joint>`` for each of CHANNELS.
    :param rate_hz: at which the clip was sampled.
    """
    with np.load(path, allow_pickle=False) as clip:
        missing = [name for name in CHANNELS if f'q_{name}' not in clip.files]
        if missing:
            raise ValueError(f'{path}: no arrays for {missing}; each joint is called q_<joint>')
        columns = [np.asarray(clip[f'q_{name}'], np.float64) for name in CHANNELS]
    if len({len(column) for column in columns}) != 1 or not np.isfinite(columns).all():
        raise ValueError(f'{path}: its arrays differ in length or hold values not finite')
    motion = np.stack(columns, axis=1)
    times = np.arange(len(motion)) / rate_hz
    speed = float(np.polyfit(times, motion[:, 0], 1)[0])
    motion = _without_drift(motion, times)
    # The cycle's length is the one at which clip and mirror image fit together best.
    candidates = np.arange(0.8, 1.6, 0.005)
    errors = [_fit(motion, times / period)[1] for period in candidates]
    period = float(candidates[int(np.argmin(errors))])
    coefficients, error = _fit(motion, times / period)
    return MocapCycle(
        coefficients=coefficients,
        period_s=period * speed / WALKING_SPEED_MPS,
        clip_period_s=period,
        clip_speed_mps=speed,
        fit_error_rad=error,
    )


def mirror(motion: Array) -> Array:
    """Return the motion as seen in a mirror: legs swapped, sideways quantities negated."""
    first = CHANNELS.index(LEG_JOINTS[0])
    middle = first + len(LEG_JOINTS) // 2
    pelvis, left, right = motion[:, :first], motion[:, first:middle], motion[:, middle:]
    signs = np.array([-1.0 if name in _MIRROR_NEGATES else 1.0 for name in CHANNELS[:first]])
    return np.concatenate((pelvis * signs, right, left), axis=1)


def _without_drift(motion: Array, times: Array) -> Array:
    """Take the straight line out of place and heading, so that what is left can repeat."""
    still = motion.copy()
    for name in _DRIFTING:
        column = CHANNELS.index(name)
        line = np.polyfit(times, still[:, column], 1)
        still[:, column] -= np.polyval(line, times)
    return still


def _fit(motion: Array, phases: Array) -> tuple[Array, float]:
    """Fit the series to the motion and, half a cycle later, to its mirror image."""
    basis = np.concatenate((_basis(phases), _basis(phases + 0.5)))
    target = np.concatenate((motion, mirror(motion)))
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
