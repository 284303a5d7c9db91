# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Real time: one period after the other on the steady clock, and how well it was kept."""

from collections.abc import Callable
import threading
import time

_LONGEST_SLEEP_S = 0.1  # so that a stop is noticed whatever the rate
_HOPELESS_PERIODS = 20  # so far behind, lost time is given up instead of caught up
# A period lasts at least this share of itself, also where time is caught up: a controller gets the
# time to answer each state. Periods without an answer would trip a robot that walks.
_SHORTEST_PERIOD = 0.8


class Pacer:
    """Call something once each period of simulated time, as fast as the real-time factor says."""

    def __init__(
        self,
        period_s: float,
        real_time_factor: float = 1.0,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._period_s = period_s
        self._clock, self._sleep = clock, sleep
        self.real_time_factor = real_time_factor
        self.late = 0  # periods begun more than one period late

    def run(self, tick: Callable[[], None], stop: threading.Event) -> None:
        """Call ``tick`` until ``stop`` is set."""
        due_s = self._clock()
        while not stop.is_set():
            step_s = self._period_s / self.real_time_factor
            due_s += step_s
            behind_s = self._clock() - due_s
            if behind_s > step_s:
                self.late += 1
            if behind_s > _HOPELESS_PERIODS * step_s:
                due_s = self._clock() + step_s
            wake_s = max(due_s, self._clock() + _SHORTEST_PERIOD * step_s)
            while (left_s := wake_s - self._clock()) > 0 and not stop.is_set():
                self._sleep(min(left_s, _LONGEST_SLEEP_S))
            tick()


class RateMeter:
    """Count events and say how many came per second since it was last asked."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._since_s = clock()
        self._seen = 0
        self.count = 0

    def read_hz(self) -> float:
        """Return events per second since the last reading."""
        now_s = self._clock()
        count, elapsed_s = self.count - self._seen, now_s - self._since_s
        self._seen, self._since_s = self.count, now_s
        return count / elapsed_s if elapsed_s > 0 else 0.0
