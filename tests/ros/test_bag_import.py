# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Bags become demonstrations whose every number is known from elsewhere."""

import json
import math
import struct

from bag_making import (
    AMPLITUDES,
    angles,
    import_demonstrations,
    joint_state,
    JOINTS,
    Message,
    odometry,
    START_NS,
    TURNS_HZ,
    Walk,
    wrench,
    write_rosbag2,
)
from lsiq_core.data.demonstrations import load
from lsiq_core.types import BASE_POSE, BASE_TWIST, names
from lsiq_ros.bags.episodes import FALL, Mark, marks_to_json, RESET, START
from lsiq_ros.bags.errors import BagError
from lsiq_ros.bags.importer import ImportOptions
from lsiq_ros.bags.message_types import JOINT_STATE, ODOMETRY, WRENCH
from lsiq_ros.bags.writer import BagWriter
import numpy as np
import pytest

TERMS = tuple(f'{joint}/position' for joint in JOINTS) + tuple(
    f'{joint}/velocity' for joint in JOINTS
)
BASE_TERMS = names((*BASE_POSE, *BASE_TWIST))


def expected(count, start_s=0.0):
    return np.hstack(angles(start_s + np.arange(count) / 100))


@pytest.mark.parametrize('storage', ['mcap', 'sqlite3'])
def test_states_are_resampled_to_the_control_rate(tmp_path, storage):
    bag = write_rosbag2(tmp_path / 'bag', Walk(rate_hz=1000, seconds=2).messages(), storage)
    demos = import_demonstrations(bag).demonstrations
    assert demos.state_names == TERMS
    assert demos.rate_hz == 100
    assert list(demos.episode_lengths) == [200]
    np.testing.assert_allclose(demos.states, expected(201), atol=2e-6)


def test_a_rate_that_does_not_divide_is_interpolated(tmp_path):
    bag = write_rosbag2(tmp_path / 'bag', Walk(rate_hz=333, seconds=2).messages())
    demos = import_demonstrations(bag).demonstrations
    # linear interpolation errs by at most h^2 / 8 max |q''|
    bound = (1 / 333) ** 2 / 8 * (2 * math.pi * TURNS_HZ) ** 2 * AMPLITUDES.max()
    states = demos.states[:, :3]
    assert np.abs(states - expected(len(states))[:, :3]).max() < 1.01 * bound


def test_joints_are_matched_by_name_in_any_order_and_split_over_messages(tmp_path):
    first = Walk(names=('ankle', 'hip'), seconds=1).messages()
    second = [
        m._replace(received_ns=m.received_ns + 100_000)
        for m in Walk(names=('knee',), seconds=1).messages()
    ]
    later = Walk(seconds=1, names=('knee', 'hip', 'ankle')).messages()
    tail = []
    for message in later[1:]:
        stamp = message.received_ns + 10**9
        seconds = (stamp - START_NS) / 1e9
        position, velocity = angles(seconds)
        order = [1, 0, 2]
        data = joint_state(stamp, ('knee', 'hip', 'ankle'), position[0, order], velocity[0, order])
        tail.append(Message('/joint_states', JOINT_STATE, stamp + 200_000, data))
    messages = sorted([*first, *second, *tail], key=lambda m: m.received_ns)
    bag = write_rosbag2(tmp_path / 'bag', messages)
    demos = import_demonstrations(bag, ImportOptions(terms=TERMS)).demonstrations
    assert list(demos.episode_lengths) == [200]
    np.testing.assert_allclose(demos.states, expected(201), atol=1e-6)


def test_velocities_are_derived_where_absent(tmp_path):
    bag = write_rosbag2(tmp_path / 'bag', Walk(with_velocity=False, rate_hz=1000).messages())
    result = import_demonstrations(bag)
    assert set(result.derived) == set(TERMS[3:])
    middle = slice(1, -1)  # the ends have one-sided differences
    np.testing.assert_allclose(
        result.demonstrations.states[middle], expected(301)[middle], atol=2e-4
    )


