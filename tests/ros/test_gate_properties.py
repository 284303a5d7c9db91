# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Whatever goes in, what comes out is finite, within the limits and within the slew."""

from __future__ import annotations

import math
import os

from hypothesis import given, HealthCheck, settings
from hypothesis import strategies as st
from lsiq_core.policy.artifact import Bounds, Joint, ObservationTerm, PolicyMetadata
from lsiq_ros.gate.checks import Check, Violation
from lsiq_ros.gate.gate import Gate, GateState
from lsiq_ros.gate.settings import (
    FASTEST_HZ,
    GateSettings,
    LEAST,
    limits_of,
    MOST,
    SLOWEST_HZ,
)
from lsiq_ros.gate.stamp_filter import StampFilter
from lsiq_ros.gate.state_checks import RobotState
import numpy as np

EXAMPLES = int(os.environ.get('LSIQ_EXAMPLES', '50'))
ANY = st.floats(allow_nan=True, allow_infinity=True, width=64)
POSITIVE = st.floats(LEAST, MOST)
PAIR = st.tuples(ANY, ANY).map(lambda values: np.array(values))
USUAL = st.tuples(st.floats(-2, 2), st.floats(-2, 2)).map(lambda values: np.array(values))
STEPS = st.floats(-0.01, 0.05) | ANY


@st.composite
def gates(draw: st.DrawFn) -> Gate:
    """Draw limits and settings of any strictness."""
    limits = [(-draw(POSITIVE), draw(POSITIVE), draw(POSITIVE), draw(POSITIVE)) for _ in 'ab']
    metadata = PolicyMetadata(
        robot='r',
        task='t',
        rate_hz=draw(st.floats(SLOWEST_HZ, FASTEST_HZ)),
        observation=(ObservationTerm('a/position'), ObservationTerm('b/position')),
        joints=tuple(
            Joint(name, low, high, velocity, -room, room)
            for name, (low, high, velocity, room) in zip('ab', limits, strict=True)
        ),
        demonstration_bounds=Bounds((-1.0, -1.0), (1.0, 1.0), 1),
        training_bounds=Bounds((-2.0, -2.0), (2.0, 2.0), 1),
        golden=(),
        algorithm='lsiq',
    )
    chosen = GateSettings(
        torque_fraction=draw(st.floats(0.001, 1)),
        slew_periods=draw(st.floats(0.1, 1000)),
        position_taper_rad=draw(st.floats(0.0001, 1)),
        velocity_soft_fraction=draw(st.floats(0, 0.99)),
        power_w=draw(st.floats(1, 1e7)),
        ramp_in_s=draw(st.floats(0, 1)),
        ramp_out_s=draw(st.floats(0, 1)),
        damping_nm_s_rad=draw(st.floats(0, 1000)),
    )
    return Gate(limits_of(metadata, chosen), chosen)


@st.composite
def states(draw: st.DrawFn) -> RobotState | None:
    """Draw a sound state, a mad one or none."""
    vector = draw(st.sampled_from([USUAL, PAIR]))
    if draw(st.integers(0, 9)) == 0:
        return None
    return RobotState(
        draw(vector),
        draw(vector),
        draw(vector),
        draw(ANY),
        draw(st.just(0.0) | ANY),
        draw(st.just(1.0) | ANY),
        draw(st.just(1.0) | ANY),
    )


