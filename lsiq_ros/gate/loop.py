# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
A loop on the steady clock: sleep until the next deadline, work, note how late it was.

The deadline moves on by whole periods, so a late tick neither shortens nor shifts the
ones after it; deadlines that passed while a tick was late are skipped and counted.
"""

from __future__ import annotations

from collections.abc import Callable
import os
import threading
import time

from lsiq_ros.gate.steady_memory import set_what_exists_aside
import numpy as np
import numpy.typing as npt

Tick = Callable[[float, float], None]  # now on the steady clock and lateness, in s


class LatenessRecord:
    """The lateness of the latest ticks, in a ring."""

    def __init__(self, capacity: int = 20_000) -> None:
        self._ring = np.zeros(capacity)
        self.ticks = 0
        self.misses = 0  # deadlines that passed without a tick

    def add(self, lateness_s: float) -> None:
        """Note one tick."""
        self._ring[self.ticks % len(self._ring)] = lateness_s
        self.ticks += 1

    def latest(self) -> npt.NDArray[np.float64]:
        """Return the lateness of the ticks that are still remembered, in s."""
        return self._ring[: min(self.ticks, len(self._ring))].copy()


def run_until(stop: threading.Event, period_s: float, tick: Tick, record: LatenessRecord) -> None:
    """Call ``tick`` every period until ``stop`` is set."""
    deadline_s = time.monotonic() + period_s
    while not stop.is_set():
        wait_s = deadline_s - time.monotonic()
        if wait_s > 0:
            time.sleep(wait_s)
        now_s = time.monotonic()
        lateness_s = max(now_s - deadline_s, 0.0)
        record.add(lateness_s)
        tick(now_s, lateness_s)
        deadline_s += period_s
        behind_s = time.monotonic() - deadline_s
        if behind_s >= period_s:
            skipped = int(behind_s / period_s)
            record.misses += skipped
            deadline_s += skipped * period_s


def take_priority(realtime_priority: int) -> str:
    """
    Put every thread of this process under SCHED_FIFO; return why not, or nothing.

    The loop's thread alone would not do: another thread that holds the interpreter and is
    not let run by the rest of the machine would keep the loop waiting.
    """
    if realtime_priority <= 0:
        return ''
    try:
        for thread in os.listdir('/proc/self/task'):
            os.sched_setscheduler(int(thread), os.SCHED_FIFO, os.sched_param(realtime_priority))
    except OSError as error:
        return f'no realtime priority: {error.strerror}'
    return ''


class SteadyLoop:
    """
    Run ticks in a thread of their own.

    :param period_s: of the ticks.
    :param tick: the work.
    :param realtime_priority: SCHED_FIFO priority of the process; 0 leaves it as it is.
    """

    def __init__(self, period_s: float, tick: Tick, realtime_priority: int = 0) -> None:
        self.record = LatenessRecord()
        self.realtime_error = ''
        self._period_s, self._tick, self._priority = period_s, tick, realtime_priority
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name='control_loop', daemon=True)

    def _run(self) -> None:
        self.realtime_error = take_priority(self._priority)
        run_until(self._stop, self._period_s, self._tick, self.record)

    def start(self) -> None:
        """Begin to tick."""
        set_what_exists_aside()
        self._thread.start()

    def stop(self) -> None:
        """End the thread and wait for its last tick."""
        self._stop.set()
        if self._thread is not threading.current_thread():
            self._thread.join(timeout=5.0)

    @property
    def alive(self) -> bool:
        """Return whether the thread still runs."""
        return self._thread.is_alive()
