# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
What of a bag is looked at and imported: the joints that were asked for, and the base.

Single samples that jump away and back are repaired before anything else is judged, so that
they neither end episodes nor spoil the comparison of velocities; they are counted and said.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from lsiq_core.types import Array
from lsiq_ros.bags.base_samples import base_readings, CHILD, choose_odometry
from lsiq_ros.bags.episodes import find_windows, read_marks, Window
from lsiq_ros.bags.lint_joints import Limits
from lsiq_ros.bags.samples import BagSamples, Samples, Track
from lsiq_ros.bags.signals import find_frozen, find_spikes, moved, without
from lsiq_ros.bags.timeline import (
    Break,
    choose_clock,
    find_breaks,
    FROZEN,
    MAX_GAP_S,
    origin_ns,
    times_s,
)
import numpy as np

LEAST_SPIKE = {'position': 0.02, 'velocity': 4.0}  # rad and rad/s, or m and m/s
LEAST_MOTION = 0.01  # rad or m: of another joint, while this one is frozen
OUTSIDE, SHORT, EDGES = 'outside of episodes', 'too short', 'edges of episodes'


@dataclass(frozen=True)
class Wanted:
    """What the bag is to be good for."""

    robot: str = ''
    rate_hz: float = 100.0
    joints: tuple[str, ...] | None = None  # that must be there; all of the bag's if None
    soles: tuple[str, ...] = ()  # whose wrenches must be there
    base: bool | None = None  # None: looked at if it is there
    base_topic: str | None = None
    twist_frame: str = CHILD
    base_shift_s: float = 0.0  # added to the stamps of the base
    limits: Limits = field(default_factory=dict)
    locked: dict[str, float] = field(default_factory=dict)  # joints that the robot holds
    max_gap_s: float = MAX_GAP_S
    min_episode_s: float = 0.5


@dataclass(frozen=True)
class Prepared:
    """A bag reduced to what is wanted of it."""

    samples: BagSamples  # the wanted joints alone, without spikes
    base: Samples | None  # as a chain of joints, without spikes
    clock: str
    origin_ns: int
    spikes_s: dict[str, tuple[float, ...]]  # joint or base term -> when
    frozen_s: dict[str, tuple[tuple[float, float], ...]]
    frozen: tuple[Break, ...]

    def seconds(self, group: Samples | Track) -> Array:
        """Return the times of messages since the first state of the bag."""
        return times_s(group, self.clock, self.origin_ns)

    @property
    def moving(self) -> list[Samples]:
        """Return the groups that tell where the robot is."""
        groups = [group for group in self.samples.joints if len(group.received_ns) > 1]
        if self.base is not None and len(self.base.received_ns) > 1:
            groups.append(self.base)
        return groups


def prepare(samples: BagSamples, wanted: Wanted) -> Prepared:
    """Reduce a bag to what is wanted of it, and repair spikes."""
    clock = choose_clock(samples)
    asked = samples.joint_names() if wanted.joints is None else wanted.joints
    groups = [group.only(asked) for group in samples.joints]
    groups = [group for group in groups if group.columns]
    odometry = None if wanted.base is False else choose_odometry(samples, wanted.base_topic)
    if odometry is not None and wanted.base_shift_s:
        shift_ns = round(wanted.base_shift_s * 1e9)
        later = odometry.stamp_ns + shift_ns, odometry.received_ns + shift_ns
        odometry = replace(odometry, stamp_ns=later[0], received_ns=later[1])
    base = None if odometry is None else base_readings(odometry, wanted.twist_frame)
    origin = origin_ns([*groups, *([base] if base else [])], clock)
    spikes: dict[str, tuple[float, ...]] = {}
    repaired = [_repaired(group, times_s(group, clock, origin), spikes) for group in groups]
    if base is not None:
        base = _repaired(base, times_s(base, clock, origin), spikes)
    reduced = replace(samples, joints=tuple(repaired), odometry=(odometry,) if odometry else ())
    frozen_s: dict[str, tuple[tuple[float, float], ...]] = {}
    breaks: list[Break] = []
    for group in repaired:
        breaks += _find_frozen(group, times_s(group, clock, origin), frozen_s)
    return Prepared(reduced, base, clock, origin, spikes, frozen_s, tuple(breaks))


