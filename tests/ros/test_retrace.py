# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""A recording becomes feasible demonstrations: smoothed, followed, collected."""

from dataclasses import replace

from lsiq_core.data.demonstrations import load
from lsiq_core.errors import DemonstrationError
from lsiq_core.robot import load_robot, Randomisation
from lsiq_core.shipped_files import shipped
from lsiq_ros.cli.expert_commands import tracker_progress
from lsiq_ros.runs.recording import (
    floor_offset,
    kinematic_episodes,
    Preparation,
    resampled,
    smoothed,
)
from lsiq_ros.runs.retrace import (
    Lines,
    Listener,
    out_of_reach,
    reference_of,
    retrace,
    RetraceConfig,
    train_tracker,
)
import numpy as np
import pytest
from sim.robot import MujocoRobot
from sim.tracking.collect import CollectConfig
from sim.tracking.train import answers, evaluate, TrackerConfig, TrackerRun, Tracking


@pytest.fixture(scope='module')
def spec():
    return load_robot('atlas')


@pytest.fixture(scope='module')
def walk():
    demos = load(shipped('models/atlas/demos/walk_noisy.npz'), with_actions=False)
    return demos.first(2)


def test_columns_are_found_by_name(spec, walk):
    robot = MujocoRobot(spec, forces=False)
    order = np.arange(len(walk.state_names))[::-1]
    turned = replace(
        walk,
        states=walk.states[:, order],
        state_names=tuple(walk.state_names[column] for column in order),
    )
    expected, found = kinematic_episodes(walk, robot), kinematic_episodes(turned, robot)
    np.testing.assert_array_equal(expected[1], found[1])


def test_a_missing_joint_is_named(spec, walk):
    names = tuple(name.replace('knee_angle_l', 'elbow') for name in walk.state_names)
    with pytest.raises(DemonstrationError, match="lacks .*'knee_angle_l/position'"):
        kinematic_episodes(replace(walk, state_names=names), MujocoRobot(spec, forces=False))


def test_smoothing_brings_a_noisy_recording_nearer_to_the_truth(spec, walk):
    frames = kinematic_episodes(walk, MujocoRobot(spec, forces=False))[0]
    noise = np.random.default_rng(0).standard_normal(frames.shape)
    scale = np.full(frames.shape[1], 0.5)
    scale[:14] = 0.01
    found, level = smoothed(frames + scale * noise, 100.0)
    assert level['position'] == pytest.approx(0.01, rel=0.3)
    assert np.abs(found - frames)[:, :14].mean() < 0.6 * np.abs(scale * noise)[:, :14].mean()


def test_the_floor_of_a_recording_is_found(spec, walk):
    robot = MujocoRobot(spec, forces=False)
    episodes = kinematic_episodes(walk, robot)
    level = floor_offset(robot, episodes)
    assert abs(level) < 0.01
    for frames in episodes:
        frames[:, 0] += 0.05
    assert floor_offset(robot, episodes) == pytest.approx(level + 0.05, abs=1e-6)


def test_a_joint_that_no_target_can_hold_is_named():
    robot = MujocoRobot(load_robot('quad'), forces=False)
    frames = np.tile(robot.nominal_frame(), (20, 1))
    assert out_of_reach(robot, frames) == []
    frames[:, 4 + robot.joints.index('fl_knee')] -= 0.9  # targets reach 0.6 around the pose
    (sentence,) = out_of_reach(robot, frames)
    assert 'fl_knee goes from -2.10 to -2.10 rad, PD targets from -1.80 to -0.60' in sentence


def test_frames_come_to_the_rate_of_the_robot():
    frames = np.linspace(0.0, 1.0, 201)[:, None]
    found = resampled(frames, 200.0, 100.0)
    np.testing.assert_allclose(found[:, 0], np.linspace(0.0, 1.0, 101))


