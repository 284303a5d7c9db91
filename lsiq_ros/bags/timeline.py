# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""When things happened: which clock to trust, and where the recording breaks."""

from collections.abc import Collection, Iterable
import math
from typing import NamedTuple

from lsiq_core.types import Array
from lsiq_ros.bags.samples import BagSamples, Samples, Timed
import numpy as np

HEADER, RECEIVED = 'header', 'received'
JUMP_RAD_OR_M = 0.1  # no joint or body moves so far beyond what its velocity explains
PAUSE_S = 1.0  # a longer silence says nothing about the rate
MAX_GAP_S = 0.1  # a longer silence ends an episode
WENT_BACK, GAP, JUMP, FROZEN = 'time went back', 'gap', 'jump', 'frozen'  # why it breaks
FASTEST = 50.0  # rad/s or m/s, for those that have no velocity


class Break(NamedTuple):
    """Nothing between these two instants belongs to one episode with both sides."""

    last_ns: int  # receive time of the last message before
    first_ns: int  # receive time of the first message after
    reason: str


def choose_clock(samples: BagSamples) -> str:
    """Trust the headers if every topic has stamps, else the time of receipt."""
    groups = samples.groups
    return HEADER if groups and all(group.stamped for group in groups) else RECEIVED


def times_s(group: Timed, clock: str, origin_ns: int = 0) -> Array:
    """Return the messages' times in seconds since the origin."""
    times = group.stamp_ns if clock == HEADER else group.received_ns
    return (times - origin_ns) / 1e9


def period_s(times: Array) -> float:
    """
    Return the usual time between two messages.

    That is the median, unless most messages come in bursts: then it is the mean.
    """
    steps = np.diff(times)
    steps = steps[(steps > 0) & (steps < PAUSE_S)]
    if not len(steps):
        return 0.0
    median, mean = float(np.median(steps)), float(np.mean(steps))
    return median if median > 0.5 * mean else mean


def longest_step_s(period: float, max_gap_s: float = MAX_GAP_S) -> float:
    """Return the longest silence that still lies within an episode."""
    return max(max_gap_s, 5 * period)


def find_breaks(
    group: Samples, clock: str, *, max_gap_s: float, trusted: Collection[str]
) -> list[Break]:
    """
    Find where time goes back, stands still too long, or the robot is put elsewhere.

    :param group: joints, or the base as a chain of joints.
    :param trusted: the columns whose velocities agree with their positions.
    """
    times = times_s(group, clock)
    steps = np.diff(times)
    jumped = _jumps(group, steps, trusted)
    longest = longest_step_s(period_s(times), max_gap_s)
    received = group.received_ns
    return [
        Break(int(received[row]), int(received[row + 1]), reason)
        for reason, where in (
            (WENT_BACK, steps < 0),
            (GAP, steps > longest),
            (JUMP, jumped & (steps >= 0) & (steps <= longest)),
        )
        for row in np.flatnonzero(where)
    ]


def _jumps(group: Samples, steps: Array, trusted: Collection[str]) -> Array:
    """
    Return for every step whether the robot was put elsewhere.

    One light joint may be struck harder than two samples can tell (an ankle at heel strike:
    0.2 rad within 10 ms), so a quarter of the joints must jump, or one by a radian. The base
    is too heavy for that: it jumps as a whole.
    """
    positions, velocities = group.values['position'], group.values['velocity']
    moved = np.diff(positions, axis=0)
    span = np.maximum(steps, 0)[:, None]
    allowed = np.broadcast_to(np.maximum(FASTEST * span, JUMP_RAD_OR_M), moved.shape)
    explained = (velocities[1:] + velocities[:-1]) / 2 * span
    known = np.isfinite(explained) & np.isin(group.columns, list(trusted))
    moved = moved - np.where(known, explained, 0)
    allowed = np.where(known, JUMP_RAD_OR_M, allowed)
    beyond = np.abs(moved) > allowed
    together = 1 if group.is_odometry else math.ceil(positions.shape[1] / 4)
    far = np.abs(moved) > np.maximum(allowed, 1.0)
    return (beyond.sum(axis=1) >= max(together, 1)) | far.any(axis=1)


def origin_ns(groups: Iterable[Timed], clock: str) -> int:
    """Return the earliest time of all, so that seconds stay small numbers."""
    times = [group.stamp_ns if clock == HEADER else group.received_ns for group in groups]
    return min((int(values.min()) for values in times if len(values)), default=0)
