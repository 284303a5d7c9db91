# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
States that cannot be and controllers that meet, over real topics.

As in test_control_node, no effort was ever seen that the gate would not let through, and
the node is alive. The spring asks for 20 N m at both joints of the calm robot.
"""

from __future__ import annotations

from copy import deepcopy
import math
import signal
import sys
import threading
import time
from types import SimpleNamespace

from builtin_interfaces.msg import Time
from control_harness import (
    ACTIVATE,
    CLEANUP,
    COMMAND_RATE_HZ,
    CONFIGURE,
    DEACTIVATE,
    Harness,
    SLEW_PERIODS,
    stamped_before,
)
from lsiq_core.errors import LsiqError
from lsiq_core.policy.artifact import verify
from lsiq_ros.control.deployment import Deployment
from lsiq_ros.control.parameters import ControlParameters
from lsiq_ros.control.robot_view import RobotView
from lsiq_ros.control.state_topics import StateTopics
from lsiq_ros.control.trip_report import TripReporter
from lsiq_ros.gate.black_box import BlackBox
from lsiq_ros.gate.checks import Check, Violation
from lsiq_ros.gate.settings import GateSettings
from lsiq_ros.wire.base import BaseOdometry
from lsiq_ros.wire.cdr import JointState as JointReading
from lsiq_ros.wire.cdr import Odometry as OdometryReading
from lsiq_ros.wire.cdr import write_float64_array
from lsiq_ros.wire.observation import observe_raw
from nav_msgs.msg import Odometry
from node_processes import at_most_s
import numpy as np
import pytest
from sensor_msgs.msg import JointState
from spring_policy import JOINTS, RATE_HZ
from std_msgs.msg import Float64MultiArray

EFFORTS = 'effort_controller/commands'


def with_hip_at(message: JointState, position_rad: float) -> JointState:
    other = deepcopy(message)
    other.position[list(other.name).index('hip')] = position_rad
    return other


def driven(harness: Harness) -> None:
    harness.drive()
    harness.until(lambda: harness.efforts[-1][1] == pytest.approx([20, 20], abs=1e-3), 'policy')


@pytest.mark.parametrize('messages', [1, 1000])
@pytest.mark.parametrize('position_rad', [5.0, -1000.0, 2 * math.pi, 1.2])
def test_a_position_that_cannot_be_trips_and_is_never_answered(
    harness: Harness, position_rad: float, messages: int
) -> None:
    """The limits are 1.5 rad. The spring would answer 5 rad with -980 N m."""
    driven(harness)
    sent = 0

    def teleport(message: JointState, number: int) -> list[JointState]:
        nonlocal sent
        sent += 1
        return [with_hip_at(message, position_rad) if sent <= messages else message]

    harness.mangle = teleport
    harness.until_tripped('position_jump')
    assert 'hip moved by' in harness.statuses['gate/position_jump'].message
    hip = [effort[0] for _, effort in harness.efforts]
    assert min(hip) >= 0 and max(hip) <= 20.001, 'the policy answered'


def test_a_robot_far_outside_its_limits_is_not_armed(harness: Harness) -> None:
    harness.position['hip'] = 2 * math.pi
    time.sleep(0.1)
    harness.configure()
    harness.until(lambda: harness.count('position') > 0, 'the counter')
    answer = harness.arm()
    assert not answer.success and 'position: hip is at 6.283 rad' in answer.message


@pytest.mark.parametrize(
    'quaternion',
    [(1e200, 0, 0, 0), (0, 0, 0, 0), (0, 0, 0, 2.0), (0, 0, 0, 1e-5), (math.nan, 0, 0, 1)],
    ids=str,
)
def test_a_quaternion_that_is_no_rotation_trips(harness: Harness, quaternion: tuple) -> None:
    driven(harness)

    def break_odometry(odometry) -> None:
        turn = odometry.pose.pose.orientation
        turn.x, turn.y, turn.z, turn.w = map(float, quaternion)

    harness.mangle_odometry = break_odometry
    harness.until_tripped('orientation')


def test_base_and_joints_of_different_times_are_not_driven(harness: Harness) -> None:
    """Odometry is 1 s behind the joints from the start; every message is new and in order."""

    def lag(odometry) -> None:
        odometry.header.stamp.sec -= 1

    harness.mangle_odometry = lag
    time.sleep(0.2)
    harness.configure()
    harness.until(lambda: harness.count('skew') > 0, 'the counter')
    answer = harness.arm()
    assert not answer.success and 'skew' in answer.message
    harness.until(lambda: 900 < float(harness.value('skew_ms')) < 1100, 'the skew in ms')
    assert not harness.efforts


UNUSABLE = ['~nosuchuser/p.onnx', 'x' * 300, 'x/' * 3000, '/', '/dev/zero', '\\0']


@pytest.mark.parametrize('path', UNUSABLE, ids=lambda path: path[:20])
def test_a_path_that_cannot_be_used_is_refused_in_words(harness: Harness, path: str) -> None:
    """At a swap while the policy drives, and at configure."""
    driven(harness)
    harness.set_text(policy=path)
    answer = harness.swap()
    assert not answer.success and answer.message
    assert harness.efforts[-1][1] == pytest.approx([20, 20], abs=1e-3)
    assert harness.lifecycle == 'active' and not harness.seen_errors
    harness.reset_node()
    harness.set_text(policy=path)
    assert not harness.transition(CONFIGURE)
    harness.until(lambda: 'configure refused' in harness.refusal(), 'the reason')
    assert harness.lifecycle == 'unconfigured'


def test_arming_again_beside_another_controller_is_refused_and_the_node_is_silent(
    harness: Harness,
) -> None:
    """One hand on the wheel: ours lets go, and takes it back when the other is gone."""
    driven(harness)
    rival = harness.node.create_publisher(Float64MultiArray, EFFORTS, 1)
    try:
        harness.until_tripped('second_controller')
        answer = harness.arm()
        assert not answer.success and 'other publishers' in answer.message
        time.sleep(0.3)
        sent = len(harness.efforts)
        time.sleep(0.3)
        assert len(harness.efforts) == sent, 'damping goes into the commands of another'
    finally:
        harness.node.destroy_publisher(rival)
    harness.until(lambda: len(harness.efforts) > sent, 'damping of an orphaned robot')
    harness.until(lambda: harness.arm().success, 'armed again')
    harness.until(lambda: harness.efforts[-1][1] == pytest.approx([20, 20], abs=1e-3), 'policy')


def test_of_two_activations_at_once_one_drives(harness: Harness) -> None:
    harness.configure()
    rival = harness.another_node('rival')
    names = ('control_node', 'rival')
    try:
        harness.configure('rival')
        for _ in range(5):
            for name in names:
                assert harness.arm(node=name).success
            futures = {name: harness.begin_transition(ACTIVATE, name) for name in names}
            for name, future in futures.items():
                harness.until(future.done, f'the answer of {name}')
            active = [name for name, future in futures.items() if future.result().success]
            assert len(active) == 1, active
            harness.until(lambda: harness.node.count_publishers(EFFORTS) == 1, 'one publisher')
            assert harness.transition(DEACTIVATE, active[0])
            harness.until(lambda: harness.node.count_publishers(EFFORTS) == 0, 'none')
    finally:
        rival.send_signal(signal.SIGINT)
        assert rival.wait(timeout=at_most_s(15)) == 0


def test_a_gripper_on_the_same_topic_is_no_other_robot(harness: Harness) -> None:
    """Its broadcaster sends joints that the policy knows nothing of, and those alone."""
    gripper = JointState(name=['left_finger', 'right_finger'], position=[9.0, 9.0])

    def with_gripper(message: JointState, number: int) -> list[JointState]:
        gripper.header = message.header
        harness.joints.publish(gripper)
        return [message]

    harness.mangle = with_gripper
    driven(harness)
    harness.until(lambda: harness.count('other_joints') > 0, 'the counter')
    assert harness.mode == 'running' and not harness.seen_errors


def test_joints_in_several_messages_are_put_together(harness: Harness) -> None:
    """One broadcaster for each joint; one that stops trips."""
    stopped: list[str] = []

    def split(message: JointState, number: int) -> list[JointState]:
        parts = []
        for place, name in enumerate(message.name):
            part = JointState(header=message.header, name=[name])
            part.position, part.velocity = [message.position[place]], [message.velocity[place]]
            parts += [] if name in stopped else [part]
        return parts

    harness.mangle = split
    harness.position['knee'] = -0.1
    harness.drive()
    harness.until(lambda: harness.efforts[-1][1] == pytest.approx([20, 40], abs=1e-3), 'policy')
    stopped.append('knee')
    harness.until_tripped('stale_state')
    assert 'knee' in harness.statuses['gate/stale_state'].message


def test_a_clock_that_jumps_ahead_is_counted(harness: Harness) -> None:
    driven(harness)
    harness.mangle = lambda message, number: [stamped_before(message, -10.0)]
    harness.until(lambda: harness.count('clock_jump') > 0, 'the counter')
    time.sleep(5 / RATE_HZ)
    assert harness.mode == 'running' and not harness.seen_errors


@pytest.mark.parametrize('count', [3_000, 40_000])
def test_a_message_of_many_names_does_not_stop_the_loop(harness: Harness, count: int) -> None:
    """The smaller one is another device's, the larger one is no robot's and is dropped."""
    driven(harness)
    check = 'other_joints' if count < 10_000 else 'state_malformed'
    sent = len(harness.efforts)
    harness.joints.publish(JointState(name=[f'x{number}' for number in range(count)]))
    harness.until(lambda: harness.count(check) > 0, 'the counter')
    times_s = [time_s for time_s, _ in harness.efforts[sent - 1 :]]
    assert max(after - before for before, after in zip(times_s, times_s[1:])) < at_most_s(0.2)


def test_deactivating_leaves_zero_torque_however_slow_the_slew(harness: Harness) -> None:
    """From 20 N m to none in 1.6 s, which are more than a thousand commands."""
    usual = {'command_rate_hz': COMMAND_RATE_HZ, 'gate.slew_periods': SLEW_PERIODS}
    harness.set_numbers({'command_rate_hz': 1000.0, 'gate.slew_periods': 400.0})
    try:
        driven(harness)
        assert harness.transition(DEACTIVATE)
        harness.until(lambda: harness.node.count_publishers(EFFORTS) == 0, 'its end')
        assert not harness.efforts[-1][1].any(), 'deactivate left a torque behind'
    finally:
        harness.reset_node()
        harness.set_numbers(usual)


def test_arming_is_for_the_policy_that_was_configured_then(harness: Harness) -> None:
    harness.configure()
    harness.until(lambda: bool(harness.shadows), 'a shadow command')
    assert harness.arm().success
    assert harness.transition(CLEANUP), harness.refusal()
    harness.configure()
    assert not harness.transition(ACTIVATE)
    harness.until(lambda: 'not armed' in harness.refusal(), 'the refusal')


def test_a_robot_whose_stamps_stand_still_is_refused_in_words(harness: Harness) -> None:
    frozen: list[JointState] = []

    def freeze(message: JointState, number: int) -> list[JointState]:
        frozen.append(message)
        return [frozen[0]]

    harness.mangle = freeze
    time.sleep(2 / RATE_HZ)
    assert not harness.transition(CONFIGURE)
    harness.until(lambda: 'state_duplicated' in harness.refusal(), 'the reason')


def test_a_simulated_jump_is_not_over_before_it_is_seen(harness: Harness) -> None:
    """The base's message of that instant is lost; the loop had waited for it, and for another."""
    harness.set_flag(simulated_time=True)
    try:
        driven(harness)
        seen = 0

        def jump(message: JointState, number: int) -> list[JointState]:
            nonlocal seen
            seen += 1
            harness.position['hip'] = 0.9  # from the second on
            if seen == 2:
                harness.mangle_odometry = lose
            return [message]

        def lose(odometry: Odometry) -> None:
            odometry.header.stamp = Time()  # an old one is dropped
            harness.mangle_odometry = lambda odometry: None

        harness.mangle = jump
        harness.until_tripped('position_jump')
    finally:
        harness.reset_node()
        harness.set_flag(simulated_time=False)


