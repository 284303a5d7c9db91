# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""The CDR codec against rclpy, which has its own, and against bytes that lie."""

from __future__ import annotations

import struct

from geometry_msgs.msg import WrenchStamped
from hypothesis import given, settings
from hypothesis import strategies as st
from lsiq_ros.wire import cdr
from lsiq_ros.wire.base import BaseOdometry
from nav_msgs.msg import Odometry
import numpy as np
import pytest
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String

NAMES = st.lists(st.text('abcdefgh_1', min_size=1, max_size=9), min_size=1, max_size=6)
BASE = BaseOdometry((1.0, 2.0, 3.0), (0.6, 0.0, 0.0, 0.8), (0.0, -4.0, 0.5), (0.25, 0.0, 5.0))


@settings(deadline=None, max_examples=100)
@given(st.data(), NAMES, st.text('xyz_/', max_size=7))
def test_joint_states_are_read_as_rclpy_reads_them(data, names, frame) -> None:
    """Twice, so that the remembered layout is used, and then with other names."""
    reader = cdr.JointStateReader()
    for joints in (names, names, names[::-1], names):
        count = len(joints)
        numbers = st.lists(st.floats(), min_size=count, max_size=count)
        message = JointState(name=joints, position=data.draw(numbers), velocity=data.draw(numbers))
        message.effort = data.draw(st.sampled_from([[], [1.0] * count]))
        message.header.frame_id = frame
        message.header.stamp.sec, message.header.stamp.nanosec = 12, data.draw(st.integers(0, 9))
        found = reader(serialize_message(message))
        assert found.names == tuple(joints) and found.frame == frame
        assert found.stamp_ns == 12_000_000_000 + message.header.stamp.nanosec
        for quantity in ('position', 'velocity', 'effort'):
            expected = getattr(message, quantity)
            assert np.array_equal(getattr(found, quantity), expected, equal_nan=True)


def test_absent_quantities_are_empty() -> None:
    reader = cdr.JointStateReader()
    for velocity in ([1.0], [], [2.0]):
        message = JointState(name=['a'], position=[3.0], velocity=velocity)
        assert list(reader(serialize_message(message)).velocity) == velocity


@settings(deadline=None)
@given(st.text('odm_', max_size=9), st.text('base_', max_size=9))
def test_odometry_is_read_as_rclpy_reads_it(frame: str, child: str) -> None:
    message = Odometry(child_frame_id=child)
    message.header.frame_id, message.header.stamp.sec = frame, 7
    place, turn = message.pose.pose.position, message.pose.pose.orientation
    (place.x, place.y, place.z), (turn.x, turn.y, turn.z, turn.w) = BASE[:2]
    linear, angular = message.twist.twist.linear, message.twist.twist.angular
    (linear.x, linear.y, linear.z), (angular.x, angular.y, angular.z) = BASE[2:]
    message.twist.covariance[0] = message.pose.covariance[35] = 99.0
    reader, raw = cdr.OdometryReader(), serialize_message(message)
    assert reader(raw) == reader(raw) == (7_000_000_000, frame, child, BASE)
    message.twist.covariance[0] = message.pose.covariance[35] = 0.0
    written = cdr.OdometryWriter(frame, child).write(7_000_000_000, BASE)
    assert deserialize_message(written, Odometry) == message


@pytest.mark.parametrize('frame', ['', 'a', 'left_foot', 'map'])
def test_wrenches_come_and_go_as_rclpy_has_them(frame) -> None:
    written = cdr.WrenchWriter(frame).write(1_000_000_002, (1.0, 2.0, -3.0))
    message = deserialize_message(written, WrenchStamped)
    force = message.wrench.force
    assert (message.header.frame_id, message.header.stamp.sec) == (frame, 1)
    assert (force.x, force.y, force.z) == (1.0, 2.0, -3.0)
    message.wrench.torque.y = 0.5
    found = cdr.WrenchReader()(serialize_message(message))
    assert found == (1_000_000_002, frame, (1.0, 2.0, -3.0), (0.0, 0.5, 0.0))


@pytest.mark.parametrize('frame', ['', 'a', 'ab', 'abc', 'base_link'])
@pytest.mark.parametrize(
    ('names', 'counts'),
    [
        ((), (0, 0, 0)),
        (('x',), (1, 0, 0)),
        (('ab', 'knee_angle_l'), (2, 0, 2)),
        (('abc', 'd', 'e'), (0, 3, 3)),
    ],
)
def test_written_joint_states_are_those_of_the_message(frame, names, counts):
    numbers = [(np.arange(count) + shift) / 3 for shift, count in enumerate(counts)]
    message = JointState(name=list(names))
    message.header.frame_id = frame
    message.header.stamp.sec, message.header.stamp.nanosec = 12, 345
    message.position, message.velocity, message.effort = (array.tolist() for array in numbers)
    writer = cdr.JointStateWriter(
        frame, names, position=counts[0], velocity=counts[1], effort=counts[2]
    )
    writer.position[:], writer.velocity[:], writer.effort[:] = numbers
    raw = writer.write(12_000_000_345)
    assert deserialize_message(raw, JointState) == message
    found = cdr.JointStateReader()(raw)
    assert found[:3] == (12_000_000_345, frame, names)
    assert [list(values) for values in found[3:]] == [array.tolist() for array in numbers]