def test_what_the_linter_refuses_is_not_imported(tmp_path):
    bag = write_rosbag2(tmp_path / 'bag', Walk(velocity_scale=180 / math.pi).messages())
    with pytest.raises(BagError, match='degrees/s'):
        import_demonstrations(bag)
    forced = import_demonstrations(bag, ImportOptions(force=True, velocities='derived'))
    assert forced.demonstrations.metadata['lint_errors_passed_over'] == ['velocity'] * 3
    with pytest.raises(BagError, match="'elbow'"):
        import_demonstrations(bag, ImportOptions(terms=('elbow/position',)))


def test_efforts_become_actions_only_when_asked(tmp_path):
    bag = write_rosbag2(tmp_path / 'bag', Walk(with_effort=True).messages())
    assert import_demonstrations(bag).demonstrations.actions is None
    demos = import_demonstrations(bag, ImportOptions(action_joints=('knee',))).demonstrations
    assert demos.action_names == ('knee/effort',)
    np.testing.assert_allclose(demos.actions[:, 0], 100 * expected(300)[:, 1], atol=1e-9)
    demos.save(tmp_path / 'walk.npz', actions_apart=True)
    assert load(tmp_path / 'walk.npz', with_actions=False).actions is None
    assert load(tmp_path / 'walk.npz').actions is not None
    plain = write_rosbag2(tmp_path / 'plain', Walk().messages())
    with pytest.raises(BagError, match='no efforts'):
        import_demonstrations(plain, ImportOptions(action_joints=('knee',)))


def test_episodes_are_found_at_gaps_time_jumps_and_teleports(tmp_path):
    walks = [Walk(seconds=1), Walk(seconds=1, start_ns=START_NS + 2 * 10**9)]
    # the clock of a simulation starts again
    walks.append(Walk(seconds=1, start_ns=START_NS + 4 * 10**9, stamp_offset_ns=-5 * 10**9))
    messages = [message for walk in walks for message in walk.messages()]
    teleported = Walk(seconds=1, start_ns=START_NS + 5_005_000_000)
    messages += [m._replace(data=_stamped_on(m, -5 * 10**9)) for m in teleported.messages()]
    bag = write_rosbag2(tmp_path / 'bag', messages)
    demos = import_demonstrations(bag).demonstrations
    assert list(demos.episode_lengths) == [100] * 4
    for episode in demos.state_slices():
        np.testing.assert_allclose(demos.states[episode], expected(101), atol=1e-6)


def _stamped_on(message, offset_ns):
    """Stamp a message so that it follows the walk before without a gap."""
    seconds = (message.received_ns - START_NS - 5_005_000_000) / 1e9
    position, velocity = angles(seconds)
    return joint_state(message.received_ns + offset_ns, JOINTS, position[0], velocity[0])


def test_short_stretches_are_left_out(tmp_path):
    messages = Walk(seconds=1).messages()
    messages += Walk(seconds=0.2, start_ns=START_NS + 3 * 10**9).messages()
    result = import_demonstrations(write_rosbag2(tmp_path / 'bag', messages))
    assert list(result.demonstrations.episode_lengths) == [100]
    assert result.too_short == 1


def test_the_recorders_marks_decide_and_a_fall_is_terminal(tmp_path):
    walk = Walk(seconds=3).messages()
    at = [message.received_ns for message in walk]
    marks = [
        Mark(at[0], START),
        Mark(at[203], FALL, stamp_ns=at[203]),
        Mark(at[300], RESET),
    ]
    writer = BagWriter(tmp_path / 'bag')
    writer.add_topic('/joint_states', JOINT_STATE)
    for message in walk:
        writer.write(message.topic, message.received_ns, message.data)
    writer.close({'lsiq_episodes': marks_to_json(marks)})
    demos = import_demonstrations(tmp_path / 'bag').demonstrations
    assert list(demos.terminated) == [True, False]
    assert list(demos.episode_lengths) == [101, 150]
    # 203 / 200 Hz = 1.015 s: the fallen state is the last one, exactly
    np.testing.assert_allclose(demos.states[101], np.hstack(angles(1.015))[0], atol=1e-9)
    np.testing.assert_allclose(demos.states[102], np.hstack(angles(1.5))[0], atol=1e-6)


