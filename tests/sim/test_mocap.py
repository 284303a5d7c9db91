# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""A clip of less than a stride becomes a cycle."""

from pathlib import Path

from lsiq_core.robot import load_robot
import numpy as np
import pytest
from sim.gait import Gait
from sim.robot import MujocoRobot
from sim.tracking.mocap import mirror, read_cycle

CLIP = Path(__file__).resolve().parents[3] / 'shared' / 'demos' / 'atlas_mocap_walk_500hz.npz'

ROBOT = MujocoRobot(load_robot('atlas'))


def smooth_leg(phase):
    """Return a leg motion of low harmonics, so that six of them can hold it exactly."""
    hip = 0.05 - 0.4 * np.cos(2 * np.pi * phase)
    knee = -0.4 - 0.3 * np.sin(2 * np.pi * phase) + 0.1 * np.cos(4 * np.pi * phase)
    return np.stack((hip, 0.03 * np.sin(2 * np.pi * phase), 0 * hip, knee, -0.5 * knee), axis=-1)


def write_clip(path, period_s=1.1, speed_mps=1.4):
    """Write one second of a symmetric gait that drifts in place and heading."""
    times = np.arange(500) / 500
    phase = times / period_s
    channels = {name: np.zeros(500) for name in ROBOT.compiled.base_joints}
    channels['pelvis_tx'] = 3 + speed_mps * times
    channels['pelvis_ty'] = -0.03 + 0.02 * np.cos(4 * np.pi * phase)
    channels['pelvis_list'] = 0.05 * np.sin(2 * np.pi * phase)
    legs = np.concatenate((smooth_leg(phase), smooth_leg(phase + 0.5)), axis=1)
    channels |= dict(zip(ROBOT.joints, legs.T))
    np.savez(path, **{f'q_{name}': values for name, values in channels.items()})


def test_the_cycle_of_a_known_gait_is_recovered(tmp_path):
    write_clip(tmp_path / 'clip.npz')
    cycle = read_cycle(tmp_path / 'clip.npz', ROBOT)
    assert cycle.clip_speed_mps == pytest.approx(1.4, abs=0.01)
    assert cycle.clip_period_s == pytest.approx(1.1, abs=0.011)
    assert cycle.period_s == pytest.approx(1.1 * 1.4 / 1.25, abs=0.02)
    states = cycle.states(2.0)
    assert states.shape == (201, 30)
    phase = np.arange(201) / 100 / cycle.period_s
    np.testing.assert_allclose(states[:, 4:9], smooth_leg(phase), atol=0.02)
    np.testing.assert_allclose(states[:, 9:14], smooth_leg(phase + 0.5), atol=0.02)
    assert states[:, 14].mean() == pytest.approx(1.25, abs=0.01)
    slope = np.gradient(states[:, :14], 0.01, axis=0)[5:-5]
    np.testing.assert_allclose(slope[:, 4:], states[5:-5, 20:], atol=0.05)


def test_mirroring_twice_changes_nothing():
    motion = np.random.default_rng(0).standard_normal((7, 16))
    np.testing.assert_array_equal(mirror(mirror(motion, ROBOT), ROBOT), motion)
    assert (mirror(motion, ROBOT)[:, 1] == -motion[:, 1]).all()


def test_a_clip_without_a_joint_is_refused(tmp_path):
    np.savez(tmp_path / 'clip.npz', q_pelvis_tx=np.zeros(5))
    with pytest.raises(ValueError, match=r'clip.npz: no arrays for .*knee_angle_l'):
        read_cycle(tmp_path / 'clip.npz', ROBOT)


def test_the_public_clip_becomes_a_plausible_walk():
    if not CLIP.exists():
        pytest.skip('the clip is not beside this repository')
    cycle = read_cycle(CLIP, ROBOT)
    assert cycle.period_s == pytest.approx(1.188, abs=0.02)  # found independently
    states = cycle.states(cycle.period_s)
    assert states[:, 0].min() > 0.85 and states[:, 0].max() < 0.97
    reference = Gait(ROBOT.spec).kinematic_frames(np.arange(len(states)) / 100 / cycle.period_s)
    assert np.corrcoef(states[:, 4], reference[:, 4])[0, 1] > 0.9  # hips swing alike
