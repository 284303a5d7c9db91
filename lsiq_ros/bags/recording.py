# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
A recording from start to stop: raw messages in, a bag with marks and counts out.

The node hands over what it takes from the topics; everything that is decided about it is
decided here, without ROS.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
import datetime
import json
import math
from pathlib import Path

from lsiq_core.types import FallBounds
from lsiq_ros.bags.episodes import (
    BEGINNINGS,
    FALL,
    Mark,
    MARKS_KEY,
    marks_to_json,
    RESET,
    START,
    STOP,
)
from lsiq_ros.bags.lint_topics import DROPS_KEY
from lsiq_ros.bags.message_types import JOINT_STATE, ODOMETRY, RawMessage
from lsiq_ros.bags.metadata import BagMetadata, Qos
from lsiq_ros.bags.recover import EPISODE_NOTE, RECORDING_NOTE
from lsiq_ros.bags.writer import BagWriter, MIN_FREE_BYTES
from lsiq_ros.wire.base import cosine_from_upright
from lsiq_ros.wire.cdr import CdrError, JointStateReader, Odometry, OdometryReader

NAMED_AFTER = 50  # messages of a topic, by then every joint has appeared
SAME_EVENT_NS = 200_000_000  # beginnings closer than this are one event seen twice


@dataclass(frozen=True)
class RecordingSettings:
    """What a recording is to be like."""

    root: Path = Path('bags')
    name: str = 'recording'
    source: str = ''
    with_effort: bool = False
    fall: FallBounds = field(default_factory=FallBounds)
    min_free_bytes: int = MIN_FREE_BYTES
    compress: bool = True


class Recording:
    """One bag in the making."""

    def __init__(self, settings: RecordingSettings, wall_ns: int) -> None:
        """Open the bag; ``wall_ns`` is the time now, for its name."""
        self.settings = settings
        self.marks: list[Mark] = []
        self.drops: Counter[str] = Counter()
        self.malformed: Counter[str] = Counter()  # joint states left out
        self._uncounted: set[str] = set()  # topics with several publishers
        self._sequences: dict[str, int] = {}
        self._spans_ns: dict[str, tuple[int, int]] = {}
        self._joints: dict[str, None] = {}
        self._read_joints, self._read_odometry = JointStateReader(), OdometryReader()
        self._resets: dict[str, ResetWatch] = {}
        self._falls: dict[str, FallWatch] = {}
        self._in_episode = False
        self._latest_stamp_ns = 0  # of the joint states
        custom = {'lsiq_source': settings.source, 'lsiq_with_effort': str(settings.with_effort)}
        self._writer = BagWriter(
            _new_directory(settings.root, settings.name, wall_ns),
            custom_data=custom,
            min_free_bytes=settings.min_free_bytes,
            compress=settings.compress,
        )

    @property
    def directory(self) -> Path:
        """Return where the bag lies."""
        return self._writer.directory

    @property
    def counts(self) -> Counter[str]:
        """Return how many messages were written, by topic."""
        return self._writer.counts

    @property
    def episodes(self) -> int:
        """Return how many episodes have begun."""
        return sum(mark.reason in BEGINNINGS for mark in self.marks)

    def take(self, message: RawMessage, offered_qos: Callable[[str], Sequence[Qos]]) -> None:
        """
        Write one message and notice what it means.

        :param offered_qos: asked once with the topic, when its first message comes.
        """
        if not self._writer.has_topic(message.topic):
            self._writer.add_topic(
                message.topic, message.type, offered_qos(message.topic) or (Qos(),)
            )
        if not self.marks:
            self.mark(Mark(message.received_ns, START))
        self._count_drops(message)
        self._notice(message)
        data = self._what_is_kept(message)
        if data is None:
            self.malformed[message.topic] += 1
            return
        first, _ = self._spans_ns.setdefault(message.topic, (message.received_ns, 0))
        self._spans_ns[message.topic] = (first, message.received_ns)
        self._writer.write(
            message.topic,
            message.received_ns,
            data,
            publish_ns=message.published_ns,
            sequence=message.sequence,
        )

    def mark(self, mark: Mark) -> None:
        """Begin or end an episode."""
        if mark.reason in BEGINNINGS:
            last = self.marks[-1] if self.marks else None
            repeated = last is not None and last.reason in BEGINNINGS
            if last and repeated and mark.received_ns - last.received_ns < SAME_EVENT_NS:
                return
        elif not self._in_episode:
            return  # what is not begun cannot end
        self._in_episode = mark.reason in BEGINNINGS
        self.marks.append(mark)
        self._writer.note(EPISODE_NOTE, {'mark': mark.as_json()})

    def event(self, reason: str, received_ns: int) -> None:
        """Note what the robot itself announced: ``reset``, ``fall``, ``split`` or ``start``."""
        stamp = self._latest_stamp_ns if reason == FALL else 0
        self.mark(Mark(received_ns, reason, stamp))

    def do_not_count_drops(self, topic: str) -> None:
        """Give up counting where several publishers mix their sequences."""
        self._uncounted.add(topic)
        self.drops.pop(topic, None)

    def flush_if_due(self, steady_ns: int) -> None:
        """Hand the messages to the operating system several times a second."""
        self._writer.flush_if_due(steady_ns)

    def stop(self, wall_ns: int) -> BagMetadata:
        """Finish the bag."""
        self.mark(Mark(wall_ns, STOP))
        return self._writer.close(self._summary())

    def _summary(self) -> dict[str, str]:
        counted = [topic for topic in self._sequences if topic not in self._uncounted]
        rates = {}
        for topic, (first, last) in self._spans_ns.items():
            if last > first:
                rates[topic] = round((self.counts[topic] - 1) / ((last - first) / 1e9), 3)
        return {
            MARKS_KEY: marks_to_json(self.marks),
            DROPS_KEY: json.dumps({topic: self.drops[topic] for topic in counted}),
            'lsiq_joint_names': json.dumps(list(self._joints)),
            'lsiq_rates_hz': json.dumps(rates),
            'lsiq_malformed': json.dumps(self.malformed),
        }

    def _count_drops(self, message: RawMessage) -> None:
        if not message.sequence or message.topic in self._uncounted:
            return
        before = self._sequences.get(message.topic, message.sequence - 1)
        if message.sequence > before:  # else the publisher started again
            self.drops[message.topic] += message.sequence - before - 1
        self._sequences[message.topic] = message.sequence

    def _what_is_kept(self, message: RawMessage) -> bytes | None:
        """Return the bytes to write; None for a joint state that cannot be understood."""
        if message.type != JOINT_STATE or self.settings.with_effort:
            return message.data
        try:
            return self._read_joints.without_effort(message.data)
        except CdrError:
            return None

    def _notice(self, message: RawMessage) -> None:
        try:
            if message.type == JOINT_STATE:
                self._notice_joints(message)
            elif message.type == ODOMETRY:
                self._notice_base(message)
        except CdrError:
            return  # the linter will say which messages are malformed

    def _notice_joints(self, message: RawMessage) -> None:
        joints = self._read_joints(message.data)
        if self.counts[message.topic] <= NAMED_AFTER:
            known = len(self._joints)
            self._joints |= dict.fromkeys(joints.names)
            if len(self._joints) > known:
                names = json.dumps(list(self._joints))
                self._writer.note(RECORDING_NOTE, {'lsiq_joint_names': names})
        self._latest_stamp_ns = joints.stamp_ns
        watch = self._resets.setdefault(message.topic, ResetWatch())
        if watch.went_back(joints.stamp_ns):
            self.mark(Mark(message.received_ns, RESET, joints.stamp_ns))

    def _notice_base(self, message: RawMessage) -> None:
        watch = self._falls.setdefault(message.topic, FallWatch(self.settings.fall))
        odometry = self._read_odometry(message.data)
        event = watch.event(odometry)
        if event is not None and (event == FALL or not self._in_episode):
            self.mark(Mark(message.received_ns, event, odometry.stamp_ns))