def test_what_was_retraced_follows_the_dynamics_of_the_robot(spec, walk, tmp_path):
    config = RetraceConfig(
        tracker=TrackerConfig(max_steps=1, num_envs=8, evaluate_every=10**9),
        collect=CollectConfig(episodes=2, seconds=0.2, noise=(0.0, 0.0), parallel=4),
    )
    said = []
    demos = retrace(walk, spec, tmp_path / 'tracker', config, Listener(said.append))
    assert demos.num_episodes == 2
    assert any('noise of positions' in line for line in said)
    from sim.walking import Walking

    env = Walking(spec)
    first = demos.states[0].astype(np.float64)[: MujocoRobot(spec).kinematic_size]
    env.reset_to(first)
    env.step(demos.actions[0].astype(np.float64))
    after = demos.states[1][: len(first)]
    np.testing.assert_allclose(env.kinematic(), after, atol=0.02, rtol=0.02)


def test_a_tracker_goes_on_where_it_was_saved(spec, walk, tmp_path):
    config = RetraceConfig(Preparation(smooth=False))
    reference = reference_of(walk, spec, config, print)
    settings = TrackerConfig(num_envs=4, evaluate_every=10**9, max_steps=10**6)
    run = TrackerRun(spec, reference, settings)
    run.iterate()
    run.save(tmp_path / 'tracker.safetensors')
    other = TrackerRun(spec, reference, replace(settings, seed=1))
    other.restore(tmp_path / 'tracker.safetensors')
    assert other.steps == run.steps
    first, second = (x.learner.state_dict() for x in (run, other))
    assert all((first[name] == second[name]).all() for name in first)
    tracking = evaluate(answers(run.learner.policy), spec, reference)
    assert 0.0 < tracking.survived <= 1.0


def test_worlds_differ_once_it_tracks_and_stay_so_when_it_goes_on(spec, walk, tmp_path):
    reference = reference_of(walk, spec, RetraceConfig(), print)
    settings = TrackerConfig(
        num_envs=4,
        round_s=0.05,
        evaluate_every=1,
        good_enough=0.0,
        robust_enough=0.0,
        most_drift_mps=np.inf,
        randomisation=Randomisation(mass_scale=(0.9, 1.1)),
    )
    run = TrackerRun(spec, reference, settings)
    run.iterate()
    assert not run.randomised
    run.iterate()
    assert run.randomised and not run.done
    run.save(tmp_path / 'tracker.safetensors')
    other = TrackerRun(spec, reference, settings)
    other.restore(tmp_path / 'tracker.safetensors')
    assert other.randomised and not other.done
    for _ in range(5):  # nobody tells it where the path is
        other.env.step(other.env.batch.action_high[None].repeat(4, 0), other.env.last)
    np.testing.assert_allclose(other.env.inputs().offset_m, 0.0, atol=1e-12)
    masses = {float(model.body_mass.sum()) for model in other.env.batch._models}
    assert len(masses) == 4
    for _ in range(2):
        other.iterate()
    assert other.done


def tracking(survived, drift_mps=0.0):
    return Tracking(survived, survived, 0.05, 0.1, 0.1, drift_mps)


def test_who_follows_at_another_speed_does_not_track():
    assert tracking(0.99, 0.05).reaches(0.98, 0.1)
    assert not tracking(0.99, 0.14).reaches(0.98, 0.1)
    assert not tracking(0.97, 0.0).reaches(0.98, 0.1)


def test_a_tracker_whose_time_is_over_gives_its_best(spec, walk, tmp_path, monkeypatch):
    reference = reference_of(walk, spec, RetraceConfig(), print)
    settings = TrackerConfig(num_envs=2, round_s=0.05, evaluate_every=1)
    results = iter([tracking(0.3), tracking(0.7), tracking(0.5)])
    monkeypatch.setattr('sim.tracking.train.evaluate', lambda *args, **kwargs: next(results))
    run = TrackerRun(spec, reference, settings)
    run.iterate()
    run.iterate()
    best = {name: value.clone() for name, value in run.learner.state_dict().items()}
    run.iterate()
    run.save(tmp_path / 'tracker.safetensors')
    last = run.learner.state_dict()
    assert any((best[name] != last[name]).any() for name in best)
    monkeypatch.setattr('sim.tracking.train.evaluate', lambda *args, **kwargs: tracking(0.7))
    other = TrackerRun(spec, reference, settings)
    other.restore(tmp_path / 'tracker.safetensors')
    for found in (run, other):  # also after it was stopped
        found.finish()
        state = found.learner.state_dict()
        assert all((best[name] == state[name]).all() for name in best)
        assert not found.follows


