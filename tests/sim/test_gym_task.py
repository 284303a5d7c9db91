# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Gymnasium's tasks behind our protocol."""

import gymnasium
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