def test_a_reset_noted_late_costs_no_state(tmp_path):
    first = Walk(seconds=1).messages()
    second = Walk(seconds=1, start_ns=START_NS + 2 * 10**9).messages()
    late = second[4].received_ns + 1
    marks = [Mark(first[0].received_ns, START), Mark(late, RESET)]
    writer = BagWriter(tmp_path / 'bag')
    writer.add_topic('/joint_states', JOINT_STATE)
    for message in first + second:
        writer.write(message.topic, message.received_ns, message.data)
    writer.close({'lsiq_episodes': marks_to_json(marks)})
    demos = import_demonstrations(tmp_path / 'bag').demonstrations
    assert list(demos.episode_lengths) == [100, 100]
    np.testing.assert_allclose(demos.states[101:], expected(101), atol=1e-6)


def test_the_topics_of_one_instant_stay_together_at_the_ends(tmp_path):
    """Odometry comes 2 ms after the joints: no episode may lose its first or last state."""
    messages = []
    for start in (0, 4):
        offset_ns = start * 10**9
        messages += Walk(seconds=2, start_ns=START_NS + offset_ns).messages()
        for message in base_messages():
            stamp = message.received_ns + offset_ns
            seconds, nanoseconds = divmod(stamp, 10**9)
            data = message.data[:4] + struct.pack('<iI', seconds, nanoseconds) + message.data[12:]
            messages.append(message._replace(received_ns=stamp + 2_000_000, data=data))
    messages.sort(key=lambda message: message.received_ns)
    bag = write_rosbag2(tmp_path / 'bag', messages)
    options = ImportOptions(terms=(*BASE_TERMS, *TERMS))
    demos = import_demonstrations(bag, options).demonstrations
    assert list(demos.episode_lengths) == [200, 200]
    for episode in demos.state_slices():
        check_base(demos.states[episode][:, :10])


def test_a_struck_joint_does_not_end_an_episode(tmp_path):
    messages = Walk(seconds=2).messages()
    names = [*JOINTS, 'toe', 'heel']
    for row, message in enumerate(messages):
        position, velocity = angles(row / 200)
        struck = 0.3 if row >= 200 else 0.0  # one of five, faster than its velocity tells
        values = [*position[0], struck, 0.0], [*velocity[0], 0.0, 0.0]
        messages[row] = message._replace(data=joint_state(message.received_ns, names, *values))
    demos = import_demonstrations(write_rosbag2(tmp_path / 'bag', messages)).demonstrations
    assert list(demos.episode_lengths) == [200]


def rotation(axis, angle):
    """Rodrigues' formula, independent of the quaternions under test."""
    axis = np.asarray(axis, float)
    cross = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
    return np.eye(3) + math.sin(angle) * cross + (1 - math.cos(angle)) * cross @ cross


def base_matrix(roll, pitch, yaw):
    return rotation((0, 0, 1), yaw) @ rotation((0, 1, 0), pitch) @ rotation((1, 0, 0), roll)


def quaternion_of(matrix):
    """Take the eigenvector of eigenvalue 1 for the axis, the trace for the angle."""
    angle = math.acos(np.clip((np.trace(matrix) - 1) / 2, -1, 1))
    skew = matrix - matrix.T
    axis = np.array([skew[2, 1], skew[0, 2], skew[1, 0]])
    length = np.linalg.norm(axis)
    axis = axis / length if length > 1e-12 else np.array([1.0, 0, 0])
    return (*(axis * math.sin(angle / 2)), math.cos(angle / 2))


def base_angles(seconds):
    return (
        0.3 * math.sin(2 * seconds) - 0.1,
        0.2 * math.cos(3 * seconds),
        2.5 * seconds,  # passes pi: the angle must go on
    )


