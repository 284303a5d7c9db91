# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
Any messages in any order from any number of publishers, through view, policy and gate.

The gate's invariant holds, the policy is shown no state that the robot's own limits rule
out, and no torque of the policy follows one. ``LSIQ_EXAMPLES`` sets how many sequences.
"""

from __future__ import annotations

from dataclasses import replace
import math
import os
import random

from hypothesis import given, HealthCheck, settings
from hypothesis import strategies as st
from lsiq_core.history import Memory
from lsiq_core.policy.artifact import Bounds, Joint, ObservationTerm, PolicyMetadata
from lsiq_ros.control.controller import Controller
from lsiq_ros.control.robot_view import RobotView
from lsiq_ros.gate.checks import Check, Violation
from lsiq_ros.gate.gate import GateState
from lsiq_ros.gate.robot_clock import RobotClock
from lsiq_ros.gate.settings import GateSettings
from lsiq_ros.wire.base import BaseOdometry
from lsiq_ros.wire.cdr import JointState, Odometry, Wrench
import numpy as np
import pytest

EXAMPLES = int(os.environ.get('LSIQ_EXAMPLES', '50'))
PERIOD_S = 0.01
LIMIT_RAD, VELOCITY_RAD_S, TORQUE_NM = 1.5, 10.0, 100.0
TERMS = ('hip/position', 'knee/position', 'hip/velocity', 'knee/velocity', 'base/height')
TERMS += ('base/world_velocity_x', 'left/force_z')
METADATA = PolicyMetadata(
    robot='r',
    task='t',
    rate_hz=1 / PERIOD_S,
    observation=tuple(ObservationTerm(name) for name in TERMS),
    joints=tuple(
        Joint(name, -TORQUE_NM, TORQUE_NM, VELOCITY_RAD_S, -LIMIT_RAD, LIMIT_RAD)
        for name in ('hip', 'knee')
    ),
    demonstration_bounds=Bounds((-1.0,) * 7, (1.0,) * 7, 1),
    training_bounds=Bounds((-2.0,) * 7, (2.0,) * 7, 1),
    golden=(),
    algorithm='lsiq',
)
STRICT = GateSettings(ramp_in_s=0.0, slew_periods=1.0)
ANY = st.floats(allow_nan=True, allow_infinity=True, width=64)
HUGE = st.sampled_from([5.0, 2 * math.pi, 1e3, 1e200, -1e308, math.nan, math.inf])
WILD = ANY | HUGE
NAMES = st.sampled_from(
    [('hip', 'knee')] * 6
    + [('knee', 'hip'), ('hip',), ('knee',), ('finger',), ('hip', 'knee', 'finger')]
    + [('hip', 'hip'), (), ('arm',), ('knee', 'arm')]
)
UPRIGHT = (0.0, 0.0, 0.0, 1.0)


class Recorder:
    """A policy that notes what it is shown and asks for all there is."""

    def __init__(self, metadata: PolicyMetadata) -> None:
        self.metadata = metadata
        self.shown: list[np.ndarray] = []

    def memory(self) -> Memory:
        about = self.metadata
        return Memory.of(about.history, about.observation_names, about.joint_names)

    def __call__(self, observation: np.ndarray) -> np.ndarray:
        self.shown.append(observation.copy())
        return np.full(2, -1e6)


class Rig:
    """View, policy and gate on a clock of their own."""

    def __init__(self, chosen: GateSettings = STRICT, metadata: PolicyMetadata = METADATA) -> None:
        self.view = RobotView(metadata, chosen, ignored_joints=['finger'])
        self.policy = Recorder(metadata)
        self.controller = Controller(self.policy, chosen, self.view)  # type: ignore[arg-type]
        self.gate = self.controller.new_gate()
        self.now_s, self.stamp_ns = 100.0, 7_000_000_000
        self.names: tuple[str, ...] = ('hip', 'knee')  # that its driver sends
        self.heard_s = dict.fromkeys(self.names, -math.inf)

    def send_joints(self, stamp_ns, names, position, velocity) -> None:
        self.heard_s |= dict.fromkeys(names, self.now_s)
        message = JointState(stamp_ns, '', names, tuple(position), tuple(velocity), ())
        self.view.take_joints(message, self.now_s)

    def send_base(self, stamp_ns, height=1.0, turn=UPRIGHT, linear=(0.0, 0.0, 0.0)) -> None:
        base = BaseOdometry((0.0, 0.0, height), turn, linear, (0.0, 0.0, 0.0))
        self.view.take_odometry(Odometry(stamp_ns, '', '', base), self.now_s)

    def send_force(self, stamp_ns, force_z=0.0) -> None:
        force = Wrench(stamp_ns, '', (0.0, 0.0, force_z), (0.0, 0.0, 0.0))
        self.view.take_wrench('left', force, self.now_s)

    def send_all(self, position=(0.0, 0.0), velocity=(0.0, 0.0)) -> None:
        """Send what a robot in order sends in a period."""
        count = len(self.names)
        self.send_joints(self.stamp_ns, self.names, position[:count], velocity[:count])
        self.send_base(self.stamp_ns)
        self.send_force(self.stamp_ns)

    def pass_time(self, seconds: float = PERIOD_S) -> None:
        self.now_s += seconds
        self.stamp_ns += round(seconds * 1e9)

    def tick(self, lateness_s: float = 0.0) -> np.ndarray:
        """Tick and hold the outcome against what must never be."""
        last, asked = self.gate.command_nm.copy(), len(self.policy.shown)
        command = self.controller.tick(self.now_s, lateness_s, self.gate)
        limits = self.gate.limits
        assert np.isfinite(command).all() and (np.abs(command) <= TORQUE_NM).all()
        assert (np.abs(command - last) <= limits.slew_nm_s * limits.period_s + 1e-6).all()
        state = self.controller.state
        if state is None or not possible(state.position_rad, state.velocity_rad_s):
            assert self.gate.state is not GateState.RUNNING, 'driven in an impossible state'
            assert len(self.policy.shown) == asked, 'the policy was shown an impossible state'
        for seen in self.policy.shown[asked:]:
            oldest_s = min(self.heard_s['hip'], self.heard_s['knee'])
            assert self.now_s - oldest_s <= STRICT.stale_periods * PERIOD_S, 'a joint is not heard'
            assert possible(seen[:2], seen[2:4]) and np.isfinite(seen).all()
            assert (np.abs(seen) <= 2 + STRICT.distribution_far * 4).all()
        return command


def possible(position: np.ndarray, velocity: np.ndarray) -> bool:
    """Return whether a robot with these limits can be in this state."""
    reach = LIMIT_RAD + STRICT.position_trip_rad
    fastest = VELOCITY_RAD_S * STRICT.velocity_trip_factor
    return bool((np.abs(position) <= reach).all() and (np.abs(velocity) <= fastest).all())


@settings(deadline=None, max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_no_sequence_of_messages_makes_the_policy_drive_an_impossible_robot(
    data: st.DataObject,
) -> None:
    rig = Rig()
    draw = data.draw
    for _ in range(draw(st.integers(1, 25))):
        for _ in range(draw(st.integers(0, 4))):
            wild = draw(st.booleans())
            number = WILD if wild else st.floats(-0.04, 0.04)
            stamp_ns = rig.stamp_ns + draw(
                st.integers(-(2**62), 2**62) if draw(st.integers(0, 9)) == 0 else st.just(0)
            )
            what = draw(st.integers(0, 9))
            if what <= 5:
                names = draw(NAMES)
                count = len(names) + (draw(st.integers(-1, 1)) if wild else 0)
                row = st.lists(number, min_size=max(count, 0), max_size=max(count, 0))
                rig.send_joints(stamp_ns, names, draw(row), draw(row))
            elif what <= 8:
                turn = tuple(draw(WILD) for _ in range(4)) if wild else UPRIGHT
                linear = (draw(number), 0.0, 0.0)
                rig.send_base(stamp_ns, draw(number) if wild else 1.0, turn, linear)
            else:
                rig.send_force(stamp_ns, draw(number))
        if draw(st.booleans()):
            rig.send_all()
        deed = draw(st.integers(0, 5))
        if deed == 0:
            rig.gate.trip(rig.now_s, Violation(Check.DISARMED, 'by hand'))
        elif deed <= 3 and rig.view.fault is None:
            rig.gate.arm(rig.now_s, rig.view.state())
        rig.tick(draw(st.just(0.0) | ANY))
        rig.pass_time(draw(st.sampled_from([0.002, PERIOD_S, PERIOD_S, 0.05, 0.5])))


NASTY = [math.nan, math.inf, -math.inf, 1e308, -1e308, 1e200, 5e-324, 1e3, -1e3, 2 * math.pi]
NASTY += [5.0, 2.01, -2.01, 1.99, 15.1, -15.1, 14.9, 0.11, -0.11, 0.09, 0.0, -0.0]


def nasty_message(rig: Rig, rng: random.Random) -> None:
    """Send one message of any publisher with something wrong in it, or only strange."""
    stamp_ns = rig.stamp_ns + rng.choice([0, 0, 0, 1, -1, 10**7, -(10**7), 10**10, -(10**10)])
    stamp_ns = rng.choice([stamp_ns] * 9 + [0, -1, 2**62])
    small = rng.uniform(-0.04, 0.04)
    what = rng.randrange(4)
    if what <= 1:
        names = rng.choice(
            [('hip', 'knee')] * 6
            + [('knee', 'hip'), ('hip',), ('knee',), ('finger',), ('arm',), (), ('hip', 'hip')]
            + [('hip', 'knee', 'finger'), ('hip', 'knee', 'arm')]
        )
        position, velocity = ([small] * len(names) for _ in range(2))
        for row in (position, velocity):
            if row and rng.random() < 0.5:
                row[rng.randrange(len(row))] = rng.choice(NASTY)
        if rng.random() < 0.05:
            velocity = velocity[1:]
        rig.send_joints(stamp_ns, names, position, velocity)
    elif what == 2:
        turn = list(UPRIGHT)
        if rng.random() < 0.5:
            turn[rng.randrange(4)] = rng.choice(NASTY)
        height = rng.choice([1.0] * 3 + NASTY)
        rig.send_base(stamp_ns, height, tuple(turn), (rng.choice([0.0] * 3 + NASTY), 0.0, 0.0))
    else:
        rig.send_force(stamp_ns, rng.choice([0.0] * 3 + NASTY))


def test_a_robot_in_order_among_nasty_messages() -> None:
    """Mostly sound states, so that the policy drives, and one message in five is nasty."""
    for seed in range(10 * EXAMPLES):
        rng, rig = random.Random(seed), Rig()
        for _ in range(20):
            if rng.random() < 0.97:
                rig.send_all((rng.uniform(-0.04, 0.04),) * 2, (rng.uniform(-1, 1),) * 2)
            while rng.random() < 0.2:
                nasty_message(rig, rng)
            if rig.gate.state is not GateState.RUNNING and rig.view.fault is None:
                rig.gate.arm(rig.now_s, rig.view.state())
            for _ in range(rng.randrange(1, 4)):
                rig.tick(rng.choice([0.0] * 99 + [1.0]))
                rig.now_s += 0.002
            rig.now_s -= 0.002
            passed_s = rng.choice([PERIOD_S] * 20 + [0.05, 0.5])
            if passed_s == 0.5:  # the driver starts again, with all joints or with one
                rig.names = rng.choice([('hip', 'knee'), ('hip', 'knee'), ('hip',), ('knee',)])
            rig.pass_time(passed_s)


@settings(deadline=None, max_examples=EXAMPLES)
@given(
    st.floats(-LIMIT_RAD, LIMIT_RAD),
    st.floats(-5, 5),
    st.integers(0, 1),
    st.integers(1, 20),
    st.booleans(),
)
def test_a_jump_trips_if_and_only_if_the_velocity_does_not_explain_it(
    to_rad: float, velocity: float, joint: int, before: int, returns: bool
) -> None:
    """From rest at 0; twice the velocity and 0.1 rad are allowed in a period."""
    rig = Rig()
    for _ in range(before):
        rig.send_all()
        rig.tick()
        assert rig.gate.state is GateState.RUNNING or not rig.gate.arm(
            rig.now_s, rig.controller.state
        )
        rig.pass_time()
    asked = len(rig.policy.shown)
    position, speed = np.zeros(2), np.zeros(2)
    position[joint], speed[joint] = to_rad, velocity
    rig.send_all(position, speed)
    if returns:  # a good message in the same tick hides nothing
        rig.stamp_ns += 1_000
        rig.send_all()
    rig.tick()
    allowed = STRICT.position_jump_rad + 2 * abs(velocity) * PERIOD_S
    if abs(to_rad) > allowed + 1e-9:
        assert rig.gate.tripped_by is not None
        assert rig.gate.tripped_by.check is Check.POSITION_JUMP
        assert len(rig.policy.shown) == asked
    elif abs(to_rad) < STRICT.position_jump_rad:
        assert rig.gate.state is GateState.RUNNING, rig.gate.tripped_by


@settings(deadline=None, max_examples=EXAMPLES)
@given(st.tuples(WILD, WILD, WILD, WILD), st.booleans())
def test_a_quaternion_is_a_rotation_or_trips(turn: tuple, slow: bool) -> None:
    rig = Rig()
    rig.send_all()
    rig.tick()
    assert not rig.gate.arm(rig.now_s, rig.controller.state)
    rig.pass_time()
    rig.send_joints(rig.stamp_ns, ('hip', 'knee'), (0.0, 0.0), (0.0, 0.0))
    rig.send_base(rig.stamp_ns, turn=turn)
    rig.send_force(rig.stamp_ns)
    rig.tick()
    norm = math.hypot(*turn)
    if not 0.9 <= norm <= 1.1:
        assert rig.gate.tripped_by is not None
        asked = len(rig.policy.shown)
        for _ in range(2 if slow else 0):  # the base sends at a third of the rate
            rig.pass_time()
            rig.send_joints(rig.stamp_ns, ('hip', 'knee'), (0.0, 0.0), (0.0, 0.0))
            rig.tick()
        assert len(rig.policy.shown) == asked


@pytest.mark.parametrize(
    ('hip_rad', 'hip_rad_s'),
    [(math.nan, 0.0), (math.inf, 0.0), (0.0, 1e300), (0.0, math.nan), (1.4, 1e300)],
)
def test_a_mad_message_between_two_states_hides_no_jump(hip_rad: float, hip_rad_s: float) -> None:
    """Both come before the next tick, which sees only the second: a hip that was at 0."""
    rig = Rig()
    rig.send_all()
    rig.tick()
    assert not rig.gate.arm(rig.now_s, rig.controller.state)
    rig.pass_time()
    rig.send_joints(rig.stamp_ns, ('hip', 'knee'), (hip_rad, 0.0), (hip_rad_s, 0.0))
    rig.stamp_ns += 1_000
    rig.send_all((1.4, 0.0))
    rig.tick()
    assert rig.gate.state is GateState.TRIPPED and not rig.policy.shown


@settings(deadline=None, max_examples=EXAMPLES)
@given(st.integers(1, 200), st.floats(0, 2), st.integers(1, 20))
def test_a_jump_in_small_steps_is_a_jump(steps: int, to_rad: float, poll_every: int) -> None:
    """A driver smears a jump over many messages within half a control period, velocity 0."""
    rig = Rig()
    rig.send_all()
    rig.tick()
    assert not rig.gate.arm(rig.now_s, rig.controller.state)
    rig.pass_time()
    rig.send_all()
    begun_ns = rig.stamp_ns
    for step in range(1, steps + 1):
        rig.stamp_ns = begun_ns + round(0.499 * PERIOD_S * 1e9 * step / steps)
        rig.send_all((to_rad * (step / steps), 0.0))
        if step % poll_every == 0:
            rig.tick()
    rig.tick()
    tripped = rig.gate.tripped_by is not None
    assert tripped is (to_rad > STRICT.position_jump_rad)
    assert all(seen[0] <= STRICT.position_jump_rad for seen in rig.policy.shown)


def test_what_moved_between_two_readings_of_rest_is_no_jump() -> None:
    """Messages of 1 kHz show how fast a joint was between two at rest, 0.15 rad apart."""
    rig = Rig()
    rig.send_all()
    rig.tick()
    assert not rig.gate.arm(rig.now_s, rig.controller.state)
    for hip, velocity in ((0.0, 0.0), (0.05, 14.0), (0.1, 14.0), (0.15, 0.0)):
        rig.pass_time(0.001)
        rig.send_all((hip, 0.0), (velocity, 0.0))
    rig.tick()
    assert rig.gate.state is GateState.RUNNING, rig.gate.tripped_by


@pytest.mark.parametrize('force_n', [3.01, 1e38, 1e300, -1e308])
def test_a_term_that_never_moved_in_training_cannot_be_anything(force_n: float) -> None:
    """A sole that never touched the floor; 1e300 N are infinite for a network of float32."""
    bounds = Bounds((-2.0,) * 6 + (0.0,), (2.0,) * 6 + (0.0,), 1)
    rig = Rig(metadata=replace(METADATA, training_bounds=bounds, demonstration_bounds=bounds))
    rig.send_all()
    rig.tick()
    assert not rig.gate.arm(rig.now_s, rig.controller.state)
    rig.pass_time()
    rig.send_joints(rig.stamp_ns, ('hip', 'knee'), (0.0, 0.0), (0.0, 0.0))
    rig.send_base(rig.stamp_ns)
    rig.send_force(rig.stamp_ns, force_n)
    rig.tick()
    assert rig.gate.tripped_by is not None and not rig.policy.shown
    assert rig.gate.tripped_by.check is Check.DISTRIBUTION


def test_patience_with_silence_hides_no_jump() -> None:
    """After 30 silent periods a source is new where no setting calls it fresh all the while."""
    rig = Rig(replace(STRICT, stale_periods=100.0, late_state_periods=100.0))
    rig.send_all()
    rig.tick()
    assert not rig.gate.arm(rig.now_s, rig.controller.state)
    rig.pass_time(30 * PERIOD_S)
    rig.send_all((1.4, 0.0))
    rig.tick()
    assert rig.gate.tripped_by is not None and not rig.policy.shown


def test_what_a_source_counted_outlives_it() -> None:
    rig = Rig()
    for _ in range(2):
        rig.send_joints(rig.stamp_ns, ('hip', 'knee'), (0.0, 0.0), (0.0, 0.0))
    rig.pass_time(0.5)
    rig.send_joints(rig.stamp_ns, ('hip',), (0.0,), (0.0,))
    assert rig.view.counts[Check.STATE_DUPLICATED] == 1


def test_a_joint_whose_source_is_gone_is_missing_until_it_comes_again() -> None:
    """A driver of both joints dies; the one that follows brings the hip alone."""
    rig = Rig()
    rig.send_all()
    rig.tick()
    for names in (('hip',), ('hip',), ('knee',)):
        assert rig.view.complete or rig.view.missing == ["joints missing: ['knee']"]
        rig.pass_time(0.5)
        rig.send_joints(rig.stamp_ns, names, (0.1,), (0.0,))
        rig.send_joints(rig.stamp_ns, ('hip',), (0.1,), (0.0,))
        rig.send_base(rig.stamp_ns)
        rig.send_force(rig.stamp_ns)
        rig.tick()
        refused = rig.gate.arm(rig.now_s, rig.view.state())
        assert bool(refused) is (names == ('hip',)), 'driven with a knee that nobody measures'


def test_a_base_at_no_height_trips_though_the_policy_does_not_observe_it() -> None:
    view = RobotView(replace(METADATA, observation=(ObservationTerm('hip/position'),)), STRICT)
    base = BaseOdometry((0.0, 0.0, math.inf), UPRIGHT, (0.0,) * 3, (0.0,) * 3)
    view.take_odometry(Odometry(1, '', '', base), 0.0)
    assert view.fault == Violation(Check.STATE_NOT_FINITE, 'base/height')


def test_the_clock_of_another_device_is_not_the_robots() -> None:
    """A gripper stamps with the time of day, the simulated robot from zero."""
    view = RobotView(METADATA, STRICT, clock=RobotClock(PERIOD_S))
    zeros = (0.0, 0.0)
    for step in range(1, 4):
        stamp_ns = step * 10_000_000
        gripper = JointState(1_800_000_000 * 10**9 + stamp_ns, '', ('left', 'right'), *3 * [zeros])
        view.take_joints(gripper, step * PERIOD_S)
        view.take_joints(JointState(stamp_ns, '', ('hip', 'knee'), *3 * [zeros]), step * PERIOD_S)
        assert abs(view.newest_arrival_s - view.newest_ns / 1e9) < 1


def test_two_states_of_one_poll_hide_no_jump_in_simulated_time() -> None:
    """They lie a whole period apart by their stamps, and come at once."""
    view, zeros = RobotView(METADATA, STRICT, clock=RobotClock(PERIOD_S)), (0.0, 0.0)
    for step, hip in enumerate((0.0, 1.4, 1.4)):
        stamp_ns, come_s = step * 10_000_000, PERIOD_S * min(step, 1)
        view.take_joints(JointState(stamp_ns, '', ('hip', 'knee'), (hip, 0.0), zeros, ()), come_s)
    assert view.fault is not None and view.fault.check is Check.POSITION_JUMP
