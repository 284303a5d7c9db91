# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""The time of a simulated robot."""

from lsiq_ros.gate.robot_clock import RobotClock
import pytest

MS = 1_000_000


def test_time_is_that_of_the_stamps_however_slow_the_machine_is():
    clock = RobotClock(0.01)
    begin = clock.see(5_000 * MS, 100.0)
    # The next state comes half a second later, but it is stamped 10 ms later.
    assert clock.now_s(100.004) - begin == pytest.approx(0.004)
    assert clock.now_s(100.4) - begin == pytest.approx(0.01)  # no further than one period
    assert clock.see(5_010 * MS, 100.5) - begin == pytest.approx(0.01)
    assert clock.now_s(100.5) - begin == pytest.approx(0.01)
    # Two sources of one instant: the second changes nothing.
    assert clock.see(5_010 * MS, 100.6) - begin == pytest.approx(0.01)
    assert clock.now_s(100.505) - begin == pytest.approx(0.015)


def test_a_source_that_stops_grows_old_by_the_stamps_of_the_others():
    clock = RobotClock(0.01)
    joints = clock.see(1_000 * MS, 0.0)
    for number in range(1, 6):
        clock.see((1_000 + 10 * number) * MS, 0.3 * number)
    assert clock.now_s(1.5) - joints == pytest.approx(0.05)


def test_a_robot_that_is_gone_grows_old_by_our_clock():
    clock = RobotClock(0.01)
    begin = clock.see(1_000 * MS, 0.0)
    assert clock.now_s(0.9) - begin == pytest.approx(0.01)
    assert clock.now_s(1.5) - begin == pytest.approx(1.5)
    again = clock.see(10 * MS, 2.0)  # started anew, its stamps begin anew
    assert again - begin == pytest.approx(2.0)
    assert clock.now_s(2.001) >= again


def test_it_never_goes_back():
    clock = RobotClock(0.01)
    clock.see(1_000 * MS, 0.0)
    clock.see(1_010 * MS, 0.01)
    now = clock.now_s(0.02)
    clock.see(1_005 * MS, 0.02)  # reordered
    assert clock.now_s(0.02) >= now
