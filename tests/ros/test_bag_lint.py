# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""The linter finds what was spoilt, and nothing else."""

import json
import math

from bag_making import angles, joint_state, JOINTS, Message, START_NS, Walk, write_rosbag2
from lsiq_ros.bags.lint import lint
from lsiq_ros.bags.lint_joints import compare_velocity
from lsiq_ros.bags.message_types import JOINT_STATE
from lsiq_ros.bags.prepare import Wanted
from lsiq_ros.bags.samples import read_samples
import numpy as np
import pytest

LIMITS = {'hip': (-0.6, 0.6), 'knee': (-1.5, 0.1), 'ankle': (-0.6, 0.6)}


def lint_messages(tmp_path, messages, **options):
    bag = write_rosbag2(tmp_path / 'bag', messages)
    return lint(read_samples(bag), Wanted(**options))


def codes(report, severity='error'):
    return {finding.code for finding in report.findings if finding.severity == severity}


def test_a_good_bag_can_be_trained_on(tmp_path):
    report = lint_messages(tmp_path, Walk().messages(), joints=JOINTS, limits=LIMITS)
    assert report.trainable
    assert codes(report) == codes(report, 'warning') == set()
    assert report.topics[0].rate_hz == pytest.approx(200, rel=1e-6)
    assert report.duration_s == pytest.approx(3.0)
    assert report.episodes == 1
    assert [joint.velocity for joint in report.joints] == ['agrees'] * 3
    assert report.joints[0].highest == pytest.approx(0.4, abs=1e-3)
    assert 'This bag is sound' in report.text().splitlines()[0]
    assert (report.usable_s, report.discarded_s) == (pytest.approx(3.0), {})
    assert json.loads(json.dumps(report.as_dict()))['trainable'] is True


@pytest.mark.parametrize(
    'factor, words',
    [
        (180 / math.pi, 'degrees/s'),
        (60 / (2 * math.pi), 'rpm'),
        (1 / (2 * math.pi), 'turns/s'),
        (-1, 'wrong sign'),
        (3.0, 'disagrees'),
    ],
)
def test_velocities_in_other_units_are_named(tmp_path, factor, words):
    report = lint_messages(tmp_path, Walk(velocity_scale=factor).messages())
    assert not report.trainable
    finding = next(one for one in report.findings if one.code == 'velocity')
    assert words in finding.message
    assert report.joints[0].velocity_slope == pytest.approx(factor, rel=0.02)


@pytest.mark.parametrize(('size', 'verdict'), [(1, 'disagrees, but by little'), (5, 'disagrees')])
def test_a_base_that_chatters_between_samples_is_not_refused(size, verdict):
    # Its rate is read at the same instants of each swing, which positions do not show.
    times = np.arange(0, 8, 0.01)
    position = size * 0.008 * np.sin(2 * np.pi * times / 1.5)
    velocity = np.gradient(position, times) + size * 0.06 * (times % 3 < 1)
    assert compare_velocity(times, position, velocity).verdict == verdict


def test_degrees_are_found_with_and_without_limits(tmp_path):
    degrees = Walk(position_scale=180 / math.pi, velocity_scale=180 / math.pi).messages()
    report = lint_messages(tmp_path, degrees)
    assert codes(report) == {'degrees'}
    report = lint(read_samples(tmp_path / 'bag'), Wanted(limits=LIMITS))
    assert {f.where for f in report.findings if f.code == 'degrees'} == set(JOINTS)


def test_a_few_tenths_beyond_the_limits_are_no_degrees(tmp_path):
    tight = dict.fromkeys(JOINTS, (-0.2, 0.2))
    report = lint_messages(tmp_path, Walk().messages(), limits=tight)
    assert codes(report) == {'limits'}


def test_what_is_said_of_several_joints_is_said_once(tmp_path):
    report = lint_messages(tmp_path, Walk(with_velocity=False).messages())
    lines = [line for line in report.text().splitlines() if 'no velocities' in line]
    assert len(lines) == 1 and 'hip, knee, ankle: no velocities' in lines[0]


def test_a_wrong_sign_is_found_by_the_limits(tmp_path):
    report = lint_messages(
        tmp_path, Walk(position_scale=-1, velocity_scale=-1).messages(), limits=LIMITS
    )
    assert [(f.code, f.where) for f in report.errors()] == [('sign', 'knee')]


def test_nan_is_found(tmp_path):
    messages = Walk().messages()
    position, velocity = angles(0.5)
    position[0, 1] = math.nan
    stamp = START_NS + 500_000_000
    spoilt = joint_state(stamp, JOINTS, position[0], velocity[0])
    messages[100] = Message('/joint_states', JOINT_STATE, stamp, spoilt)
    report = lint_messages(tmp_path, messages)
    assert [(f.code, f.where) for f in report.errors()] == [('not_finite', 'knee')]


def test_missing_and_duplicate_joints_are_named(tmp_path):
    report = lint_messages(tmp_path, Walk().messages(), joints=('hip', 'elbow'))
    assert codes(report) == {'missing_joint'}
    assert 'elbow' in report.errors()[0].message
    twice = Walk().messages() + Walk(names=('knee',), topic='/other').messages()
    other = write_rosbag2(tmp_path / 'twice', twice)
    assert codes(lint(read_samples(other))) == {'duplicate_joint'}
    assert lint(read_samples(other, ['joint_states'])).trainable


def test_no_velocities_is_a_warning(tmp_path):
    report = lint_messages(tmp_path, Walk(with_velocity=False).messages())
    assert report.trainable
    assert codes(report, 'warning') == {'no_velocity'}


def test_drops_and_gaps_are_counted(tmp_path):
    lost = frozenset(range(20, 600, 10))  # one in ten
    report = lint_messages(tmp_path, Walk(leave_out=lost).messages())
    assert report.topics[0].drops_inferred == len(lost)
    assert codes(report) == {'drops'}
    gap = frozenset(range(300, 340))
    report = lint(read_samples(write_rosbag2(tmp_path / 'gap', Walk(leave_out=gap).messages())))
    assert report.topics[0].gaps == 1
    assert report.topics[0].longest_gap_s == pytest.approx(41 / 200, abs=1e-6)
    assert report.episodes == 2


def test_stamps_are_compared_with_receipt(tmp_path):
    report = lint_messages(tmp_path, Walk(stamp_offset_ns=-5_000_000_000).messages())
    assert codes(report, 'warning') == {'skew'}
    assert report.topics[0].skew_ms == pytest.approx(5000)
    bare = write_rosbag2(tmp_path / 'bare', Walk(stamped=False).messages())
    report = lint(read_samples(bare))
    assert report.clock == 'received'
    assert codes(report, 'warning') == {'no_stamps'}


def test_a_slow_bag_is_refused(tmp_path):
    report = lint_messages(tmp_path, Walk(rate_hz=50).messages())
    assert codes(report) == {'slow'}


def test_fields_that_do_not_fit_are_counted(tmp_path):
    messages = Walk().messages()
    bad = joint_state(START_NS, JOINTS, np.zeros(2), np.zeros(3))
    messages[7] = messages[7]._replace(data=bad)
    report = lint_messages(tmp_path, messages)
    assert report.topics[0].malformed == 1
    assert codes(report) == {'malformed'}
