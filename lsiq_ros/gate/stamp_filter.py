# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Whether a state is new, in order and in time, judged by its stamp and its arrival."""

from __future__ import annotations

from collections import Counter

from lsiq_ros.gate.checks import Check


class StateIntake:
    """
    Follow one topic of stamped states.

    The clock of the states need not be ours. How late a state is, is how much longer it
    took than the quickest one lately; the memory of the quickest fades by ``clock_drift``,
    so that a simulation that runs a little slow does not look later and later.

    :param clock_drift: how much slower than ours the other clock may run.
    :param restart_s: after so long without a state, older stamps mean a new source.
    """

    def __init__(self, *, clock_drift: float, restart_s: float) -> None:
        self.clock_drift = clock_drift
        self.restart_s = restart_s
        self.counts: Counter[Check] = Counter()
        self.arrival_s = float('-inf')
        self.latency_s = 0.0
        self._stamp_ns: int | None = None
        self._quickest_s = float('inf')

    def accept(self, stamp_ns: int, arrival_s: float) -> bool:
        """Return whether the state is to be used; a repeated or older one is not."""
        if self._stamp_ns is not None and stamp_ns <= self._stamp_ns:
            repeated = stamp_ns == self._stamp_ns
            if arrival_s - self.arrival_s <= self.restart_s:
                self.counts[Check.STATE_DUPLICATED if repeated else Check.STATE_REORDERED] += 1
                return False
            if repeated:  # a frozen source is no new source
                self.counts[Check.STATE_DUPLICATED] += 1
                return False
            self.counts[Check.STATE_RESTARTED] += 1
        travel_s = arrival_s - stamp_ns / 1e9
        if arrival_s - self.arrival_s > self.restart_s:
            self._quickest_s = float('inf')
        elif self._quickest_s != float('inf'):
            self._quickest_s += self.clock_drift * max(0.0, arrival_s - self.arrival_s)
        self._quickest_s = min(self._quickest_s, travel_s)
        self.latency_s = travel_s - self._quickest_s
        self._stamp_ns, self.arrival_s = stamp_ns, arrival_s
        return True
