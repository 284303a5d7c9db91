# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Recordings that come as npz files: whole, partial, in other orders."""

from lsiq_core.data.demonstrations import load
from lsiq_core.robot import load_robot
from lsiq_core.rotations import ARRAYS, quaternion_from_rpy
from lsiq_core.shipped_files import shipped
from lsiq_ros.bags.errors import BagError
from lsiq_ros.bags.npz_samples import rate_of, read_npz_samples
from lsiq_ros.cli.main import app
from lsiq_ros.runs.recording import kinematic_episodes, open_recording
from lsiq_ros.wire.base import BaseReadings, odometry_from_readings
import numpy as np
import pytest
from sim.robot import MujocoRobot
from typer.testing import CliRunner

SPEC = load_robot('atlas')
ROBOT = MujocoRobot(SPEC, forces=False)


@pytest.fixture(scope='module')
def walk():
    demos = load(shipped('models/atlas/demos/walk_noisy.npz'), with_actions=False).first(2)
    return kinematic_episodes(demos, ROBOT)


@pytest.fixture
def arrays(walk):
    """Return the raw layout of two episodes, joints in another order and one too many."""
    frames = np.concatenate(walk)
    path = np.concatenate(
        [np.cumsum(np.r_[[[0, 0]], (x[1:, 14:16] + x[:-1, 14:16]) / 200], 0) for x in walk]
    )
    base = [
        odometry_from_readings(BaseReadings(*place, *row[:4], *row[14:20]))
        for place, row in zip(path, frames)
    ]
    order = [3, 1, 2, 0, 4, 9, 8, 7, 6, 5]
    extra = np.zeros((len(frames), 1))
    return {
        'joint_names': np.array([*(ROBOT.joints[i] for i in order), 'neck']),
        'joint_positions': np.hstack((frames[:, 4:14][:, order], extra)),
        'joint_velocities': np.hstack((frames[:, 20:][:, order], extra)),
        'base_position': np.array([one.position_m for one in base]),
        'base_quaternion_xyzw': np.array([one.orientation_xyzw for one in base]),
        'base_linear_velocity_body': np.array([one.linear_m_s for one in base]),
        'base_angular_velocity_body': np.array([one.angular_rad_s for one in base]),
        'episode_starts': np.array([0, len(walk[0])]),
        'rate_hz': np.array(100.0),
    }


def imported(tmp_path, arrays):
    path = tmp_path / 'raw.npz'
    np.savez(path, **arrays)
    return kinematic_episodes(open_recording(path, SPEC, lambda text: None), ROBOT)


def test_a_raw_file_gives_the_frames_that_it_was_made_of(tmp_path, walk, arrays):
    found = imported(tmp_path, arrays)
    assert len(found) == 2
    for one, two in zip(found, walk):
        # Single samples at a heel strike may be taken for spikes and be mended.
        same = np.isclose(one, two[: len(one)], atol=1e-4).mean()
        assert len(two) - len(one) <= 1 and same > 0.99


def test_what_is_absent_is_derived(tmp_path, walk, arrays):
    del arrays['joint_velocities'], arrays['base_linear_velocity_body']
    arrays['base_angular_velocity_world'] = arrays.pop('base_angular_velocity_body')
    turn = arrays['base_quaternion_xyzw']
    axis, w = turn[:, :3], turn[:, 3:]
    vector = arrays['base_angular_velocity_world']
    twice = 2 * np.cross(axis, vector)
    arrays['base_angular_velocity_world'] = vector + w * twice + np.cross(axis, twice)
    arrays['base_quaternion_wxyz'] = np.roll(arrays.pop('base_quaternion_xyzw'), 1, axis=1)
    (one, _), two = imported(tmp_path, arrays), walk[0]
    two = two[: len(one)]
    assert np.isclose(one, two, atol=1e-4)[:, :14].mean() > 0.99
    np.testing.assert_allclose(one[:, 17:20], two[:, 17:20], atol=1e-4)  # was there
    assert np.median(np.abs(one - two)[:, 14:17]) < 0.02
    assert np.median(np.abs(one - two)[:, 20:24]) < 0.2


