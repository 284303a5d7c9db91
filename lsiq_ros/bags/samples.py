# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Collect what training needs from a bag: joints, odometry and wrenches as arrays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
import math
from pathlib import Path
from typing import NamedTuple

from lsiq_core.types import Array
from lsiq_ros.bags.errors import BagError
from lsiq_ros.bags.message_types import JOINT_STATE, ODOMETRY, WRENCH
from lsiq_ros.bags.reader import DEFAULT_LIMITS, Limits, open_bag
from lsiq_ros.wire.cdr import CdrError, JointStateReader, OdometryReader, WrenchReader
import numpy as np

QUANTITIES = ('position', 'velocity', 'effort')
STATE_TYPES = (JOINT_STATE, ODOMETRY, WRENCH)


@dataclass(frozen=True)
class Samples:
    """Messages of one kind on one topic, in the order they were received."""

    topic: str
    columns: tuple[str, ...]  # joint names, or what the kind is made of
    stamp_ns: Array  # [n] the header's, zero where it was not set
    received_ns: Array  # [n]
    values: dict[str, Array]  # quantity -> [n, columns], NaN where absent
    frame: str = ''
    child_frame: str = ''
    unstamped: int = 0  # messages without a stamp among stamped ones; theirs were filled in

    @property
    def is_odometry(self) -> bool:
        """Return whether this is odometry."""
        return bool(self.child_frame)

    @property
    def stamped(self) -> bool:
        """Return whether the headers' stamps can be used."""
        return bool(np.all(self.stamp_ns != 0))

    def holding(self, columns: tuple[str, ...], values: dict[str, Array]) -> Samples:
        """Return other values of the same messages."""
        return replace(self, columns=columns, values=values)

    def only(self, wanted: Collection[str]) -> Samples:
        """Return the wanted columns alone."""
        at = [index for index, name in enumerate(self.columns) if name in wanted]
        values = {quantity: rows[:, at] for quantity, rows in self.values.items()}
        return self.holding(tuple(self.columns[index] for index in at), values)


@dataclass(frozen=True)
class BagSamples:
    """All states of a bag."""

    source: str
    joints: tuple[Samples, ...]  # one for each topic and set of names
    odometry: tuple[Samples, ...]  # 'pose' [n, 7] and 'twist' [n, 6]
    wrenches: tuple[Samples, ...]  # 'wrench' [n, 6]
    malformed: dict[str, int] = field(default_factory=dict)  # topic -> messages left out
    custom_data: dict[str, str] = field(default_factory=dict)

    @property
    def groups(self) -> tuple[Samples, ...]:
        """Return everything."""
        return (*self.joints, *self.odometry, *self.wrenches)

    def joint_names(self) -> tuple[str, ...]:
        """Return every joint once, in the order of first appearance."""
        return tuple(dict.fromkeys(name for group in self.joints for name in group.columns))


class Track(NamedTuple):
    """One joint through the whole bag, wherever its name stood."""

    stamp_ns: Array  # [n]
    received_ns: Array  # [n]
    values: dict[str, Array]  # quantity -> [n]


@dataclass(frozen=True)
class Stream:
    """Named columns that were measured together."""

    stamp_ns: Array  # [n]
    received_ns: Array  # [n]
    columns: dict[str, Array]  # term -> [n]
    derive: dict[str, str]  # velocity term -> the position term to differentiate


Timed = Samples | Track | Stream  # all with stamps and times of receipt


def read_samples(
    path: Path, topics: Collection[str] | None = None, limits: Limits = DEFAULT_LIMITS
) -> BagSamples:
    """
    Read the state topics of a bag.

    :param topics: names of topics to read; all joint states, odometry and wrenches if None.
    """
    with open_bag(path, limits) as bag:
        chosen = _choose_topics(path, bag.types, topics)
        collect = _Collector()
        for message in bag.messages(chosen):
            collect(message.topic, message.type, message.received_ns, message.data)
        return collect.result(str(path), bag.custom_data)


def track(samples: BagSamples, joint: str) -> Track:
    """Follow one joint by its name over all messages that hold it."""
    groups = [group for group in samples.joints if joint in group.columns]
    if not groups:
        raise BagError(
            f'{samples.source}: no joint {joint!r}, found {list(samples.joint_names())}'
        )
    received = np.concatenate([group.received_ns for group in groups])
    order = np.argsort(received, kind='stable')
    values = {
        quantity: np.concatenate(
            [group.values[quantity][:, group.columns.index(joint)] for group in groups]
        )[order]
        for quantity in QUANTITIES
    }
    stamps = np.concatenate([group.stamp_ns for group in groups])[order]
    return Track(stamps, received[order], values)


