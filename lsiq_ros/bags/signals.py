# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""What a person sees in one channel of a recording: spikes, a frozen value, noise."""

import math

from lsiq_core.types import Array
import numpy as np

SPIKE_DEVIATIONS = 10.0  # a spike stands out by so many robust standard deviations
SAME_MOTION = 0.25  # of a jump must show in the other quantity
FROZEN_S = 0.2  # no joint of a moving robot keeps one value to the last digit for so long
_NORMAL = 1.4826  # standard deviation over median absolute deviation of a normal distribution


def find_spikes(values: Array, least: float) -> Array:
    """
    Return for every sample whether it alone jumps away and back.

    :param least: a smaller deviation is no spike.
    """
    found = np.zeros(len(values), bool)
    if len(values) < 5:
        return found
    before, middle, after = values[:-2], values[1:-1], values[2:]
    away = middle - (before + after) / 2
    known = np.isfinite(away)
    if not known.any():
        return found
    far = np.abs(away) > max(SPIKE_DEVIATIONS * _spread(away), least)
    back = np.abs(after - before) < np.abs(away) / 2  # else it stays there: a jump or a strike
    found[1:-1] = known & far & back
    return found


def moved(quantity: str, position: Array, velocity: Array, times: Array) -> Array:
    """
    Return for every sample whether the other quantity shows the same motion.

    A foot that strikes the floor jumps and comes back, too, but in position and velocity alike.
    """
    period_s = float(np.median(np.diff(times))) if len(times) > 1 else 1.0
    turned = np.abs(np.convolve(position, (1, -2, 1), 'same')) / period_s  # as a velocity
    shaken = np.abs(np.convolve(velocity, (-0.5, 1, -0.5), 'same'))
    if quantity == 'velocity':
        return np.asarray(_near(turned) > SAME_MOTION * shaken)
    reachable = turned <= 4 * _near(np.abs(velocity))
    return np.asarray(reachable & (_near(shaken) > SAME_MOTION * turned))


def _near(values: Array) -> Array:
    """Return the largest of each value and its neighbours."""
    padded = np.pad(values, 1, mode='edge')
    return np.maximum(np.maximum(padded[:-2], padded[1:-1]), padded[2:])


def without(values: Array, marked: Array) -> Array:
    """Return the values with the marked ones interpolated between their neighbours."""
    good = ~marked & np.isfinite(values)
    if good.all() or not good.any():
        return values
    rows = np.arange(len(values))
    repaired = values.copy()
    repaired[marked] = np.interp(rows[marked], rows[good], values[good])
    return repaired


def find_frozen(times: Array, values: Array) -> list[tuple[int, int]]:
    """
    Return where a channel keeps one value for long, as first and last row.

    A channel that seldom changes at all (a locked joint, a coarse sensor) is not frozen.
    """
    if len(values) < 3:
        return []
    same = np.diff(values) == 0
    if same.mean() > 0.9:
        return []
    edges = np.flatnonzero(np.diff(np.concatenate(([False], same, [False])).astype(int)))
    runs = zip(edges[::2].tolist(), edges[1::2].tolist())
    return [
        (first, last)
        for first, last in runs
        if last - first > 1 and times[last] - times[first] >= FROZEN_S  # two may surround a gap
    ]


def noise_levels(times: Array, position: Array, velocity: Array) -> tuple[float, float]:
    """
    Return how noisy positions and velocities are at most, as standard deviations.

    Two estimates bound the noise from above, and the smaller one counts. Third differences take
    a smooth motion out. The step that is left when positions are compared with the velocities
    between them, r = x' - x - h (v + v') / 2, takes out any motion that the velocities know:
    var r = 2 sx^2 + h^2 sv^2 / 2 and cov(r, r') = -sx^2 + h^2 sv^2 / 4. Medians ignore strikes.
    """
    by_thirds = _by_thirds(position), _by_thirds(velocity)
    steps = np.diff(times)
    left = np.diff(position) - steps * (velocity[1:] + velocity[:-1]) / 2
    regular = (steps > 0) & np.isfinite(left)
    if np.count_nonzero(regular) < 20:
        return by_thirds
    period = float(np.median(steps[regular]))
    single, double = _spread(left[regular]) ** 2, _spread((left[1:] + left[:-1])[regular[1:]]) ** 2
    covariance = double / 2 - single
    positions = math.sqrt(max(single - 2 * covariance, 0.0) / 4)
    # A tenth of the variance is what chance leaves undecided in some hundred samples.
    velocities = math.sqrt(max(single + 2 * covariance, single / 10)) / period
    return min(by_thirds[0], positions), min(by_thirds[1], velocities)


def _by_thirds(values: Array) -> float:
    thirds = np.diff(values[np.isfinite(values)], n=3)
    return _spread(thirds) / math.sqrt(20) if len(thirds) >= 20 else 0.0


def _spread(values: Array) -> float:
    """Return the standard deviation as the middle half of the values tells it."""
    values = values[np.isfinite(values)]
    if not len(values):
        return 0.0
    return _NORMAL * float(np.median(np.abs(values - np.median(values))))
