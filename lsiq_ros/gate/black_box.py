# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""The last seconds before a trip, kept in memory until somebody needs them."""

from __future__ import annotations

from collections import deque
import threading
from typing import Any, NamedTuple


class Entry(NamedTuple):
    """One message on one topic; ``message`` is whatever the edge put in."""

    topic: str
    stamp_ns: int
    message: Any


class BlackBox:
    """
    A ring of messages of the last seconds.

    :param seconds: how far back it reaches.
    :param most_entries: how many messages it holds at most, whatever the rates are.
    """

    def __init__(self, seconds: float = 10.0, most_entries: int = 200_000) -> None:
        self.seconds = seconds
        self._entries: deque[Entry] = deque(maxlen=most_entries)
        self._lock = threading.Lock()

    def add(self, topic: str, stamp_ns: int, message: Any) -> None:
        """Remember a message and forget what is too old."""
        oldest_ns = stamp_ns - int(self.seconds * 1e9)
        with self._lock:
            self._entries.append(Entry(topic, stamp_ns, message))
            while self._entries and self._entries[0].stamp_ns < oldest_ns:
                self._entries.popleft()

    def snapshot(self) -> list[Entry]:
        """Return what is remembered, oldest first."""
        with self._lock:
            return sorted(self._entries, key=lambda entry: entry.stamp_ns)