@settings(
    deadline=None,
    max_examples=3 * EXAMPLES,
    suppress_health_check=list(HealthCheck),
)
@given(gates(), st.data())
def test_every_command_is_finite_within_limits_and_slew(gate: Gate, data: st.DataObject) -> None:
    """Through arming, tripping and re-arming in any order."""
    limits, now_s, last = gate.limits, 0.0, np.zeros(2)
    for _ in range(data.draw(st.integers(1, 8))):
        state = data.draw(states())
        deed = data.draw(st.integers(0, 5))
        if deed == 0:
            gate.trip(now_s, Violation(Check.DISARMED, 'by hand'))
        elif deed <= 3:
            fresh = state and state._replace(arrival_s=now_s)
            gate.arm(now_s, fresh)
            state = fresh
        step_s = data.draw(STEPS)
        was_running = gate.state is GateState.RUNNING
        found = gate.step(now_s + step_s, state, data.draw(PAIR), data.draw(st.just(0.0) | ANY))
        now_s = now_s + step_s if math.isfinite(now_s + step_s) else now_s
        assert np.isfinite(found).all()
        assert (found >= limits.effort_low_nm).all() and (found <= limits.effort_high_nm).all()
        slack = 1e-9 * (limits.effort_high_nm - limits.effort_low_nm)
        assert (np.abs(found - last) <= limits.slew_nm_s * limits.period_s + slack).all()
        assert was_running or gate.state is not GateState.RUNNING, 'ran without being armed'
        last = found


@settings(deadline=None, max_examples=2 * EXAMPLES)
@given(st.lists(st.tuples(st.integers(), st.floats(0, 0.1)), max_size=30))
def test_the_stamp_filter_survives_any_stamps(arrivals: list[tuple[int, float]]) -> None:
    """Accepted stamps rise, unless the source was silent for long."""
    stamps = StampFilter(clock_drift=0.1, restart_s=1.0)
    now_s, newest = 0.0, -math.inf
    for stamp_ns, pause_s in arrivals:
        now_s += pause_s
        silent = now_s - stamps.arrival_s > 1.0
        if stamps.accept(stamp_ns, now_s):
            assert stamp_ns > newest or silent
            assert stamps.latency_s >= 0
            newest = stamp_ns


def ns(stamp_s: float) -> int:
    return round(stamp_s * 1e9)


def test_the_stamp_filter_by_hand() -> None:
    """Duplicated, reordered, late, and a source that starts again."""
    stamps = StampFilter(clock_drift=0.0, restart_s=0.5)
    assert stamps.accept(ns(100.00), 1.00) and stamps.latency_s == 0
    assert not stamps.accept(ns(100.00), 1.01)
    assert not stamps.accept(ns(99.99), 1.02)
    assert stamps.accept(ns(100.03), 1.08)
    assert abs(stamps.latency_s - 0.05) < 1e-9
    assert stamps.accept(ns(100.08), 1.09)
    assert abs(stamps.latency_s - 0.01) < 1e-9
    assert stamps.accept(ns(0.01), 2.0)
    assert stamps.counts == {
        Check.STATE_DUPLICATED: 1,
        Check.STATE_REORDERED: 1,
        Check.STATE_RESTARTED: 1,
    }


def test_after_a_long_silence_a_source_has_a_clock_of_its_own() -> None:
    """Whatever its stamps are they count as in time; but a frozen stamp stays no news."""
    stamps = StampFilter(clock_drift=0.0, restart_s=0.5)
    assert stamps.accept(ns(100.0), 1.0)
    assert not stamps.accept(ns(100.0), 2.0), 'a frozen source is no new source'
    for stamp_s, arrival_s in ((100.5, 3.0), (7.0, 4.0)):
        assert stamps.accept(ns(stamp_s), arrival_s) and stamps.latency_s == 0.0
    assert stamps.counts == {Check.STATE_DUPLICATED: 1, Check.STATE_RESTARTED: 1}


def test_a_slow_clock_is_not_late_but_a_jump_is() -> None:
    """Five percent slower than ours with ten allowed; then 40 ms at once."""
    stamps = StampFilter(clock_drift=0.1, restart_s=0.5)
    for step in range(1000):
        assert stamps.accept(ns(step * 0.0095), step * 0.01)
        assert stamps.latency_s < 0.002
    assert stamps.accept(ns(1000 * 0.0095), 1000 * 0.01 + 0.04)
    assert stamps.latency_s > 0.03
