# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""The gate by hand: each check trips or limits as the numbers say."""

from __future__ import annotations

from dataclasses import replace
import math

from lsiq_core.errors import ConfigError
from lsiq_core.policy.artifact import Bounds, Joint, ObservationTerm, PolicyMetadata
from lsiq_ros.gate.checks import Check, TRIPS, Violation
from lsiq_ros.gate.gate import Gate, GateState
from lsiq_ros.gate.settings import GateSettings, limits_of
from lsiq_ros.gate.state_checks import RobotState
import numpy as np
import pytest

PERIOD_S = 0.01
METADATA = PolicyMetadata(
    robot='r',
    task='t',
    rate_hz=100.0,
    observation=(ObservationTerm('hip/position'), ObservationTerm('knee/position')),
    joints=(
        Joint('hip', -100.0, 100.0, 10.0, -1.0, 1.0),
        Joint('knee', -50.0, 50.0, 5.0, -2, 0.5),
    ),
    demonstration_bounds=Bounds((-0.5, -1.0), (0.5, 0.0), 10),
    training_bounds=Bounds((-0.8, -1.2), (0.8, 0.2), 100),
    golden=(),
    algorithm='lsiq',
)
SETTINGS = GateSettings(ramp_in_s=0.0, slew_periods=1.0, damping_nm_s_rad=2.0)


def robot(now_s: float, **changes: object) -> RobotState:
    """Return a robot in order, except for the changes."""
    fields = {
        'position_rad': np.zeros(2),
        'velocity_rad_s': np.zeros(2),
        'observation': np.zeros(2),
        'arrival_s': now_s,
    }
    return RobotState(**{**fields, **changes})  # type: ignore[arg-type]


def armed(settings: GateSettings = SETTINGS) -> Gate:
    """Return a gate that runs since time zero."""
    gate = Gate(limits_of(METADATA, settings), settings)
    assert gate.arm(0.0, robot(0.0)) == []
    return gate


def ask(*values: float) -> np.ndarray:
    """Return a request."""
    return np.array(values)


def test_a_sound_request_passes_unchanged() -> None:
    """Nothing is counted either."""
    gate = armed()
    assert gate.step(0.01, robot(0.01), ask(60, -20)).tolist() == [60, -20]
    assert gate.state is GateState.RUNNING and not gate.counts


def test_torque_beyond_the_limits_is_clamped_and_counted() -> None:
    """To the policy's limits, or to the share of them that the user allows."""
    assert armed().step(0.01, robot(0.01), ask(500, -500)).tolist() == [100, -50]
    half = armed(replace(SETTINGS, torque_fraction=0.5))
    assert half.step(0.01, robot(0.01), ask(500, -500)).tolist() == [50, -25]
    assert half.counts[Check.TORQUE_CLAMP] == 1


def test_slew_moves_by_the_range_per_periods() -> None:
    """Four periods for 200 N m: 50 a period, 25 in half a period."""
    gate = armed(replace(SETTINGS, slew_periods=4.0))
    assert gate.step(0.010, robot(0.010), ask(100, 0))[0] == pytest.approx(50)
    assert gate.step(0.015, robot(0.015), ask(100, 0))[0] == pytest.approx(75)
    assert gate.step(0.015, robot(0.015), ask(-100, 0))[0] == pytest.approx(75)
    assert gate.counts[Check.SLEW_LIMIT] == 3


def test_a_long_pause_allows_no_longer_step() -> None:
    """The slew of a late step is that of one control period."""
    settings = replace(SETTINGS, slew_periods=4.0)
    gate = armed(settings)
    gate.step(0.01, robot(0.01), ask(0, 0))
    assert gate.step(5.0, robot(5.0), ask(100, 0))[0] == pytest.approx(50)


def test_torque_towards_a_position_limit_fades() -> None:
    """Half of the taper left, half of the torque; away from the limit all of it."""
    gate = armed(replace(SETTINGS, position_taper_rad=0.1))
    near = {'position_rad': np.array([0.95, -2.5])}
    assert gate.step(0.01, robot(0.01, **near), ask(100, -50)) == pytest.approx([50, 0])
    assert gate.step(0.02, robot(0.02, **near), ask(-100, 50)) == pytest.approx([-100, 50])
    assert gate.counts[Check.POSITION_TAPER] == 1