def test_efforts_and_texts() -> None:
    values = np.array([1.5, -2.25, 1e-300])
    raw = cdr.write_float64_array(values)
    assert list(deserialize_message(raw, Float64MultiArray).data) == list(values)
    assert cdr.read_text(serialize_message(String(data='reset'))) == 'reset'


def test_the_effort_can_be_left_out() -> None:
    reader = cdr.JointStateReader()
    for raw in (joint_state(), swapped(joint_state())):
        kept = reader.without_effort(raw)
        assert reader(kept) == (*reader(raw)[:5], ())
        assert reader.without_effort(kept) == kept
    assert not deserialize_message(reader.without_effort(joint_state()), JointState).effort


def joint_state() -> bytes:
    writer = cdr.JointStateWriter('base', ['hip', 'knee'], position=2, velocity=2, effort=2)
    writer.position[:], writer.velocity[:], writer.effort[:] = (1, 2), (3, 4), (5, 6)
    return writer.write(5_000_000_007)


def swapped(raw: bytes) -> bytes:
    """Return the message of :func:`joint_state` in big-endian order, field by field."""
    sizes = [4, 4, 4, 's8', 4, 4, 's4', 4, 's8', 4, 8, 8, 4, 's4', 8, 8, 4, 's4', 8, 8]
    found, at = b'\0\0\0\0', 4
    for size in sizes:
        length = int(str(size).removeprefix('s'))
        part = raw[at : at + length]
        found, at = found + (part if isinstance(size, str) else part[::-1]), at + length
    assert at == len(raw)
    return found


def test_arrays_hold_the_same_as_tuples() -> None:
    reader = cdr.JointArraysReader()
    for raw in (joint_state(), swapped(joint_state()), joint_state()):
        found, expected = reader(raw), cdr.JointStateReader()(raw)
        assert found[:3] == expected[:3]
        assert [tuple(array.tolist()) for array in found[3:]] == list(expected[3:])
    assert reader(cdr.JointStateWriter('', ['a'], position=1).write(0)).effort.shape == (0,)


def test_both_byte_orders_are_read() -> None:
    reader = cdr.JointStateReader()
    expected = reader(joint_state())
    assert reader(swapped(joint_state())) == reader(joint_state()) == expected
    assert expected.position == (1.0, 2.0)


def test_two_sources_on_one_topic_do_not_disturb_each_other() -> None:
    reader = cdr.JointStateReader()
    gripper = cdr.JointStateWriter('hand', ['finger'], position=1).write(3)
    for _ in range(3):
        assert reader(joint_state()).names == ('hip', 'knee')
        assert reader(gripper).names == ('finger',)


def test_a_source_of_ever_new_lengths_fills_no_memory() -> None:
    reader = cdr.JointStateReader()
    for count in range(100):
        reader(cdr.JointStateWriter('', [], position=count).write(0))
    assert len(reader._layouts) <= 16


READERS = [cdr.JointStateReader, cdr.JointArraysReader, cdr.OdometryReader, cdr.WrenchReader]
WHOLE = {
    cdr.JointStateReader: joint_state(),
    cdr.JointArraysReader: joint_state(),
    cdr.OdometryReader: cdr.OdometryWriter('odom', 'base').write(1, BASE),
    cdr.WrenchReader: cdr.WrenchWriter('odom').write(1, (1.0, 2.0, 3.0)),
}


@pytest.mark.parametrize('reader', READERS)
def test_every_cut_is_noticed(reader) -> None:
    raw = WHOLE[reader]
    for length in range(len(raw)):
        with pytest.raises(cdr.CdrError):
            reader()(raw[:length])


@pytest.mark.parametrize('reader', [*READERS, lambda: cdr.read_text])
@pytest.mark.parametrize(
    'raw',
    [b'', b'\0', b'\0\1\0\0', b'\0\7\0\0' + bytes(800), b'\1\1\0\0' + bytes(800), b'\xff' * 8],
)
def test_garbage_is_refused(reader, raw) -> None:
    with pytest.raises(cdr.CdrError):
        reader()(raw)


@pytest.mark.parametrize('reader', READERS)
@settings(deadline=None, max_examples=300)
@given(data=st.data())
def test_hostile_bytes_are_refused_or_read_within_bounds(reader, data) -> None:
    """Also behind a good message whose layout is remembered."""
    read, raw = reader(), bytearray(WHOLE[reader])
    good = read(bytes(raw))
    for _ in range(data.draw(st.integers(1, 4))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    hostile = data.draw(st.just(bytes(raw)) | st.binary(max_size=200).map(b'\0\1\0\0'.__add__))
    try:
        found = read(hostile)
    except cdr.CdrError:
        pass
    else:
        assert repr(found) == repr(reader()(hostile)), 'a remembered layout reads the same'
    assert repr(read(WHOLE[reader])) == repr(good)


@pytest.mark.parametrize('at', [12, 24, 28, 36])
def test_a_length_that_lies_allocates_nothing(at) -> None:
    """The lengths of the frame, of the names and of the texts in them."""
    raw = bytearray(joint_state())
    struct.pack_into('<I', raw, at, 0xFFFFFFFF)
    with pytest.raises(cdr.CdrError, match='4294967295 elements are announced'):
        cdr.JointStateReader()(bytes(raw))
