# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""A simulated deployment by itself: three processes, a policy, a report."""

from atlas_policy import write_atlas_policy
from lsiq_core.data import demonstrations
from lsiq_core.errors import LsiqError
from lsiq_core.shipped_files import shipped
from lsiq_ros.cli.graph_commands import film_end, walk
from lsiq_ros.control.episode_log import EpisodeLog, EpisodeReport, read_report
from lsiq_ros.graph.catalogue import SHIPPED_POLICY
from lsiq_ros.wire.base import BaseOdometry
from lsiq_ros.wire.cdr import JointState, Odometry
from node_processes import own_domain
import pytest


def joints(stamp_s, position=0.0):
    return JointState(round(stamp_s * 1e9), '', ('knee',), (position,), (1.0,), ())


def odometry(stamp_s, x, y):
    base = BaseOdometry((x, y, 1.0), (0.0, 0.0, 0.0, 1.0), (0.0,) * 3, (0.0,) * 3)
    return Odometry(round(stamp_s * 1e9), 'odom', 'base_link', base)


def test_a_walk_is_measured_by_its_stamps_and_places(tmp_path):
    log = EpisodeLog()
    log.take_odometry(odometry(0.9, 9.0, 9.0), 4.9)  # no joints yet
    for i in range(5):
        log.take_joints(joints(1.0 + i, 0.1 * i))
        log.take_odometry(odometry(1.0 + i, 0.3 * i, 0.4 * i), 5.0 + 2 * i)
    log.take_odometry(odometry(99.0, 7.0, 7.0), 99.0)  # of no instant that the joints know
    report = log.report()
    assert report == EpisodeReport(4.0, 2.0, 0.5, 0, (), 0.5)
    assert report.succeeded
    assert report.line() == (
        'walked 4.0 s, 2.0 m at 0.50 m/s, falls 0, gate trips 0, real-time factor 0.50'
    )
    report.save(tmp_path / 'report.json')
    assert read_report(tmp_path / 'report.json') == report
    log.save_states(tmp_path / 'walk.npz')
    states = demonstrations.load(tmp_path / 'walk.npz')
    assert (states.num_transitions, states.rate_hz) == (4, 1.0)
    knee = states.states[:, states.state_names.index('knee/position')]
    assert knee == pytest.approx([0, 0.1, 0.2, 0.3, 0.4])


def test_what_comes_after_a_fall_is_no_walk():
    log = EpisodeLog()
    for i in range(4):
        log.falls = int(i > 2)
        log.take_joints(joints(i))
        log.take_odometry(odometry(i, float(i), 0.0), float(i))
    report = log.report()
    assert (report.seconds, report.distance_m, report.falls) == (2.0, 2.0, 1)
    assert not report.succeeded
    assert not EpisodeReport(0.0, 0.0, 0.0, 0, (), 0.0).succeeded
    assert 'gate trips 1 (tilt: 1 rad)' in EpisodeReport(1, 1, 1, 0, ('tilt: 1 rad',), 1).line()


def test_a_report_that_is_none_is_named(tmp_path):
    (tmp_path / 'report.json').write_text('{"seconds": 1}')
    with pytest.raises(LsiqError, match='no report of a walk'):
        read_report(tmp_path / 'report.json')


@pytest.fixture(scope='module')
def policy(tmp_path_factory):
    return write_atlas_policy(tmp_path_factory.mktemp('policy') / 'policy.onnx')


def test_a_policy_is_deployed_without_a_hand(policy, tmp_path, monkeypatch, capfd):
    """Least squares does not walk for long: the report says what ended it."""
    with own_domain() as domain:
        monkeypatch.setenv('ROS_DOMAIN_ID', str(domain))
        report = walk(policy, tmp_path, seconds=30.0, real_time_factor=0.2, seed=0)
    said = capfd.readouterr().out
    assert 'armed, activate within' in said
    assert 0 < report.seconds < 30, said
    assert report.falls or report.trips
    assert 0.1 < report.real_time_factor < 0.25
    states = demonstrations.load(tmp_path / 'walk.npz')
    assert states.num_transitions == pytest.approx(100 * report.seconds, abs=2)
    film = film_end(tmp_path / 'walk.npz', tmp_path / 'walk.mp4', report.seconds, 0.1)
    assert film.stat().st_size > 1000


@pytest.mark.slow
def test_the_shipped_policy_walks(tmp_path, monkeypatch):
    """Slowly: whether a machine keeps up in real time is the machine's business."""
    with own_domain() as domain:
        monkeypatch.setenv('ROS_DOMAIN_ID', str(domain))
        report = walk(shipped(SHIPPED_POLICY), tmp_path, 20.0, real_time_factor=0.25, seed=0)
    assert report.succeeded, report.line()
    assert report.seconds >= 20 and report.speed_m_s > 1.0, report.line()


def test_a_policy_that_is_refused_ends_the_graph(tmp_path, monkeypatch):
    (tmp_path / 'broken.onnx').write_bytes(b'no policy')
    with own_domain() as domain:
        monkeypatch.setenv('ROS_DOMAIN_ID', str(domain))
        with pytest.raises(
            LsiqError, match='no walk: (deploy_supervisor|sim_node) ended with code 2'
        ):
            walk(tmp_path / 'broken.onnx', tmp_path, 30.0, 1.0, 0)
