# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Many robots at once are the same robots."""

from lsiq_core.robot import load_robot, Randomisation
import numpy as np
import pytest
from sim.batch import WalkingBatch
from sim.gait import Gait
from sim.walking import Walking, WalkingConfig

gait = Gait(load_robot('atlas'))


@pytest.mark.parametrize('robot, action', [('atlas', 'torque'), ('quad', 'pd_target')])
@pytest.mark.parametrize(
    'ranges',
    [
        {},
        {'delay_ms': (4, 4), 'torque_scale': (0.9, 0.9)},
        {'delay_ms': (0, 16)},
        {'delay_ms': 2, 'encoder_offset_rad': 0.1, 'observation_delay_ms': (0, 14)},
        {
            'mass_scale': (0.9, 1.1),
            'com_offset_m': 0.1,
            'friction': (0.5, 0.6),
            'joint_friction': 0.02,
            'joint_damping': 0.005,
            'armature': 0.5,
            'slope_rad': 0.1,
            'base_position_bias': 0.01,
            'base_velocity_bias': 0.1,
        },
    ],
)
def test_batch_equals_single_to_the_bit(robot, action, ranges):
    config = WalkingConfig('full', action=action, randomisation=Randomisation(**ranges))
    batch = WalkingBatch(5, robot, config, seed=3)
    envs = [Walking(robot, config) for _ in range(5)]
    for index, env in enumerate(envs):
        env._worlds._put(0, batch._worlds.conditions[index])
        env._change_model()
        obs = env._start_at(batch._qpos[index], batch._qvel[index])
        np.testing.assert_allclose(obs, batch.obs[index], atol=1e-12)
    rng = np.random.default_rng(0)
    size = 100 if action == 'torque' else 1
    for _ in range(30):
        actions = rng.normal(0, size, (5, len(batch.joints)))
        found = batch.step(actions)
        steps = [env.step(command) for env, command in zip(envs, actions)]
        np.testing.assert_array_equal(batch._qpos, [env.data.qpos for env in envs])
        # Angles of the base come from math here and from numpy there.
        np.testing.assert_allclose(batch.obs, [step.obs for step in steps], rtol=1e-9, atol=1e-9)
        np.testing.assert_array_equal(found.terminated, [step.terminated for step in steps])
        np.testing.assert_allclose(found.reward, [step.reward for step in steps], rtol=1e-14)
        exact = [env.kinematic() for env in envs]
        np.testing.assert_allclose(batch.kinematic(), exact, rtol=1e-9, atol=1e-9)


def test_threads_change_nothing():
    actions = np.random.default_rng(1).normal(0, 50, (10, 6, 10))
    runs = []
    for threads in (0, 2):
        batch = WalkingBatch(6, seed=4, threads=threads)
        for action in actions:
            batch.step(action)
        runs.append(batch.obs)
        batch.close()
    np.testing.assert_array_equal(runs[0], runs[1])


def test_the_hook_says_where_robots_start():
    asked = []

    def start(index, rng):
        asked.append(index)
        return gait.kinematic_frames(index / 4)

    batch = WalkingBatch(3, on_reset=start)
    assert asked == [0, 1, 2]
    np.testing.assert_array_equal(batch.obs, gait.kinematic_frames(np.arange(3) / 4))
    batch.reset_where(np.array([False, True, False]))
    assert asked == [0, 1, 2, 1]


def test_pushes_and_noise_reach_the_batch():
    frame = gait.kinematic_frames(0.3)
    pushed = Randomisation(push_n=(300, 300), push_every_s=(0.0, 0.0))
    noisy = Randomisation(position_noise=0.02)
    runs = [
        WalkingBatch(2, 'atlas', WalkingConfig(randomisation=v), on_reset=lambda i, rng: frame)
        for v in (Randomisation(), pushed, noisy)
    ]
    for batch in runs:
        for _ in range(3):
            batch.step(np.zeros((2, 10)))
    plain, push, noise = (batch.obs for batch in runs)
    assert np.abs(push - plain).max() > 1e-3
    assert 0.005 < np.abs(noise - plain)[:, :14].mean() < 0.05
    np.testing.assert_array_equal(noise[:, 14:], plain[:, 14:])
