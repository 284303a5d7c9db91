# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
Smooth recorded positions and velocities together, without delay, by as much as they are noisy.

A channel is one quantity with two readings: its position and, where there is one, its
velocity. The smoothed positions x minimise

    sum (x - position)^2 / sigma_p^2 + sum (dx/dt - velocity)^2 / sigma_v^2
        + stiffness sum (d^3x/dt^3)^2

The noise levels sigma are estimated from the recording: a motion is smooth over a few samples,
noise is not, so third differences show the noise. The stiffness is the largest at which what is
taken away is no larger than the noise. A missing sample (NaN) has no weight and is filled.
"""

from typing import NamedTuple

from lsiq_core.types import Array
import numpy as np
from scipy.linalg import solveh_banded

_ORDER = 3  # of the differences that show noise, and of the derivative that is kept small
_BAND = _ORDER + 1  # diagonals of the equations above and with the main one
_DIFFERENCE_VARIANCE = 20.0  # of a third difference of unit white noise: C(6, 3)
_NORMAL_MAD = 1.4826  # standard deviation of a normal variable whose median deviation is one
_ROUNDS = 16  # of bisection of the logarithm of the stiffness
_FEWEST = 8  # samples that can be smoothed


class Smoothed(NamedTuple):
    """Smoothed readings, and what was found out about their noise."""

    position: Array  # [T, C]
    velocity: Array  # [T, C], the derivative of the position
    position_noise: Array  # [C], standard deviation
    velocity_noise: Array  # [C], NaN where there was no velocity


def noise_level(samples: Array) -> float:
    """
    Return the standard deviation of white noise on a smooth signal.

    :param samples: [T]; gaps are NaN.
    """
    differences = np.diff(samples, n=_ORDER)
    differences = differences[np.isfinite(differences)]
    if not len(differences):
        return 0.0
    # The median is not moved by the few differences that contain a real impact.
    return float(_NORMAL_MAD * np.median(np.abs(differences)) / np.sqrt(_DIFFERENCE_VARIANCE))


def smooth(position: Array, velocity: Array | None, rate_hz: float) -> Smoothed:
    """
    Smooth one episode.

    :param position: [T, C], angles unwrapped; gaps are NaN.
    :param velocity: [T, C] measured velocities, or None.
    """
    length, channels = position.shape
    if length < _FEWEST:
        raise ValueError(f'{length} samples are too few to smooth; {_FEWEST} are needed')
    measured = np.full_like(position, np.nan) if velocity is None else velocity
    columns = [
        _smooth_channel(position[:, channel], measured[:, channel], rate_hz)
        for channel in range(channels)
    ]
    x, dx, sigma_p, sigma_v = (np.stack(part, axis=-1) for part in zip(*columns))
    return Smoothed(x, dx, sigma_p, sigma_v)


def _smooth_channel(p: Array, v: Array, rate_hz: float) -> tuple[Array, Array, float, float]:
    sigma_p = noise_level(p)
    has_velocity = bool(np.isfinite(v).any())
    sigma_v = noise_level(v) if has_velocity else np.nan
    if np.isfinite(p).sum() < _FEWEST:
        raise ValueError(f'a channel holds {np.isfinite(p).sum()} samples of {len(p)}')
    span = np.nanmax(p) - np.nanmin(p)
    # Rounding to float32 is noise, too; without a floor the weights of a clean file overflow.
    sigma_p = max(sigma_p, 1e-7 * max(span, 1.0))
    if has_velocity:
        sigma_v = max(sigma_v, 1e-6 * max(float(np.nanmax(np.abs(v))), 1.0))
    weight_p = np.isfinite(p) / sigma_p**2
    weight_v = np.isfinite(v) / sigma_v**2 if has_velocity else np.zeros(len(p))
    data = _normal_equations(weight_p, weight_v, rate_hz)
    target = weight_p * np.nan_to_num(p) + _slope_transposed(weight_v * np.nan_to_num(v), rate_hz)
    roughness = _roughness(len(p))
    low, high = -6.0, 14.0  # powers of ten of the stiffness; weights are about 1 / sigma_p^2
    for _ in range(_ROUNDS):
        middle = (low + high) / 2
        x = _solve(data, target, roughness, 10**middle / sigma_p**2)
        if _misfit(x, p, v, sigma_p, sigma_v, rate_hz) <= 1.0:
            low = middle
        else:
            high = middle
    x = _solve(data, target, roughness, 10**low / sigma_p**2)
    return x, np.gradient(x, 1 / rate_hz), sigma_p, sigma_v


def _misfit(x: Array, p: Array, v: Array, sigma_p: float, sigma_v: float, rate_hz: float) -> float:
    """Return the distance from the readings (root mean square), in units of their noise."""
    taken = [(x - p) / sigma_p]
    if np.isfinite(sigma_v):
        taken.append((np.gradient(x, 1 / rate_hz) - v) / sigma_v)
    return max(float(np.sqrt(np.nanmean(part**2))) for part in taken)


def _slope_transposed(values: Array, rate_hz: float) -> Array:
    """Return the transpose of the central difference (one-sided at the ends) times values."""
    out = np.zeros_like(values)
    out[2:] += values[1:-1] * rate_hz / 2
    out[:-2] -= values[1:-1] * rate_hz / 2
    for row, (near, far) in ((0, (0, 1)), (-1, (-2, -1))):
        out[far] += values[row] * rate_hz
        out[near] -= values[row] * rate_hz
    return out


def _normal_equations(weight_p: Array, weight_v: Array, rate_hz: float) -> Array:
    """Return the banded matrix of both data terms, upper form [_BAND, T]."""
    length = len(weight_p)
    matrix = np.zeros((_BAND, length))
    matrix[-1] = weight_p
    inner = weight_v[1:-1] * rate_hz**2 / 4
    matrix[-1, 2:] += inner
    matrix[-1, :-2] += inner
    matrix[-3, 2:] -= inner
    for row, (near, far) in ((0, (0, 1)), (-1, (length - 2, length - 1))):
        weight = weight_v[row] * rate_hz**2
        matrix[-1, near] += weight
        matrix[-1, far] += weight
        matrix[-2, far] -= weight
    return matrix


def _roughness(length: int) -> Array:
    """Return the banded matrix of the sum of squared third differences."""
    stencil = np.array([-1.0, 3.0, -3.0, 1.0])
    matrix = np.zeros((_BAND, length))
    count = length - _ORDER
    for first in range(_BAND):
        for second in range(first, _BAND):
            columns = np.arange(second, second + count)
            matrix[_BAND - 1 - (second - first), columns] += stencil[first] * stencil[second]
    return matrix


def _solve(data: Array, target: Array, roughness: Array, stiffness: float) -> Array:
    solved: Array = solveh_banded(data + stiffness * roughness, target)
    return solved