def _choose_topics(path: Path, types: dict[str, str], topics: Collection[str] | None) -> list[str]:
    if topics is None:
        return [name for name, type_name in types.items() if type_name in STATE_TYPES]
    wanted = {name if name.startswith('/') else f'/{name}' for name in topics}
    missing = sorted(wanted - set(types))
    if missing:
        raise BagError(f'{path}: no topic {missing}, found {types}')
    wrong = {name: types[name] for name in wanted if types[name] not in STATE_TYPES}
    if wrong:
        raise BagError(f'{path}: {wrong} cannot be read as states, only {list(STATE_TYPES)}')
    return sorted(wanted)


@dataclass
class _Rows:
    """Messages of one kind, still as lists."""

    frames: tuple[str, str] = ('', '')
    stamps: list[int] = field(default_factory=list)
    received: list[int] = field(default_factory=list)
    values: dict[str, list[Sequence[float]]] = field(default_factory=dict)

    def add(self, stamp_ns: int, received_ns: int, **values: Sequence[float]) -> None:
        self.stamps.append(stamp_ns)
        self.received.append(received_ns)
        for quantity, row in values.items():
            self.values.setdefault(quantity, []).append(row)

    def samples(self, topic: str, columns: tuple[str, ...]) -> Samples:
        received = np.array(self.received, np.int64)
        stamps, unstamped = _filled(np.array(self.stamps, np.int64), received)
        values = {quantity: np.array(rows, np.float64) for quantity, rows in self.values.items()}
        return Samples(topic, columns, stamps, received, values, *self.frames, unstamped)


def _filled(stamp_ns: Array, received_ns: Array) -> tuple[Array, int]:
    """
    Give messages without a stamp the one that their neighbours' delays suggest.

    Where most have none, none is trusted and all become zero.
    """
    bare = stamp_ns == 0
    count = int(np.count_nonzero(bare))
    if count == 0:
        return stamp_ns, 0
    if 2 * count > len(stamp_ns):
        return np.zeros_like(stamp_ns), 0
    rows = np.arange(len(stamp_ns))
    delays = (received_ns - stamp_ns)[~bare]
    shortest = int(delays.min())  # whole nanoseconds since 1970 do not fit into a float
    filled = stamp_ns.copy()
    extra = np.interp(rows[bare], rows[~bare], (delays - shortest).astype(np.float64))
    filled[bare] = received_ns[bare] - shortest - np.round(extra).astype(np.int64)
    return filled, count


class _Collector:
    """Sort messages by topic and, for joints, by the names they carry."""

    def __init__(self) -> None:
        self._joints: dict[tuple[str, tuple[str, ...]], _Rows] = {}
        self._odometry: dict[str, _Rows] = {}
        self._wrenches: dict[str, _Rows] = {}
        self._malformed: Counter[str] = Counter()
        self._read_joints = JointStateReader()
        self._read_odometry, self._read_wrench = OdometryReader(), WrenchReader()
        self._take: dict[str, Callable[[str, int, bytes], None]] = {
            JOINT_STATE: self._take_joints,
            ODOMETRY: self._take_odometry,
            WRENCH: self._take_wrench,
        }

    def __call__(self, topic: str, type_name: str, received_ns: int, data: bytes) -> None:
        try:
            self._take[type_name](topic, received_ns, data)
        except CdrError:
            self._malformed[topic] += 1

    def _take_joints(self, topic: str, received_ns: int, data: bytes) -> None:
        state = self._read_joints(data)
        joints = len(state.names)
        rows = {}
        for quantity in QUANTITIES:
            row = getattr(state, quantity)
            if len(row) not in (0, joints) or joints == 0:
                raise CdrError(f'{joints} names but {len(row)} values of {quantity}')
            rows[quantity] = row or (math.nan,) * joints
        group = self._joints.setdefault((topic, state.names), _Rows())
        group.add(state.stamp_ns, received_ns, **rows)

    def _take_odometry(self, topic: str, received_ns: int, data: bytes) -> None:
        odometry = self._read_odometry(data)
        place, turn, linear, angular = odometry.base
        rows = self._odometry.setdefault(topic, _Rows((odometry.frame, odometry.child_frame)))
        rows.add(odometry.stamp_ns, received_ns, pose=place + turn, twist=linear + angular)

    def _take_wrench(self, topic: str, received_ns: int, data: bytes) -> None:
        wrench = self._read_wrench(data)
        rows = self._wrenches.setdefault(topic, _Rows((wrench.frame, '')))
        rows.add(wrench.stamp_ns, received_ns, wrench=wrench.force_n + wrench.torque_nm)

    def result(self, source: str, custom_data: dict[str, str]) -> BagSamples:
        return BagSamples(
            source,
            tuple(rows.samples(topic, names) for (topic, names), rows in self._joints.items()),
            tuple(rows.samples(topic, ()) for topic, rows in self._odometry.items()),
            tuple(rows.samples(topic, ()) for topic, rows in self._wrenches.items()),
            dict(self._malformed),
            custom_data,
        )
