# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Whether a message is new, in order and in time, judged by its stamp and its arrival."""

from __future__ import annotations

from collections import Counter

from lsiq_ros.gate.checks import Check


class StampFilter:
    """
    Follow one source of stamped messages.

    The clock of the stamps need not be ours. How late a message is, is how much longer it
    took than the quickest one lately; the memory of the quickest fades by ``clock_drift``,
    so that a simulation that runs a little slow does not look later and later.

    :param name: of the source, for people.
    :param clock_drift: how much slower than ours the other clock may run.
    :param restart_s: after so long without a message, older stamps mean a new source.
    :param jump_s: stamps that move on by so much more than our clock have jumped.
    """

    def __init__(
        self, name: str = '', *, clock_drift: float, restart_s: float, jump_s: float = float('inf')
    ) -> None:
        self.name = name
        self.clock_drift, self.restart_s, self.jump_s = clock_drift, restart_s, jump_s
        self.counts: Counter[Check] = Counter()
        self.stamp_ns: int | None = None
        self.arrival_s = float('-inf')
        self.latency_s = 0.0
        self._quickest_s = float('inf')

    def accept(self, stamp_ns: int, arrival_s: float) -> bool:
        """Return whether the message is to be used; a repeated or older one is not."""
        waited_s, silent = arrival_s - self.arrival_s, self.silent(arrival_s)
        if self.stamp_ns is not None:
            moved_s = (stamp_ns - self.stamp_ns) / 1e9
            if moved_s == 0:  # a frozen source is no new source
                self.counts[Check.STATE_DUPLICATED] += 1
                return False
            if moved_s < 0:
                self.counts[Check.STATE_RESTARTED if silent else Check.STATE_REORDERED] += 1
                if not silent:
                    return False
            elif moved_s - waited_s > self.jump_s:
                self.counts[Check.CLOCK_JUMP] += 1
        travel_s = arrival_s - stamp_ns / 1e9
        if silent:
            self._quickest_s = float('inf')
        elif self._quickest_s != float('inf'):
            self._quickest_s += self.clock_drift * max(0.0, waited_s)
        self._quickest_s = min(self._quickest_s, travel_s)
        self.latency_s = travel_s - self._quickest_s
        self.stamp_ns, self.arrival_s = stamp_ns, arrival_s
        return True

    def silent(self, now_s: float) -> bool:
        """Return whether nothing was accepted for so long that a new source may begin."""
        return now_s - self.arrival_s > self.restart_s
