# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
The time of a simulated robot, for a gate that counts in it.

A simulated second lasts as long as the machine needs for it. Periods, ramps and the age of a
state are the robot's, so they are counted by the stamps of its states. Between two stamps, and
when they stop for good, the steady clock goes on.
"""

from __future__ import annotations

NS_PER_S = 1e9
SILENCE_S = 1.0  # without a new stamp for so long, the robot is gone and time passes again


class RobotClock:
    """
    The time of the robot, as the stamps of its states tell it.

    :param period_s: from state to state, until two have come.
    """

    def __init__(self, period_s: float) -> None:
        self._interval_s = period_s
        self._newest_ns: int | None = None
        self._offset_s = 0.0  # from stamps to the time that is told
        self._seen_s = 0.0  # when the newest stamp came, on the steady clock
        self._now_s = 0.0

    def see(self, stamp_ns: int, steady_s: float) -> float:
        """Take a stamp and return the time that it stands for."""
        newest_ns, silent = self._newest_ns, steady_s - self._seen_s > SILENCE_S
        if newest_ns is None or (stamp_ns < newest_ns and silent):  # the first, or a restart
            self._offset_s = self.now_s(steady_s) - stamp_ns / NS_PER_S
            self._newest_ns, self._seen_s = stamp_ns, steady_s
        elif stamp_ns > newest_ns:
            self._interval_s = (stamp_ns - newest_ns) / NS_PER_S
            self._newest_ns, self._seen_s = stamp_ns, steady_s
        return stamp_ns / NS_PER_S + self._offset_s

    def now_s(self, steady_s: float) -> float:
        """Return the robot's time; it never goes back."""
        if self._newest_ns is not None:
            passed_s = steady_s - self._seen_s
            if passed_s <= SILENCE_S:
                passed_s = min(passed_s, self._interval_s)
            newest_s = self._newest_ns / NS_PER_S + self._offset_s
            self._now_s = max(self._now_s, newest_s + passed_s)
        return self._now_s
