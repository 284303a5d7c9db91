# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Recordings as they come: what a person would see is found, named and accounted for."""

from __future__ import annotations

from dataclasses import dataclass
import math

from bag_making import (
    import_demonstrations,
    joint_state,
    Message,
    odometry,
    START_NS,
    write_rosbag2,
)
from lsiq_core.data import demonstrations
from lsiq_core.errors import LsiqError
from lsiq_ros.bags.importer import ImportOptions, merge
from lsiq_ros.bags.lint import lint
from lsiq_ros.bags.message_types import JOINT_STATE, ODOMETRY
from lsiq_ros.bags.plot import curves_of_bag, curves_of_demonstrations, draw
from lsiq_ros.bags.prepare import Wanted
from lsiq_ros.bags.samples import read_samples
from lsiq_ros.bags.signals import find_frozen, find_spikes, moved, noise_levels, without
import numpy as np
import pytest

NAMES = ('hip_l', 'knee_l', 'ankle_l', 'hip_r', 'knee_r', 'ankle_r')
RATE_HZ = 200


@dataclass
class Gait:
    """Ten seconds of six joints and a base, as arrays to be spoilt before they are written."""

    seconds: float = 10.0
    names: tuple[str, ...] = NAMES
    base_delay_ms: float = 0.0  # between stamp and receipt of the base
    bare: tuple[int, ...] = ()  # rows of the joints without a stamp
    leave_out: tuple[int, ...] = ()

    def __post_init__(self):
        self.times = np.arange(round(self.seconds * RATE_HZ)) / RATE_HZ
        phase = 2 * np.pi * 1.2 * self.times[:, None] + np.arange(len(self.names))
        self.position = 0.4 * np.sin(phase) + 0.1 * np.cos(2 * phase)
        pace = 2 * np.pi * 1.2
        self.velocity = pace * (0.4 * np.cos(phase) - 0.2 * np.sin(2 * phase))
        self.x = 1.1 * self.times
        self.height = 1.0 + 0.02 * np.sin(2 * pace * self.times)
        self.rise = 0.04 * pace * np.cos(2 * pace * self.times)

    def messages(self):
        made = []
        for row, time in enumerate(self.times):
            stamp = START_NS + round(time * 1e9)
            if row in self.leave_out:
                continue
            data = joint_state(
                0 if row in self.bare else stamp,
                self.names,
                self.position[row],
                self.velocity[row],
            )
            made.append(Message('/joint_states', JOINT_STATE, stamp + 1_000_000, data))
            pose = (self.x[row], 0.0, self.height[row], 0.0, 0.0, 0.0, 1.0)
            data = odometry(stamp, pose, (1.1, 0.0, self.rise[row], 0.0, 0.0, 0.0), 'base_link')
            late = 1_500_000 + round(self.base_delay_ms * 1e6)
            made.append(Message('/odom', ODOMETRY, stamp + late, data))
        return sorted(made, key=lambda message: message.received_ns)


def look(tmp_path, gait, **wanted):
    bag = write_rosbag2(tmp_path / 'bag', gait.messages())
    return lint(read_samples(bag), Wanted(**wanted))


def bring_in(tmp_path, **options):
    return import_demonstrations(tmp_path / 'bag', ImportOptions(**options))


def found(report, code):
    return [finding for finding in report.findings if finding.code == code]


def test_a_clean_gait_has_no_findings(tmp_path):
    report = look(tmp_path, Gait())
    assert report.findings == () or {f.severity for f in report.findings} == {'note'}
    result = bring_in(tmp_path)
    assert result.used_s == pytest.approx(9.99, abs=0.011)
    assert sum(result.discarded_s.values()) + result.used_s == pytest.approx(9.995, abs=1e-3)
    assert result.demonstrations.state_names[0] == 'base/height', 'the base is taken by itself'


def test_spikes_are_named_and_interpolated(tmp_path):
    gait = Gait()
    clean = gait.position[[300, 900], 1].copy()
    gait.position[[300, 900], 1] += 1.5
    report = look(tmp_path, gait)
    (finding,) = found(report, 'spikes')
    assert (finding.where, finding.severity) == ('knee_l', 'warning')
    assert [first for first, _ in finding.spans_s] == pytest.approx([1.5, 4.5], abs=1e-3)
    assert report.trainable and report.episodes == 1, 'a spike ends no episode'
    demos = bring_in(tmp_path, rate_hz=200.0).demonstrations
    knee = demos.states[:, demos.state_names.index('knee_l/position')]
    np.testing.assert_allclose(knee[[300, 900]], clean, atol=2e-3)