def test_a_tracker_that_was_stopped_keeps_its_curve(spec, walk, tmp_path, monkeypatch):
    monkeypatch.setattr('sim.tracking.train.evaluate', lambda *args, **kwargs: tracking(0.7))
    reference = reference_of(walk, spec, RetraceConfig(), print)
    settings = TrackerConfig(num_envs=2, round_s=0.05)
    shown = []
    halted = Listener(print, shown.append, lambda: len(shown) == 2)
    assert train_tracker(spec, reference, tmp_path, settings, halted) is None
    a_round = int(shown[0]['steps'])
    settings = replace(settings, max_steps=3 * a_round)
    run = train_tracker(spec, reference, tmp_path, settings, Listener())
    assert [row['steps'] for row in run.curve] == [a_round, 2 * a_round, 3 * a_round]


def test_a_tracker_may_go_on_after_it_tracks(spec, walk, monkeypatch):
    monkeypatch.setattr('sim.tracking.train.evaluate', lambda *args, **kwargs: tracking(1.0))
    reference = reference_of(walk, spec, RetraceConfig(), print)
    settings = TrackerConfig(num_envs=2, round_s=0.05, evaluate_every=1)
    for all_minutes in (False, True):
        run = TrackerRun(spec, reference, replace(settings, all_minutes=all_minutes))
        run.iterate()
        run.iterate()
        assert run.done is not all_minutes


def test_it_learns_long_enough_in_worlds_that_differ(spec, walk, monkeypatch, tmp_path):
    """Two rounds in one world, so four more where worlds differ, whatever evaluations say."""
    monkeypatch.setattr('sim.tracking.train.evaluate', lambda *args, **kwargs: tracking(1.0))
    reference = reference_of(walk, spec, RetraceConfig(), print)
    settings = TrackerConfig(
        num_envs=2,
        round_s=0.05,
        evaluate_every=1,
        robust_share=2.0,
        randomisation=Randomisation(mass_scale=(0.9, 1.1)),
    )
    run = TrackerRun(spec, reference, settings)
    done = []
    for _ in range(6):
        run.iterate()
        done.append(run.done)
        run.save(tmp_path / 'tracker.safetensors')
        run = TrackerRun(spec, reference, settings)
        run.restore(tmp_path / 'tracker.safetensors')
    assert done == [False] * 5 + [True] and run.done


def test_what_tracks_in_one_world_is_better_than_nothing_in_many(spec, walk, monkeypatch):
    reference = reference_of(walk, spec, RetraceConfig(), print)
    settings = TrackerConfig(
        num_envs=2, round_s=0.05, evaluate_every=1, randomisation=Randomisation(mass_scale=(1, 2))
    )
    results = iter([tracking(0.99), tracking(1.0), tracking(0.1), tracking(0.2), tracking(1.0)])
    monkeypatch.setattr('sim.tracking.train.evaluate', lambda *args, **kwargs: next(results))
    run = TrackerRun(spec, reference, settings)
    for _ in range(3):
        run.iterate()
    assert run.randomised and run.reference.leash_m == 0.0
    run.finish()
    assert not run.randomised and run.follows
    assert run.reference.leash_m == reference.leash_m


def test_a_tracker_is_never_silent_for_minutes(monkeypatch):
    said, now = [], [0.0]
    monkeypatch.setattr('lsiq_ros.runs.retrace.time.monotonic', lambda: now[0])
    show = Lines(said.append)
    row = {'steps': 20_000, 'lost_per_s': 1.5, 'minutes': 0.5}
    for now[0] in (30.0, 61.0, 90.0):
        show(row)
    assert said == ['tracker:  0.02 M  loses the motion 1.50 times a second  0.5 min']
    show(row | tracking(0.9, 0.12).metrics())
    assert 'follows  90%' in said[-1] and 'speed 0.12 m/s off' in said[-1]


def test_into_a_file_the_command_says_so_too(monkeypatch, capsys):
    monkeypatch.setattr('lsiq_ros.runs.retrace._SAY_EVERY_S', 0.0)
    row = {'steps': 20_000, 'lost_per_s': 1.5, 'minutes': 0.5, 'reward': 0.1}
    with tracker_progress(30.0) as listener:
        listener.show(row)
    assert 'loses the motion 1.50 times a second' in capsys.readouterr().out