def test_the_turning_of_the_base_is_derived_from_its_quaternion(tmp_path):
    times = np.arange(200) / 100
    rpy = 0.3 * np.sin(times), 0.2 * np.cos(2 * times), 0.5 * times
    w, x, y, z = quaternion_from_rpy(*rpy, ARRAYS)
    np.savez(
        tmp_path / 'raw.npz',
        joint_names=['a'],
        joint_positions=np.sin(times)[:, None],
        base_position=np.stack((times, 0 * times, 1 + 0 * times), 1),
        base_quaternion_xyzw=np.stack((x, y, z, w), 1),
        base_linear_velocity_body=np.zeros((200, 3)) + 1e-3,
        time_s=times,
    )
    (odometry,) = read_npz_samples(tmp_path / 'raw.npz').odometry
    roll, pitch, _ = rpy
    rates = 0.3 * np.cos(times), -0.4 * np.sin(2 * times), 0.5 + 0 * times
    # The kinematic equation of roll, pitch and yaw, as textbooks give it.
    expected = (
        rates[0] - np.sin(pitch) * rates[2],
        np.cos(roll) * rates[1] + np.sin(roll) * np.cos(pitch) * rates[2],
        -np.sin(roll) * rates[1] + np.cos(roll) * np.cos(pitch) * rates[2],
    )
    np.testing.assert_allclose(
        odometry.values['twist'][1:-1, 3:], np.stack(expected, 1)[1:-1], atol=1e-3
    )


@pytest.mark.parametrize(
    ('change', 'message'),
    [
        (lambda a: a.pop('base_position'), 'base_quaternion_xyzw but no base_position'),
        (lambda a: a.update(joint_names=a['joint_names'][:3]), '3 joint_names for 11 columns'),
        (lambda a: a.update(base_position=a['base_position'][:5]), 'base_position has shape'),
        (lambda a: a.update(episode_starts=np.array([5])), 'episode_starts .* must begin with 0'),
        (lambda a: a.pop('joint_positions'), "neither 'joint_positions' nor arrays q_<joint>"),
        (
            lambda a: a.update(base_linear_velocity=a.pop('base_linear_velocity_body')),
            'does not say its frame',
        ),
        (
            lambda a: [a.pop('rate_hz'), a.pop('joint_velocities')],
            'neither time_s nor rate_hz in it.*--recorded-hz',
        ),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path, arrays, change, message):
    change(arrays)
    np.savez(tmp_path / 'raw.npz', **arrays)
    with pytest.raises(BagError, match=message):
        read_npz_samples(tmp_path / 'raw.npz')


def test_the_rate_is_found_from_velocities():
    times = np.arange(300) / 120
    position, velocity = np.sin(3 * times)[:, None], 3 * np.cos(3 * times)[:, None]
    assert rate_of(position, velocity) == 120.0
    assert rate_of(position, np.full_like(velocity, np.nan)) == 0.0


def test_the_command_imports_lints_and_draws(tmp_path, arrays):
    np.savez(tmp_path / 'raw.npz', **arrays)
    run = CliRunner()
    raw, out = str(tmp_path / 'raw.npz'), str(tmp_path / 'walk.npz')
    for words in (
        ['lint', raw, '--robot', 'atlas'],
        ['import', raw, '--robot', 'atlas', '--out', out],
        ['plot', raw, '--robot', 'atlas', '--out', str(tmp_path / 'raw.png')],
    ):
        result = run.invoke(app, ['demos', *words])
        assert result.exit_code == 0, result.output
    demos = load(out)
    assert demos.num_episodes == 2 and demos.metadata['task'] == 'atlas'
    again = run.invoke(app, ['demos', 'import', out, '--out', str(tmp_path / 'other.npz')])
    assert again.exit_code != 0
