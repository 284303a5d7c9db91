# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""A clip becomes a cycle that repeats."""

from pathlib import Path

from lsiq_core.data.demonstrations import Demonstrations
from lsiq_core.robot import load_robot
from lsiq_core.types import names
from lsiq_ros.runs.cycle import loop, straightened, turned
from lsiq_ros.runs.recording import heading, open_recording, Preparation, prepare
import numpy as np
import pytest
from sim.gait import Gait
from sim.mirror import mirror_of
from sim.robot import MujocoRobot

CLIP = Path(__file__).resolve().parents[3] / 'shared' / 'demos' / 'atlas_mocap_walk_500hz.npz'
SPEC = load_robot('atlas')
ROBOT = MujocoRobot(SPEC, forces=False)


def leg(phase):
    """Return a leg motion of low harmonics, so that six of them can hold it exactly."""
    hip = 0.05 - 0.4 * np.cos(2 * np.pi * phase)
    knee = -0.4 - 0.3 * np.sin(2 * np.pi * phase) + 0.1 * np.cos(4 * np.pi * phase)
    return np.stack((hip, 0.03 * np.sin(2 * np.pi * phase), 0 * hip, knee, -0.5 * knee), axis=-1)


def gait(seconds, period_s=1.1, speed_mps=1.4, rate_hz=200.0):
    """Return kinematic frames of a symmetric gait that turns slowly on its way."""
    times = np.arange(round(seconds * rate_hz)) / rate_hz
    phase = times / period_s
    frames = np.zeros((len(times), ROBOT.kinematic_size))
    frames[:, 0] = 0.9 + 0.02 * np.cos(4 * np.pi * phase)
    frames[:, 1] = 0.05 * np.sin(2 * np.pi * phase)
    frames[:, 4:14] = np.concatenate((leg(phase), leg(phase + 0.5)), axis=1)
    frames[:, 14] = speed_mps + 0.1 * np.cos(4 * np.pi * phase)
    frames[:, 20:] = np.gradient(frames[:, 4:14], 1 / rate_hz, axis=0)
    away = 0.2 + 0.1 * times
    frames = turned(frames, away)
    frames[:, 19] += 0.1
    return frames


@pytest.mark.parametrize('seconds', [1.0, 3.3])
def test_the_cycle_of_a_known_gait_is_found(seconds):
    found = loop(gait(seconds), 200.0, 100.0, mirror_of(ROBOT), 1.25)
    assert found.period_s == pytest.approx(1.1, abs=0.005)
    assert found.speed_m_s == pytest.approx(1.4, abs=0.02)
    assert found.unexplained < 0.01
    frames = found.frames
    assert len(frames) % 2 == 0  # its halves are mirror images
    assert len(frames) == pytest.approx(100 * 1.1 * 1.4 / 1.25, abs=1.3)
    phase = np.arange(len(frames)) / len(frames)
    np.testing.assert_allclose(frames[:, 4:9], leg(phase), atol=0.02)
    np.testing.assert_allclose(frames[:, 9:14], leg(phase + 0.5), atol=0.02)
    assert frames[:, 14].mean() == pytest.approx(1.25, abs=0.02)
    around = np.concatenate((frames[-1:], frames, frames[:1]))
    slope = (around[2:] - around[:-2]) / 0.02
    np.testing.assert_allclose(slope[:, 4:14], frames[:, 20:], atol=0.05)
    np.testing.assert_allclose(slope[:, 0], frames[:, 16], atol=0.05)
    assert abs(frames[:, 3].mean()) < 0.01 and abs(frames[:, 15].mean()) < 0.01


def test_a_cycle_without_symmetry_needs_no_mirror():
    frames = gait(4.0)
    frames[:, 9:14] *= 0.5
    found = loop(frames, 200.0, 100.0)
    assert found.period_s == pytest.approx(1.1, abs=0.01)
    phase = np.arange(len(found.frames)) / len(found.frames)
    np.testing.assert_allclose(found.frames[:, 9:14], 0.5 * leg(phase + 0.5), atol=0.03)


def test_what_does_not_repeat_is_refused():
    frames = gait(2.0)
    frames[:, 4:14] = np.cumsum(np.random.default_rng(0).standard_normal((400, 10)), 0)
    with pytest.raises(ValueError, match='the motion does not repeat'):
        loop(frames, 200.0, 100.0)
    with pytest.raises(ValueError, match='too short to find a cycle'):
        loop(gait(0.2), 200.0, 100.0)