def test_a_topic_that_fails_leaves_no_torque_in_simulated_time(harness: Harness) -> None:
    """The ramp to damping counts in the robot's time; ours is days ahead of it."""
    policy = verify(harness.folder / 'policy.onnx', observe=observe_raw).policy
    parameters = ControlParameters(
        simulated_time=True,
        gate=GateSettings(ramp_in_s=0.0),
        black_box_directory=str(harness.folder),
    )
    deployment = Deployment(harness.node, parameters, policy, lambda violation: None)
    sent: list[bytes] = []
    effort = SimpleNamespace(
        topic_name=harness.node.resolve_topic_name(EFFORTS), publish=sent.append
    )
    stamp_ns, begun_s = 0, time.monotonic() - 0.5

    def poll(now_s: float) -> None:
        nonlocal stamp_ns
        stamp_ns += 40_000_000
        zeros, base = (0.0, 0.0), BaseOdometry((0, 0, 1), (0, 0, 0, 1), (0,) * 3, (0,) * 3)
        deployment._view.take_joints(JointReading(stamp_ns, '', JOINTS, zeros, zeros, ()), now_s)
        deployment._view.take_odometry(OdometryReading(stamp_ns, '', '', base), now_s)

    def fail(now_s: float) -> None:
        raise RuntimeError('the middleware')

    try:
        deployment._topics.poll = poll
        deployment._shadow = effort
        for step in range(5):
            deployment._tick(begun_s + 0.04 * step, 0.0)
            if step == 1:
                deployment.go_live(effort)
        assert deployment._gate.command_nm.any()
        deployment._topics.poll = fail
        deployment._tick(begun_s + 0.2, 0.0)
        ending = threading.Thread(target=deployment.release, daemon=True)
        ending.start()
        ending.join(at_most_s(5))
        assert not ending.is_alive() and sent[-1] == write_float64_array(np.zeros(2))
    finally:
        deployment.stop()