def test_too_many_spikes_are_a_broken_sensor(tmp_path):
    gait = Gait()
    gait.position[::25, 2] -= 0.8
    assert [f.severity for f in found(look(tmp_path, gait), 'spikes')] == ['error']


def test_a_frozen_joint_is_named_and_cut_out(tmp_path):
    gait = Gait()
    gait.position[600:800, 4] = gait.position[600, 4]
    report = look(tmp_path, gait)
    (finding,) = found(report, 'frozen')
    assert finding.where == 'knee_r' and '1.00 s' in finding.message
    assert finding.spans_s[0] == pytest.approx((3.0, 4.0), abs=0.01)
    result = bring_in(tmp_path)
    assert result.demonstrations.num_episodes == 2
    assert result.discarded_s['frozen'] == pytest.approx(1.0, abs=0.02)


def test_a_joint_that_never_moves_though_its_velocity_says_so(tmp_path):
    gait = Gait()
    gait.position[:, 0] = 0.25
    (finding,) = found(look(tmp_path, gait), 'frozen')
    assert (finding.where, finding.severity) == ('hip_l', 'error')


def test_a_joint_that_stands_still_is_not_frozen(tmp_path):
    gait = Gait()
    gait.position[:, 0], gait.velocity[:, 0] = 0.25, 0.0
    report = look(tmp_path, gait)
    assert report.trainable and not found(report, 'frozen')


def test_a_base_that_teleports_ends_the_episode(tmp_path):
    gait = Gait()
    gait.x[1000:] += 3.0
    report = look(tmp_path, gait)
    (finding,) = found(report, 'teleport')
    assert finding.where == '/odom' and finding.spans_s[0][0] == pytest.approx(4.995, abs=0.01)
    assert bring_in(tmp_path).demonstrations.num_episodes == 2


def test_a_base_that_sinks_is_said(tmp_path):
    gait = Gait()
    gait.height -= 0.03 * gait.times
    gait.rise -= 0.03
    (finding,) = found(look(tmp_path, gait), 'height_drift')
    assert 'sinks by up to 0.30 m' in finding.message


def test_noise_is_measured_for_every_channel(tmp_path):
    rng = np.random.default_rng(3)
    gait = Gait()
    gait.position += 0.005 * rng.standard_normal(gait.position.shape)
    gait.velocity += 0.3 * rng.standard_normal(gait.velocity.shape)
    report = look(tmp_path, gait)
    for joint in report.joints[:6]:
        assert joint.noise == pytest.approx(0.005, rel=0.2)
        assert joint.velocity_noise == pytest.approx(0.3, rel=0.3)
    (finding,) = found(report, 'noise')
    assert '5.' in finding.message or '4.' in finding.message
    assert report.trainable, 'noise alone is no reason to refuse'


def test_one_zero_stamp_does_not_disable_the_stamps(tmp_path):
    report = look(tmp_path, Gait(bare=(0, 700, 701)))
    assert report.clock == 'header' and report.episodes == 1
    assert '3 messages have no stamp' in found(report, 'unstamped')[0].message
    states = bring_in(tmp_path, rate_hz=200.0).demonstrations.states
    assert len(states) == 2000


def test_joints_that_were_not_asked_for_break_nothing(tmp_path):
    gait = Gait(names=(*NAMES, 'finger_1', 'finger_2', 'finger_3'))
    rng = np.random.default_rng(0)
    gait.position[:, 6:] = rng.uniform(-3, 3, (len(gait.times), 3))  # a broken hand
    report = look(tmp_path, gait, joints=NAMES)
    assert report.trainable and report.episodes == 1
    result = bring_in(tmp_path, joints=NAMES)
    assert result.demonstrations.num_transitions == 999


def test_every_second_is_accounted_for(tmp_path):
    gap, short = tuple(range(400, 500)), tuple(range(520, 700))
    report = look(tmp_path, Gait(leave_out=gap + short))
    assert report.discarded_s['gap'] == pytest.approx(1.41, abs=0.03)
    assert report.discarded_s['too short'] == pytest.approx(0.095, abs=0.011)
    assert report.usable_s + sum(report.discarded_s.values()) == pytest.approx(9.995, abs=2e-3)
    result = bring_in(tmp_path)
    assert result.used_s + sum(result.discarded_s.values()) == pytest.approx(9.995, abs=2e-3)
    assert 'recorded 10.00 s' in report.text() or 'recorded 9.99 s' in report.text()