def base_messages(twist_frame='child', seconds=2.0, rate_hz=200):
    """Move the base; the twist comes from numerical derivatives of pose matrices."""
    made = []
    for row in range(int(seconds * rate_hz) + 1):
        now = row / rate_hz
        matrix = base_matrix(*base_angles(now))
        before = base_matrix(*base_angles(now - 1e-5))
        after = base_matrix(*base_angles(now + 1e-5))
        spin = (after - before) / 2e-5 @ matrix.T  # the world's angular velocity as a matrix
        angular = np.array([spin[2, 1], spin[0, 2], spin[1, 0]])
        place = np.array([1.2 * now, 0.1 * math.sin(now), 0.9 + 0.05 * math.sin(5 * now)])
        linear = np.array([1.2, 0.1 * math.cos(now), 0.25 * math.cos(5 * now)])
        twist = np.concatenate((linear, angular))
        if twist_frame == 'child':
            twist = np.concatenate((matrix.T @ linear, matrix.T @ angular))
        stamp = START_NS + round(now * 1e9)
        data = odometry(stamp, (*place, *quaternion_of(matrix)), twist)
        made.append(Message('/odom', ODOMETRY, stamp, data))
    return made


def merged(*streams):
    return sorted((m for stream in streams for m in stream), key=lambda m: m.received_ns)


def check_base(states):
    times = np.arange(len(states)) / 100
    angles_now = np.array([base_angles(now) for now in times])
    np.testing.assert_allclose(states[:, 0], 0.9 + 0.05 * np.sin(5 * times), atol=1e-6)
    np.testing.assert_allclose(states[:, 1:4], angles_now, atol=1e-6)
    velocities = [np.full_like(times, 1.2), 0.1 * np.cos(times), 0.25 * np.cos(5 * times)]
    rates = [0.6 * np.cos(2 * times), -0.6 * np.sin(3 * times), np.full_like(times, 2.5)]
    np.testing.assert_allclose(states[:, 4:], np.stack(velocities + rates, 1), atol=1e-6)


def test_the_base_is_read_by_rep_103(tmp_path):
    bag = write_rosbag2(tmp_path / 'bag', merged(Walk(seconds=2).messages(), base_messages()))
    options = ImportOptions(terms=(*BASE_TERMS, *TERMS))
    demos = import_demonstrations(bag, options).demonstrations
    check_base(demos.states[:, :10])
    np.testing.assert_allclose(demos.states[:, 10:], expected(201), atol=1e-6)


def test_a_twist_in_the_world_frame_is_noticed_and_can_be_read(tmp_path):
    bag = write_rosbag2(
        tmp_path / 'bag', merged(Walk(seconds=2).messages(), base_messages('world'))
    )
    with pytest.raises(BagError, match='--twist-frame world'):
        import_demonstrations(bag, ImportOptions(terms=BASE_TERMS))
    options = ImportOptions(terms=BASE_TERMS, twist_frame='world')
    check_base(import_demonstrations(bag, options).demonstrations.states)


def test_foot_forces_come_from_the_soles_topic(tmp_path):
    forces = [
        Message(
            '/atlas/left_foot_front/wrench',
            WRENCH,
            START_NS + row * 5_000_000,
            wrench(START_NS + row * 5_000_000, (row, 2 * row, 3 * row)),
        )
        for row in range(201)
    ]
    bag = write_rosbag2(tmp_path / 'bag', merged(Walk(seconds=1).messages(), forces))
    terms = ('left_foot_front/force_z', 'left_foot_front/force_x', 'hip/position')
    demos = import_demonstrations(bag, ImportOptions(terms=terms)).demonstrations
    rows = np.arange(101) * 2
    np.testing.assert_allclose(demos.states[:, 0], 3 * rows, atol=1e-4)
    np.testing.assert_allclose(demos.states[:, 1], rows, atol=1e-4)
    with pytest.raises(BagError, match='right_foot_back'):
        import_demonstrations(bag, ImportOptions(terms=('right_foot_back/force_x',)))


def test_nan_is_bridged_when_forced(tmp_path):
    messages = Walk(rate_hz=1000, seconds=1).messages()
    bad = joint_state(messages[500].received_ns, JOINTS, [math.nan] * 3, [0] * 3)
    messages[500] = messages[500]._replace(data=bad)
    bag = write_rosbag2(tmp_path / 'bag', messages)
    with pytest.raises(BagError, match='NaN'):
        import_demonstrations(bag)
    demos = import_demonstrations(bag, ImportOptions(force=True)).demonstrations
    assert np.isfinite(demos.states).all()
    assert json.loads(json.dumps(demos.metadata)) == demos.metadata
