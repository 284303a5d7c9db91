# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
Statistics over seeds: interquartile means and intervals.

As Agarwal et al. 2021 advise for few runs: the interquartile mean, with a bootstrap interval.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
# Two-sided 95 % quantiles of Student's t for 1 to 9 degrees of freedom.
_T95 = (12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)


class Interval(NamedTuple):
    """A figure and its 95 % interval."""

    value: float
    low: float
    high: float


def interquartile_mean(values: Array) -> Array:
    """
    Return the mean of the middle half along the last axis.

    With a number of values that four does not divide, the outer ones count in part.
    """
    ordered = np.sort(values, axis=-1)
    count = ordered.shape[-1]
    # Value i covers [i, i + 1] of [0, n]; its weight is what lies in [n/4, 3n/4].
    edges = np.arange(count)
    weights = np.clip(np.minimum(edges + 1, 0.75 * count) - np.maximum(edges, 0.25 * count), 0, 1)
    return np.asarray((ordered * weights).sum(-1) / weights.sum())


def bootstrap(values: Array, *, samples: int = 2000, seed: int = 0) -> Interval:
    """
    Return the interquartile mean with its percentile bootstrap interval.

    :param values: one figure for each seed, [N]; one alone has no interval but itself.
    """
    rng = np.random.default_rng(seed)
    drawn = rng.choice(values, size=(samples, len(values)))
    low, high = np.percentile(interquartile_mean(drawn), [2.5, 97.5])
    return Interval(float(interquartile_mean(values)), float(low), float(high))


def mean_interval(values: Array) -> Interval:
    """Return the mean with Student's 95 % interval, [N]; one alone has no interval but itself."""
    mean = float(values.mean())
    half = 0.0
    if len(values) > 1:
        half = student_quantile(len(values)) * float(values.std(ddof=1)) / len(values) ** 0.5
    return Interval(mean, mean - half, mean + half)


def student_quantile(count: int) -> float:
    """Return how many standard errors of ``count`` > 1 values make a 95 % interval."""
    return _T95[count - 2] if count - 2 < len(_T95) else 1.96