def test_a_base_that_comes_late_is_said(tmp_path):
    (finding,) = found(look(tmp_path, Gait(base_delay_ms=60)), 'time_shift')
    assert finding.where == '/odom' and '60 ms later' in finding.message


def test_joints_that_the_robot_holds_must_not_move(tmp_path):
    report = look(
        tmp_path, Gait(), robot='biped', joints=NAMES[:4], locked={'knee_r': 0.0, 'arm': 0.0}
    )
    (finding,) = found(report, 'locked')
    assert finding.where == 'knee_r'
    assert report.verdict() == 'This bag can be trained on for biped.'


def test_sets_are_merged_by_the_names_of_their_terms(tmp_path):
    look(tmp_path, Gait(seconds=2.0))
    one = bring_in(tmp_path, terms=('hip_l/position', 'knee_l/position')).demonstrations
    two = bring_in(tmp_path, terms=('knee_l/position', 'hip_l/position')).demonstrations
    both = merge([one, two])
    assert both.num_episodes == 2 and both.state_names == one.state_names
    np.testing.assert_array_equal(both.states[: len(one.states)], both.states[len(one.states) :])
    other = bring_in(tmp_path, terms=('hip_l/position',)).demonstrations
    with pytest.raises(LsiqError, match='knee_l'):
        merge([one, other])


def test_pictures_of_bags_and_demonstrations(tmp_path):
    gait = Gait(seconds=3.0)
    gait.position[300, 1] += 1.5
    look(tmp_path, gait)
    curves = curves_of_bag(read_samples(tmp_path / 'bag'), Wanted())
    assert {'hip_l/position', 'hip_l/velocity', 'base/height'} <= set(curves.channels)
    draw(curves, tmp_path / 'bag.png')
    bring_in(tmp_path).demonstrations.save(tmp_path / 'walk.npz')
    draw(curves_of_demonstrations(demonstrations.load(tmp_path / 'walk.npz')), tmp_path / 'd.png')
    for name in ('bag.png', 'd.png'):
        assert (tmp_path / name).read_bytes().startswith(b'\x89PNG')


def test_signals_by_hand():
    times = np.arange(200) / 100
    wave = np.sin(2 * np.pi * times)
    spoilt = wave.copy()
    spoilt[50] += 0.5
    assert np.flatnonzero(find_spikes(spoilt, 0.02)).tolist() == [50]
    assert without(spoilt, find_spikes(spoilt, 0.02))[50] == pytest.approx(wave[50], abs=2e-3)
    step = wave + (times > 1) * 0.5  # stays there: no spike
    assert not find_spikes(step, 0.02).any()
    held = wave.copy()
    held[100:140] = held[100]
    assert find_frozen(times, held) == [(100, 139)]
    assert find_frozen(times, np.zeros(200)) == []
    rng = np.random.default_rng(0)
    slope = 2 * np.pi * np.cos(2 * np.pi * times)
    noise = noise_levels(times, wave + 0.01 * rng.standard_normal(200), slope)
    assert noise[0] == pytest.approx(0.01, rel=0.3)
    assert math.isclose(noise_levels(times, wave, slope)[0], 0.0, abs_tol=1e-4)


def test_a_foot_that_strikes_is_no_spike():
    """A jump that position and velocity share is motion; one that only one of them has is not."""
    times = np.arange(200) * 0.01
    position, velocity = 0.3 * np.sin(3 * times), 0.9 * np.cos(3 * times)
    struck, fast = position.copy(), velocity.copy()
    struck[100:] -= 0.15  # 15 rad/s for one period
    fast[100] -= 15.0
    assert find_spikes(fast, 4.0)[100]
    assert moved('velocity', struck, fast, times)[100]
    assert not moved('velocity', position, fast, times)[100], 'the position knows nothing of it'
    away = position.copy()
    away[100] += 0.1
    assert not moved('position', away, velocity, times)[100], 'the velocity knows nothing of it'
    away[100] += 2.0
    assert not moved('position', away, fast, times)[100], (
        'no such velocity takes it there and back'
    )
