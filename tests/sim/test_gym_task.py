# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Gymnasium's tasks behind our protocol."""

import json

import gymnasium
from lsiq_ros.runs.driver import drive
from lsiq_ros.runs.setup import new_config, read_setup, RunSetup
import mujoco
import numpy as np
import pytest
import sim

SIZES = {
    'Hopper-v5': (11, 3),
    'Walker2d-v5': (17, 6),
    'HalfCheetah-v5': (17, 6),
    'Ant-v5': (27, 8),
    'Humanoid-v5': (348, 17),
}


@pytest.mark.parametrize('name', sim.GYM_TASKS)
def test_same_trajectory_as_gymnasium_and_bit_identical_continuation(name):
    task, other = sim.make(name), sim.make(name)
    options = {'include_cfrc_ext_in_observation': False} if name == 'Ant-v5' else {}
    reference = gymnasium.make(name, **options)
    assert (len(task.observation_terms), len(task.action_terms)) == SIZES[name]
    rng = np.random.default_rng(0)
    obs = task.reset(seed=3)
    assert np.array_equal(obs, reference.reset(seed=3)[0])
    for _ in range(6):
        action = rng.uniform(task.action_low, task.action_high)
        step = task.step(action)
        expected = reference.step(action)
        assert np.array_equal(step.obs, expected[0])
        assert (step.reward, step.terminated) == (expected[1], expected[2])
        assert not step.truncated
    other.restore(task.state())
    for _ in range(6):
        action = rng.uniform(task.action_low, task.action_high)
        first, second = task.step(action), other.step(action)
        assert np.array_equal(first.obs, second.obs)
        assert first[1:] == second[1:]
    assert np.array_equal(task.reset(), other.reset())


def test_time_limit_truncates():
    task = sim.make('HalfCheetah-v5')
    task.reset(seed=0)
    for _ in range(task.max_episode_steps):
        step = task.step(np.zeros(6))
    assert step.truncated and not step.terminated


def test_unknown_task_names_the_known_ones():
    with pytest.raises(sim.UnknownTaskError, match='there are point_mass, atlas, .*Hopper-v5'):
        sim.make('Hopper-v2')


@pytest.mark.parametrize(
    ('name', 'options'),
    [
        ('Humanoid-v5', {'include_cinert_in_observation': False}),
        ('Hopper-v5', {'exclude_current_positions_from_observation': False}),
    ],
)
def test_a_run_makes_the_task_as_it_was_recorded(tmp_path, name, options):
    recorded = sim.make(name, **options)
    obs = [recorded.reset(seed=0)]
    actions = np.random.default_rng(0).uniform(
        recorded.action_low, recorded.action_high, (12, len(recorded.action_terms))
    )
    obs += [recorded.step(action).obs for action in actions]
    assert np.allclose(sim.make(name, **options).reset_to(obs[3])[:11], obs[3][:11], atol=1e-6)
    np.savez(
        tmp_path / 'demos.npz',
        observations=np.array(obs),
        actions=actions,
        episode_lengths=np.array([12]),
        terminated=np.array([False]),
        returns=np.array([1.0]),
        env_id=np.array(name),
        env_kwargs=np.array(json.dumps(options)),
    )
    small = (
        'compile=never',
        'collection.critic_start=8',
        'report.evaluation_episodes=1',
        'pretraining.babble.transitions=40',
        'pretraining.babble.updates=2',
    )
    config = new_config(name, overrides=small, observations_only=True, collection__steps=24)
    assert drive(tmp_path / 'run', RunSetup(config, str(tmp_path / 'demos.npz'), None))
    assert read_setup(tmp_path / 'run').config.task_options == options


def test_making_a_task_says_nothing_of_gymnasiums_own_files(capfd, tmp_path, monkeypatch):
    """Eight simulations said ten times that an attribute in HalfCheetah's file is deprecated."""
    monkeypatch.chdir(tmp_path)  # where MuJoCo's log file would lie
    sim.make('HalfCheetah-v5')
    assert capfd.readouterr() == ('', '')
    assert list(tmp_path.iterdir()) == []
    assert mujoco.get_mju_user_warning() is None


def test_another_warning_is_still_told(capfd, monkeypatch):
    make = gymnasium.make

    def unsound(*args, **options):
        mujoco.get_mju_user_warning()('inertia is odd')
        return make(*args, **options)

    monkeypatch.setattr(gymnasium, 'make', unsound)
    sim.make('Hopper-v5')
    assert capfd.readouterr().err == 'MuJoCo: inertia is odd\n'