def _repaired(group: Samples, times: Array, spikes: dict[str, tuple[float, ...]]) -> Samples:
    values = {quantity: rows.copy() for quantity, rows in group.values.items()}
    for column, name in enumerate(group.columns):
        for quantity, least in LEAST_SPIKE.items():
            marked = find_spikes(values[quantity][:, column], least)
            if marked.any():
                pair = values['position'][:, column], values['velocity'][:, column]
                marked &= ~moved(quantity, *pair, times)
            if marked.any():
                values[quantity][:, column] = without(values[quantity][:, column], marked)
                spikes[name] = spikes.get(name, ()) + tuple(times[marked].tolist())
    return group.holding(group.columns, values)


def _find_frozen(
    group: Samples, times: Array, found: dict[str, tuple[tuple[float, float], ...]]
) -> list[Break]:
    """Note when a joint keeps one value while its velocity or the other joints say it moves."""
    position, velocity, breaks = group.values['position'], group.values['velocity'], []
    for column, name in enumerate(group.columns):
        others = np.delete(position, column, axis=1)
        for first, last in find_frozen(times, position[:, column]):
            rows = slice(first, last + 1)
            speed = np.abs(velocity[rows, column])
            moves = others.shape[1] > 0 and np.ptp(others[rows], axis=0).max() > LEAST_MOTION
            if moves or (np.isfinite(speed).all() and speed.mean() > LEAST_MOTION):
                found[name] = (*found.get(name, ()), (float(times[first]), float(times[last])))
                ends = int(group.received_ns[first]), int(group.received_ns[last])
                breaks.append(Break(*ends, FROZEN))
    return breaks


def find_episodes(
    prepared: Prepared, wanted: Wanted, trusted: Sequence[str]
) -> tuple[list[Window], list[Break]]:
    """
    Return the episodes of a bag, and where and why it breaks.

    :param trusted: joints and base terms whose velocities agree with their positions.
    """
    moving = prepared.moving
    if not moving:
        return [], []
    breaks = [
        one
        for group in moving
        for one in find_breaks(group, prepared.clock, max_gap_s=wanted.max_gap_s, trusted=trusted)
    ]
    breaks += prepared.frozen
    first_ns = min(int(group.received_ns.min()) for group in moving)
    last_ns = max(int(group.received_ns.max()) for group in moving)
    marks = read_marks(prepared.samples.custom_data, prepared.samples.source)
    return find_windows(marks, first_ns, last_ns, breaks), breaks


def account(
    prepared: Prepared,
    windows: Sequence[Window],
    breaks: Sequence[Break],
    used_s: Sequence[float | None],
) -> dict[str, float]:
    """
    Return how long a bag was discarded, by reason; with what is used it is the whole bag.

    :param used_s: how much of each is used, None for those that are too short.
    """
    group = max(prepared.moving, key=lambda one: len(one.received_ns), default=None)
    if group is None:
        return {}
    steps = np.maximum(np.diff(prepared.seconds(group)), 0.0)
    begin, end = group.received_ns[:-1], group.received_ns[1:]
    discarded: dict[str, float] = {}
    counted = np.zeros(len(steps), bool)

    def count(reason: str, seconds: float) -> None:
        if seconds > 5e-4:
            discarded[reason] = discarded.get(reason, 0.0) + seconds

    for window, used in zip(windows, used_s, strict=True):
        inside = (begin >= window.first_ns) & (end <= window.last_ns) & ~counted
        counted |= inside
        seconds = float(steps[inside].sum())
        count(SHORT if used is None else EDGES, seconds - (used or 0.0))
    for one in breaks:
        across = (begin < one.first_ns) & (end > one.last_ns) & ~counted
        counted |= across
        count(one.reason, float(steps[across].sum()))
    count(OUTSIDE, float(steps[~counted].sum()))
    return discarded