def test_torque_that_speeds_a_fast_joint_up_fades() -> None:
    """At 90 % with the fade from 80 %, half is left; braking is free."""
    gate = armed()
    fast = {'velocity_rad_s': np.array([9.0, -4.5])}
    assert gate.step(0.01, robot(0.01, **fast), ask(100, -50)) == pytest.approx([50, -25])
    assert gate.step(0.02, robot(0.02, **fast), ask(-100, 50)) == pytest.approx([-100, 50])
    assert gate.counts[Check.VELOCITY_TAPER] == 1


def test_power_is_shared_down_and_braking_is_left_alone() -> None:
    """100 N m at 4 rad/s is 400 W; with 100 W a quarter is left."""
    gate = armed(replace(SETTINGS, power_w=100.0))
    moving = {'velocity_rad_s': np.array([4.0, 2.0])}
    assert gate.step(0.01, robot(0.01, **moving), ask(100, -50)) == pytest.approx([25, -50])
    assert gate.counts[Check.POWER_LIMIT] == 1


def test_ramp_in_goes_from_damping_to_the_policy() -> None:
    """Half way through, half of each."""
    gate = armed(replace(SETTINGS, ramp_in_s=1.0))
    moving = {'velocity_rad_s': np.array([5.0, 0.0])}  # damping is -10 N m
    found = gate.step(0.5, robot(0.5, **moving), ask(80, 40))
    assert found == pytest.approx([0.5 * -10 + 0.5 * 80, 20])
    assert gate.step(1.0, robot(1.0, **moving), ask(80, 40)) == pytest.approx([80, 40])


def test_a_trip_ramps_out_and_starts_one_period_in() -> None:
    """80 N m to nothing in 0.1 s: 72 at once, half after 0.04 s more, zero at its end."""
    gate = armed()
    gate.step(0.01, robot(0.01), ask(80, 0))
    gate.trip(0.02, Violation(Check.DISARMED, 'by hand'))
    assert gate.step(0.02, robot(0.02), ask(80, 0)) == pytest.approx([72, 0])
    assert gate.step(0.06, robot(0.06), ask(80, 0)) == pytest.approx([40, 0])
    assert gate.step(0.11, robot(0.11), ask(80, 0)) == pytest.approx([0, 0])


def test_a_clock_that_stands_still_or_goes_back_moves_no_torque() -> None:
    """Nor does one that is not a number."""
    gate = armed(replace(SETTINGS, slew_periods=4.0))
    assert gate.step(0.01, robot(0.01), ask(100, 0))[0] == pytest.approx(50)
    for now_s in (0.01, 0.005, NAN):
        assert gate.step(now_s, robot(0.01), ask(100, 0))[0] == pytest.approx(50)
    assert gate.state is GateState.RUNNING


NAN, INF = math.nan, math.inf


