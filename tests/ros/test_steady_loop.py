# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""The loop keeps its deadlines and says how late it was; the black box forgets in time."""

from __future__ import annotations

import threading

from lsiq_ros.gate import loop
from lsiq_ros.gate.black_box import BlackBox
from lsiq_ros.gate.loop import LatenessRecord, run_until, SteadyLoop
import pytest

PERIOD_S = 0.02


class Clock:
    """Time that passes only where somebody sleeps, a little longer than asked for."""

    OVERSLEPT_S = 0.001

    def __init__(self) -> None:
        self.now_s = 100.0

    def monotonic(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds + self.OVERSLEPT_S


def test_a_late_tick_is_noted_and_what_it_missed_is_skipped(monkeypatch) -> None:
    """The third tick takes five periods and a half; the next ones are on the old grid again."""
    clock = Clock()
    monkeypatch.setattr(loop, 'time', clock)
    starts: list[tuple[float, float]] = []
    record, stop = LatenessRecord(), threading.Event()

    def tick(now_s: float, lateness_s: float) -> None:
        starts.append((now_s, lateness_s))
        if len(starts) == 3:
            clock.now_s += 5.5 * PERIOD_S
        if len(starts) == 6:
            stop.set()

    run_until(stop, PERIOD_S, tick, record)
    late_s, usual_s = 0.5 * PERIOD_S + clock.OVERSLEPT_S, clock.OVERSLEPT_S
    wanted = [(1, usual_s), (2, usual_s), (3, usual_s), (8, late_s), (9, usual_s), (10, usual_s)]
    for (now_s, found_s), (periods, expected_s) in zip(starts, wanted, strict=True):
        assert found_s == pytest.approx(expected_s, abs=1e-9)
        assert now_s == pytest.approx(100.0 + periods * PERIOD_S + expected_s, abs=1e-9)
    assert record.misses == 4 and record.ticks == 6
    assert record.latest().tolist() == [late for _, late in starts]


def test_a_loop_whose_tick_raises_is_not_alive(monkeypatch) -> None:
    monkeypatch.setattr(threading, 'excepthook', lambda arguments: None)

    def fail(now_s: float, lateness_s: float) -> None:
        raise RuntimeError

    dying = SteadyLoop(PERIOD_S, fail)
    dying.start()
    dying.stop()
    assert not dying.alive


def test_the_black_box_keeps_the_last_seconds_in_order() -> None:
    box = BlackBox(seconds=10.0)
    for second in (0, 5, 9, 12, 11):
        box.add('topic', second * 10**9, second)
    assert [entry.message for entry in box.snapshot()] == [5, 9, 11, 12]
    small = BlackBox(seconds=10.0, most_entries=2)
    for second in range(5):
        small.add('topic', second, second)
    assert [entry.message for entry in small.snapshot()] == [3, 4]
