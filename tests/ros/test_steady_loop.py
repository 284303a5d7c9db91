# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""The loop keeps its deadlines and says how late it was; the black box forgets in time."""

from __future__ import annotations

import threading
import time

from lsiq_ros.gate.black_box import BlackBox
from lsiq_ros.gate.loop import LatenessRecord, run_until, SteadyLoop

PERIOD_S = 0.02


def test_a_late_tick_is_noted_and_what_it_missed_is_skipped() -> None:
    """The third tick takes five periods and a half; the next one is on the old grid again."""
    starts: list[tuple[float, float]] = []
    record, stop = LatenessRecord(), threading.Event()

    def tick(now_s: float, lateness_s: float) -> None:
        starts.append((now_s, lateness_s))
        if len(starts) == 3:
            time.sleep(5.5 * PERIOD_S)
        if len(starts) == 8:
            stop.set()

    began_s = time.monotonic()
    run_until(stop, PERIOD_S, tick, record)
    ticks = len(starts) + record.misses
    assert record.ticks == len(starts) == 8
    assert record.misses >= 4
    assert starts[3][1] > 0.3 * PERIOD_S, 'a tick that was kept waiting says so'
    # On the grid: as many periods went by as there were ticks and misses.
    last_s, late_s = starts[-1]
    assert abs((last_s - late_s - began_s) - ticks * PERIOD_S) < 0.5 * PERIOD_S
    assert record.latest().tolist() == [late for _, late in starts]


def test_a_loop_whose_tick_raises_is_not_alive(monkeypatch) -> None:
    monkeypatch.setattr(threading, 'excepthook', lambda arguments: None)

    def fail(now_s: float, lateness_s: float) -> None:
        raise RuntimeError

    loop = SteadyLoop(PERIOD_S, fail)
    loop.start()
    loop.stop()
    assert not loop.alive


def test_the_black_box_keeps_the_last_seconds_in_order() -> None:
    box = BlackBox(seconds=10.0)
    for second in (0, 5, 9, 12, 11):
        box.add('topic', second * 10**9, second)
    assert [entry.message for entry in box.snapshot()] == [5, 9, 11, 12]
    small = BlackBox(seconds=10.0, most_entries=2)
    for second in range(5):
        small.add('topic', second, second)
    assert [entry.message for entry in small.snapshot()] == [3, 4]
