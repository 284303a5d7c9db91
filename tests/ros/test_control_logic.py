# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Which states are answered, how readings are put together, what goes on the wire."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from lsiq_core.policy.artifact import verify
from lsiq_ros.control.controller import ControlGrid, Controller
from lsiq_ros.control.robot_view import joint_differences, RobotView
from lsiq_ros.gate.checks import Check
from lsiq_ros.gate.gate import GateState
from lsiq_ros.gate.settings import GateSettings
from lsiq_ros.wire.base import PelvisOdometry
from lsiq_ros.wire.effort_cdr import effort_bytes
from lsiq_ros.wire.messages import read_odometry
from lsiq_ros.wire.observation import observe_raw
from lsiq_ros.wire.state_cdr import JointStateReader, read_pelvis
from nav_msgs.msg import Odometry
import numpy as np
import pytest
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState
from spring_policy import TERMS, write_policy
from std_msgs.msg import Float64MultiArray

UPRIGHT = PelvisOdometry((0.0, 0.0, 1.0), (0.0, 0.0, 0.0, 1.0), (0.0,) * 3, (0.0,) * 3)


def answered(stamps: np.ndarray, period_s: float = 0.01) -> list[float]:
    grid, found = ControlGrid(period_s), []
    for stamp in stamps:
        if grid.due(stamp):
            grid.answered(stamp)
            found.append(stamp)
        assert not grid.due(stamp), 'the same state is answered twice'
    return found


@pytest.mark.parametrize(
    ('rate_hz', 'expected_hz'), [(100, 100), (98, 98), (500, 100), (1000, 100), (102, 100)]
)
def test_one_state_in_a_period_is_answered(rate_hz: float, expected_hz: float) -> None:
    stamps = 5.0 + np.arange(10 * rate_hz) / rate_hz
    assert len(answered(stamps)) == pytest.approx(10 * expected_hz, abs=2)


def test_jitter_of_stamps_loses_no_state() -> None:
    rng = np.random.default_rng(0)
    stamps = np.arange(1000) * 0.01 + rng.uniform(-0.003, 0.003, 1000)
    assert len(answered(stamps)) == 1000


def test_a_clock_that_starts_again_is_followed_at_once() -> None:
    assert answered(np.array([100.0, 100.01, 0.0, 0.01, 0.02])) == [100.0, 100.01, 0, 0.01, 0.02]


def test_effort_bytes_are_what_ros_serialises() -> None:
    values = np.array([1.5, -2.25, 1e-300])
    assert list(deserialize_message(effort_bytes(values), Float64MultiArray).data) == list(values)


NAMES = st.lists(st.text('abcdefgh_1', min_size=1, max_size=9), min_size=1, max_size=6)


@settings(deadline=None, max_examples=100)
@given(st.data(), NAMES, st.text('xyz_/', max_size=7))
def test_joint_states_are_read_as_rclpy_reads_them(data, names, frame) -> None:
    """Twice, so that the remembered layout is used, and then with other names."""
    reader = JointStateReader()
    for joints in (names, names, names[::-1], names):
        count = len(joints)
        numbers = st.lists(st.floats(), min_size=count, max_size=count)
        message = JointState(name=joints, position=data.draw(numbers), velocity=data.draw(numbers))
        message.effort = data.draw(st.sampled_from([[], [1.0] * count]))
        message.header.frame_id = frame
        message.header.stamp.sec, message.header.stamp.nanosec = 12, data.draw(st.integers(0, 9))
        found = reader.read(serialize_message(message))
        assert found.names == joints and found.stamp_s == 12 + message.header.stamp.nanosec * 1e-9
        assert np.array_equal(found.position_rad, message.position, equal_nan=True)
        assert np.array_equal(found.velocity_rad_s, message.velocity, equal_nan=True)


def test_a_joint_state_without_velocities_is_read_as_it_is() -> None:
    reader = JointStateReader()
    for velocity in ([1.0], [], [2.0]):
        message = JointState(name=['a'], position=[3.0], velocity=velocity)
        assert list(reader.read(serialize_message(message)).velocity_rad_s) == velocity


@given(st.text('odm_', max_size=9), st.text('base_', max_size=9))
def test_odometry_is_read_as_rclpy_reads_it(frame: str, child: str) -> None:
    message = Odometry(child_frame_id=child)
    message.header.frame_id, message.header.stamp.sec = frame, 7
    place, turn = message.pose.pose.position, message.pose.pose.orientation
    place.x, place.y, place.z, turn.x, turn.w = 1.0, 2.0, 3.0, 0.6, 0.8
    twist = message.twist.twist
    twist.linear.y, twist.angular.z = -4.0, 5.0
    message.twist.covariance[0] = message.pose.covariance[35] = 99.0
    assert read_pelvis(serialize_message(message)) == (7.0, read_odometry(message))


def test_joints_are_compared_as_sets_of_single_names() -> None:
    assert joint_differences(['b', 'a', 'arm'], {'a', 'b'}, {'arm'}) == ''
    found = joint_differences(['a', 'a', 'x'], {'a', 'b'}, set())
    assert found == "named twice: ['a']; missing: ['b']; not in the policy: ['x']"


def test_the_policy_waits_for_readings_of_one_instant(tmp_path) -> None:
    verification = verify(write_policy(tmp_path / 'p.onnx'), observe=observe_raw)
    strict = GateSettings(ramp_in_s=0.0, slew_periods=0.1)
    view = RobotView(verification.artifact.metadata, strict)
    controller = Controller(verification.policy, strict, view)
    gate = controller.new_gate()
    assert view.missing == ['joints', 'pelvis'] and view.state() is None
    view.take_joints(['knee', 'hip'], [0.2, 0.1], [0.0, 0.0], 10.0, 0.0)
    view.take_pelvis(UPRIGHT, 10.0, 0.0)
    controller.tick(0.001, 0.0, gate)
    assert gate.arm(0.001, controller.state) == []
    assert controller.tick(0.006, 0.0, gate) == pytest.approx([0, -20], abs=1e-4)
    view.take_joints(['knee', 'hip'], [0.0, 0.0], [0.0, 0.0], 10.04, 0.04)
    assert controller.tick(0.041, 0.0, gate) == pytest.approx([0, -20], abs=1e-4)
    view.take_pelvis(UPRIGHT, 10.04, 0.042)
    assert controller.tick(0.043, 0.0, gate) == pytest.approx([20, 20], abs=1e-4)
    assert controller.policy_ticks == 2 and len(TERMS) == 5


def test_a_policy_that_raises_trips(tmp_path) -> None:
    policy = verify(write_policy(tmp_path / 'p.onnx')).policy
    strict = GateSettings()
    view = RobotView(policy.metadata, strict)
    controller = Controller(policy, strict, view)
    gate = controller.new_gate()
    view.take_joints(['knee', 'hip'], [0.2, 0.1], [0.0, 0.0], 10.0, 0.0)
    view.take_pelvis(UPRIGHT, 10.0, 0.0)
    controller.tick(0.001, 0.0, gate)
    gate.arm(0.001, controller.state)
    controller.policy = None  # type: ignore[assignment]
    view.take_joints(['knee', 'hip'], [0.2, 0.1], [0.0, 0.0], 10.04, 0.04)
    view.take_pelvis(UPRIGHT, 10.04, 0.04)
    controller.tick(0.04, 0.0, gate)
    assert gate.state is GateState.TRIPPED
    assert gate.tripped_by is not None and gate.tripped_by.check is Check.POLICY_ERROR