def is_fallen(bounds: FallBounds, odometry: Odometry) -> bool:
    """Return whether odometry shows a robot too low or leaning too far."""
    if bounds == FallBounds():
        return False
    base = odometry.base
    if not bounds.height_m[0] <= base.position_m[2] <= bounds.height_m[1]:
        return True
    if math.isinf(bounds.lean_rad):
        return False
    return not cosine_from_upright(base.orientation_xyzw) >= math.cos(bounds.lean_rad)


class ResetWatch:
    """Notice when the stamps of a topic go back, as they do when a simulation starts again."""

    def __init__(self) -> None:
        self._latest_ns = 0

    def went_back(self, stamp_ns: int) -> bool:
        """Return whether this stamp is earlier than the one before."""
        back = stamp_ns < self._latest_ns and stamp_ns != 0
        self._latest_ns = stamp_ns
        return back


class FallWatch:
    """Turn poses into events: a fall once, and a reset when the robot stands again."""

    def __init__(self, bounds: FallBounds) -> None:
        self._bounds = bounds
        self._fallen = False

    def event(self, odometry: Odometry) -> str | None:
        """Return ``fall``, ``reset`` or None."""
        fallen = is_fallen(self._bounds, odometry)
        changed = fallen != self._fallen
        self._fallen = fallen
        if not changed:
            return None
        return FALL if fallen else RESET


def _new_directory(root: Path, name: str, wall_ns: int) -> Path:
    moment = datetime.datetime.fromtimestamp(wall_ns / 1e9).strftime('%Y_%m_%d-%H_%M_%S')
    directory = root / f'{name}_{moment}'
    number = 1
    while directory.exists():
        number += 1
        directory = root / f'{name}_{moment}_{number}'
    return directory