@pytest.mark.parametrize(
    ('check', 'changes', 'request_nm', 'lateness_s'),
    [
        (Check.STALE_STATE, {'arrival_s': 0.02 - 0.031}, (1, 1), 0),
        (Check.LATE_STATE, {'latency_s': 0.031}, (1, 1), 0),
        (Check.STATE_NOT_FINITE, {'position_rad': np.array([NAN, 0])}, (1, 1), 0),
        (Check.STATE_NOT_FINITE, {'velocity_rad_s': np.array([0, INF])}, (1, 1), 0),
        (Check.STATE_NOT_FINITE, {'velocity_rad_s': np.array([0, NAN])}, (1, 1), 0),
        (Check.STATE_NOT_FINITE, {'observation': np.array([0, -INF])}, (1, 1), 0),
        (Check.STATE_NOT_FINITE, {'cosine_upright': NAN}, (1, 1), 0),
        (Check.STATE_NOT_FINITE, {'height_m': NAN}, (1, 1), 0),
        (Check.VELOCITY, {'velocity_rad_s': np.array([0, 7.51])}, (1, 1), 0),
        (Check.TILT, {'cosine_upright': math.cos(0.81)}, (1, 1), 0),
        (Check.FALL, {'height_m': 0.49}, (1, 1), 0),
        (Check.COMMAND_NOT_FINITE, {}, (NAN, 1), 0),
        (Check.COMMAND_NOT_FINITE, {}, (1, INF), 0),
        (Check.COMMAND_NOT_FINITE, {}, (1,), 0),
        (Check.LATE_LOOP, {}, (1, 1), 0.031),
        (Check.LATE_LOOP, {}, (1, 1), NAN),
    ],
)
def test_trips(check: Check, changes: dict, request_nm: tuple, lateness_s: float) -> None:
    """Each trips alone, latches, names itself, and the command goes to damping."""
    gate = armed()
    gate.step(0.01, robot(0.01), ask(80, 40))
    found = gate.step(0.02, robot(0.02, **changes), ask(*request_nm), lateness_s)
    assert gate.state is GateState.TRIPPED
    assert gate.tripped_by is not None and gate.tripped_by.check is check
    assert gate.counts[check] == 1
    assert (np.abs(found) < [80, 40]).all(), 'the last command was held'
    for step in range(3, 20):  # in order again, but nobody armed
        now_s = step * PERIOD_S
        found = gate.step(now_s, robot(now_s, velocity_rad_s=np.array([1.0, 0])), ask(80, 40))
    assert gate.state is GateState.TRIPPED
    assert found == pytest.approx([-2.0, 0.0])  # damping of 2 N m s / rad
    assert gate.arm(0.2, robot(0.2)) == []
    assert gate.step(0.21, robot(0.21), ask(80, 40)) == pytest.approx([80, 40])
    assert gate.counts[check] == 1


def test_the_limits_themselves_do_not_trip() -> None:
    """On the edge is inside."""
    gate = armed()
    edge = {
        'arrival_s': 0.01 - 0.0299,
        'latency_s': 0.0299,
        'velocity_rad_s': np.array([15.0, -7.5]),
        'cosine_upright': math.cos(0.79),
        'height_m': 0.5,
    }
    gate.step(0.01, robot(0.01, **edge), ask(1, 1), 0.0299)
    assert gate.state is GateState.RUNNING


def test_leaving_the_distribution_trips_after_its_grace() -> None:
    """Trained to 0.8 with range 1.6 and a quarter of it as margin: 1.2 is the end."""
    gate = armed(replace(SETTINGS, distribution_grace_s=0.05))
    outside = {'observation': np.array([1.21, 0.0])}
    gate.step(0.01, robot(0.01, observation=np.array([1.19, 0.0])), ask(0, 0))
    assert gate.counts[Check.OUTSIDE_DEMONSTRATIONS] == 1
    gate.step(0.02, robot(0.02, **outside), ask(0, 0))
    gate.step(0.03, robot(0.03), ask(0, 0))  # back inside: the grace starts anew
    gate.step(0.04, robot(0.04, **outside), ask(0, 0))
    gate.step(0.08, robot(0.08, **outside), ask(0, 0))
    assert gate.state is GateState.RUNNING
    gate.step(0.091, robot(0.091, **outside), ask(0, 0))
    assert gate.tripped_by is not None and gate.tripped_by.check is Check.DISTRIBUTION
    assert 'hip/position is 1.21' in gate.tripped_by.detail


def test_the_distribution_has_two_ends_and_its_grace_starts_anew() -> None:
    """Below -1.2 as well; between the demonstrations' end and that, the grace is given back."""
    gate = armed(replace(SETTINGS, distribution_grace_s=0.05))
    below, between = np.array([-1.21, 0.0]), np.array([-1.19, 0.0])
    for now_s, seen in ((0.01, below), (0.05, between), (0.06, below), (0.10, below)):
        gate.step(now_s, robot(now_s, observation=seen), ask(0, 0))
    assert gate.state is GateState.RUNNING
    gate.step(0.111, robot(0.111, observation=below), ask(0, 0))
    assert gate.tripped_by is not None and gate.tripped_by.check is Check.DISTRIBUTION
    assert gate.arm(0.2, robot(0.2)) == []  # and arming gives it back, too
    gate.step(0.201, robot(0.201, observation=below), ask(0, 0))
    assert gate.state is GateState.RUNNING