def test_a_flood_of_messages_does_not_keep_the_loop(harness: Harness) -> None:
    """Each poll takes what a queue holds, though more comes meanwhile."""
    view = RobotView(verify(harness.folder / 'policy.onnx').policy.metadata, GateSettings())
    topics = StateTopics(harness.node, view, BlackBox())
    flood, subscriptions = iter([b'rubbish'] * 1000), topics._raw
    topics._raw = SimpleNamespace(take=lambda topic: next(flood, None))
    topics.poll(0.0)
    assert 0 < topics.counts[Check.STATE_MALFORMED] <= 10
    subscriptions.close()


def test_a_trip_is_none_the_less_one_where_no_thread_can_be_started(monkeypatch, tmp_path) -> None:
    """The loop looks; if it died, its last torque would stand."""

    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    said: list[str] = []
    log = SimpleNamespace(error=said.append)
    reporter = TripReporter(BlackBox(), tmp_path, {}, print, log)
    monkeypatch.setattr(threading.Thread, 'start', refuse)
    reporter.look(Violation(Check.TILT, 'it fell'), dict)
    reporter.join()
    assert said == ["no thread for the black box: can't start new thread"]


def test_a_refused_configure_leaves_no_subscriptions(harness: Harness) -> None:
    policy = verify(harness.folder / 'policy.onnx').policy
    parameters = ControlParameters(black_box_directory='~nosuchuser/bags')
    before = len(list(harness.node.subscriptions))
    with pytest.raises(RuntimeError, match='home directory'):
        Deployment(harness.node, parameters, policy, print)
    assert len(list(harness.node.subscriptions)) == before


def test_a_refused_activation_counts_nothing_twice(harness: Harness) -> None:
    policy = verify(harness.folder / 'policy.onnx').policy
    deployment = Deployment(harness.node, ControlParameters(), policy, print)
    try:
        deployment._gate.counts[Check.TORQUE_CLAMP] = 3
        with pytest.raises(LsiqError, match='no state has come yet'):
            deployment.go_live(None)
        assert deployment.counts()[Check.TORQUE_CLAMP] == 3
    finally:
        deployment.stop()


def test_what_was_counted_can_be_read_while_it_counts(harness: Harness) -> None:
    policy = verify(harness.folder / 'policy.onnx').policy
    deployment = Deployment(harness.node, ControlParameters(), policy, print)
    ended = threading.Event()

    def count() -> None:
        while not ended.is_set():
            with deployment._lock:  # as a tick does
                deployment._gate.counts.clear()
                for check in Check:
                    deployment._gate.counts[check] += 1

    counting, interval_s = threading.Thread(target=count), sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    counting.start()
    try:
        for _ in range(30_000):
            deployment.counts()
    finally:
        ended.set()
        counting.join()
        sys.setswitchinterval(interval_s)
        deployment.stop()