def test_heading_is_taken_out_with_its_velocity():
    frames = gait(1.1)
    straight = straightened(frames, 200.0)
    assert np.abs(straight[:, 3]).max() < 1e-9 and np.abs(straight[:, 19]).max() < 1e-9
    assert np.abs(straight[:, 15]).max() < 1e-6
    assert heading(frames) == pytest.approx(0.2 + 0.1 * 1.1 / 2, abs=0.01)


def test_the_public_clip_becomes_a_plausible_walk():
    if not CLIP.exists():
        pytest.skip('the clip is not beside this repository')
    said = []
    demos = open_recording(CLIP, SPEC, said.append)
    assert demos.rate_hz == 500.0
    config = Preparation(mirror=True, loop=True, speed_m_s=1.25)
    (frames,), cyclic = prepare(demos, SPEC, config, said.append)
    assert cyclic
    assert len(frames) / 100 == pytest.approx(1.188, abs=0.02)  # found independently
    assert frames[:, 0].min() > 0.85 and frames[:, 0].max() < 0.97
    reference = Gait(SPEC).kinematic_frames(np.arange(len(frames)) / len(frames))
    shifts = [
        np.corrcoef(np.roll(frames[:, 4], at), reference[:, 4])[0, 1] for at in range(len(frames))
    ]
    assert max(shifts) > 0.9  # hips swing alike
    half = np.roll(mirror_of(ROBOT)(frames), len(frames) // 2, axis=0)
    assert np.abs(half - frames)[:, :14].max() < 0.05


def recording_of(frames, rate_hz):
    return Demonstrations(
        states=frames.astype(np.float32),
        episode_lengths=np.array([len(frames) - 1]),
        terminated=np.zeros(1, bool),
        state_names=names(ROBOT.terms('kinematic')),
        rate_hz=rate_hz,
    )


def test_a_walk_is_looped_unasked_and_a_limp_is_not_made_symmetric():
    said = []
    walk = gait(8.0)
    (frames,), cyclic = prepare(recording_of(walk, 200.0), SPEC, Preparation(), said.append)
    assert cyclic and 'repeats' in said[-1] and 'mirrored' in said[-1]
    limp = walk.copy()
    knee = names(ROBOT.terms('kinematic')).index('knee_angle_l/position')
    limp[:, knee] *= 0.3
    limp[:, knee + 16] *= 0.3
    (frames,), cyclic = prepare(recording_of(limp, 200.0), SPEC, Preparation(), said.append)
    assert cyclic and 'mirrored' not in said[-1]
    assert np.ptp(frames[:, knee]) < 0.5 * np.ptp(frames[:, knee + 5])


def test_what_does_not_repeat_or_turns_is_followed_as_it_is():
    rng, walk = np.random.default_rng(0), gait(8.0)
    lost = np.cumsum(rng.standard_normal(walk.shape), axis=0) * 0.02
    turning = turned(walk, np.linspace(0, 2, len(walk)))
    for frames in (lost, turning):
        episodes, cyclic = prepare(recording_of(frames, 200.0), SPEC, Preparation(), str)
        assert not cyclic and len(episodes[0]) == pytest.approx(len(walk) / 2, abs=1)


def test_the_period_of_many_short_cycles_is_found():
    found = loop(gait(10.0, period_s=0.31), 200.0, 100.0, mirror_of(ROBOT))
    assert found.period_s == pytest.approx(0.31, abs=0.001)
    assert found.unexplained < 0.02


def test_an_exact_cycle_is_not_taken_for_two():
    assert loop(gait(9.9, period_s=1.6), 200.0, 100.0).period_s == pytest.approx(1.6, abs=0.01)


def test_a_walk_at_a_rate_that_drifts_is_looped():
    clock = np.arange(1600) / 200.0
    # An eighth faster at the end: over all of it no one period fits.
    at = (clock + 0.0075 * clock**2) * 200.0
    steady = gait(9.0, period_s=0.5)
    frames = np.stack([np.interp(at, np.arange(1800), column) for column in steady.T], axis=1)
    said = []
    (cycle,), cyclic = prepare(recording_of(frames, 200.0), SPEC, Preparation(), said.append)
    assert cyclic and 'at a rate that drifts' in said[-1]
    assert len(cycle) / SPEC.control.rate_hz == pytest.approx(0.475, abs=0.03)


def test_a_part_that_is_another_motion_is_not_left_out():
    walk, slow = gait(5.0, period_s=0.5), gait(5.0, period_s=0.7, speed_mps=0.8)
    slow[:, :14] = slow[:, :14] + (walk[-1, :14] - slow[0, :14]) * np.linspace(1, 0, 1000)[:, None]
    both = np.concatenate((walk, slow))
    _, cyclic = prepare(recording_of(both, 200.0), SPEC, Preparation(), str)
    assert not cyclic