def test_arming_is_refused_while_anything_is_wrong() -> None:
    """All reasons at once, and no grace for the distribution."""
    gate = Gate(limits_of(METADATA, SETTINGS), SETTINGS)
    assert [v.check for v in gate.arm(0.0, None)] == [Check.STALE_STATE]
    bad = robot(0.0, height_m=0.1, cosine_upright=0.0, observation=np.array([9.0, 0]))
    reasons = {violation.check for violation in gate.arm(0.0, bad)}
    assert reasons == {Check.FALL, Check.TILT, Check.DISTRIBUTION}
    assert gate.state is GateState.DISARMED


def test_without_trusted_velocities_a_trip_ends_in_zero() -> None:
    """Damping on a stale velocity could drive the robot."""
    gate = armed()
    spinning = robot(0.0, velocity_rad_s=np.array([5.0, 1.0]))
    for step in range(1, 40):
        found = gate.step(step * PERIOD_S, spinning, ask(80, 40))
    assert gate.tripped_by is not None and gate.tripped_by.check is Check.STALE_STATE
    assert found.tolist() == [0, 0]


def test_a_mad_encoder_is_not_answered_with_full_torque() -> None:
    """Damping is 2 N m s / rad at no more than the 15 rad/s that trip."""
    gate = armed()
    for step in range(1, 20):
        now_s = step * PERIOD_S
        mad = robot(now_s, velocity_rad_s=np.array([-1e6, 0.0]))
        found = gate.step(now_s, mad, ask(80, 40))
    assert gate.tripped_by is not None and gate.tripped_by.check is Check.VELOCITY
    assert found == pytest.approx([30.0, 0.0])


def test_a_trip_from_outside_counts_once_and_latches() -> None:
    """Another controller, a dead policy or a person."""
    gate = armed()
    gate.trip(0.01, Violation(Check.SECOND_CONTROLLER, 'two'))
    gate.trip(0.02, Violation(Check.DISARMED, 'by hand'))
    assert gate.tripped_by == Violation(Check.SECOND_CONTROLLER, 'two')
    assert gate.counts[Check.DISARMED] == 1


def test_settings_and_limits_refuse_nonsense() -> None:
    """Each message names the setting or the joint."""
    with pytest.raises(ConfigError, match='gate.torque_fraction is 2'):
        GateSettings(torque_fraction=2.0)
    with pytest.raises(ConfigError, match='gate.ramp_in_s is nan'):
        GateSettings(ramp_in_s=NAN)
    free = replace(METADATA, joints=(Joint('hip', -1, 1),))
    with pytest.raises(ConfigError, match='hip: the policy has no velocity'):
        limits_of(free, SETTINGS)
    for wrong in (
        (-1, 1, 0, -1, 1),
        (-1, 1, INF, -1, 1),
        (-1, 1, NAN, -1, 1),
        (-1, INF, 1, -1, 1),
        (-1e308, 1, 1, -1, 1),
        (-1, 5e-324, 1, -1, 1),
        (-1, 1, 5e-324, -1, 1),
        (-1, 1, 1e308, -1, 1),
    ):
        with pytest.raises(ConfigError, match='hip'):
            limits_of(replace(METADATA, joints=(Joint('hip', *wrong),)), SETTINGS)
    for low, high in ((1, -1), (0, 0), (NAN, 1), (-INF, 1), (-1, None), (-1e308, 1)):
        with pytest.raises(ConfigError, match='are no range'):
            limits_of(replace(METADATA, joints=(Joint('hip', -1, 1, 1, low, high),)), SETTINGS)
    pushing = replace(METADATA, joints=(Joint('hip', 1, 2, 1, -1, 1),))
    with pytest.raises(ConfigError, match='no safe command'):
        limits_of(pushing, SETTINGS)
    for rate_hz in (1e-300, 0.5, 1e300):
        with pytest.raises(ConfigError, match='Hz, must lie between 1.0 and 5000.0'):
            limits_of(replace(METADATA, rate_hz=rate_hz), SETTINGS)


def test_the_trips_are_what_the_issue_lists() -> None:
    """A check is either shaping or tripping."""
    assert Check.STALE_STATE in TRIPS and Check.TORQUE_CLAMP not in TRIPS
