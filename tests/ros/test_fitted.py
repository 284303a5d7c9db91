# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Settings of a robot's run follow from what was recorded, where they leave it open."""

import shutil

from lsiq_core.data.demonstrations import Demonstrations, load
from lsiq_core.robot import load_robot
from lsiq_core.types import names
from lsiq_ros.benchmarks import training
from lsiq_ros.runs.setup import new_config
from lsiq_ros.runs.tasks import fitted
from lsiq_ros.simulator.tasks import make_env
import numpy as np
import pytest
from sim.reset_states import ResetStates
from sim.robot import MujocoRobot, observation_terms


@pytest.fixture
def standing(tmp_path):
    """Return a function that saves standing quads, observed as asked for."""
    robot = MujocoRobot(load_robot('quad'))

    def save(observation):
        terms = names(observation_terms(robot.spec, observation))
        states = np.zeros((6, len(terms)), np.float32)
        states[:, : robot.kinematic_size] = robot.nominal_frame()
        states[:, 0] += 0.01 * np.arange(6)
        demos = Demonstrations(
            states, np.array([5]), np.array([False]), state_names=terms, rate_hz=50.0
        )
        demos.save(tmp_path / 'standing.npz')
        return load(tmp_path / 'standing.npz')

    return save


@pytest.mark.parametrize(('observation', 'hidden'), [('kinematic', ()), ('full', ('force',))])
def test_a_robot_observes_what_was_recorded_and_starts_there(standing, observation, hidden):
    demos = standing(observation)
    config = fitted(new_config('quad'), demos)
    assert config.task_options['observation'] == observation
    assert config.networks.privileged_terms == hidden
    robot = MujocoRobot(load_robot('quad'))
    starts = ResetStates(robot, start=config.task_options['start'])
    rng = np.random.default_rng(0)
    heights = {round(float(starts.draw(rng)[0][robot.base_qpos + 2]), 3) for _ in range(100)}
    assert len(heights) == 6  # noise is on angles and velocities alone


def test_what_was_chosen_stays(standing):
    chosen = new_config('quad', overrides=['task_options.start=stand'])
    assert fitted(chosen, standing('kinematic')).task_options['start'] == 'stand'


def test_other_tasks_are_left_alone(standing):
    config = new_config('Hopper-v5')
    assert fitted(config, standing('kinematic')) == config


def test_a_motion_in_place_is_measured_by_standing_still(standing, tmp_path):
    text = load_robot('quad').path.read_text().replace('speed_mps: 0.3, ', '')
    folder = tmp_path / 'still'
    shutil.copytree(load_robot('quad').folder, folder)
    (folder / 'robot.yaml').write_text(text)
    config = fitted(new_config(str(folder)), standing('kinematic'))
    assert config.task_options['speed_mps'] == 0.0
    env = make_env(str(folder), config.task_options)
    assert env.metric(0.0) == 1.0 and env.metric(1.0) < 0.4
    # What the robot's file says counts.
    assert 'speed_mps' not in fitted(new_config('quad'), standing('kinematic')).task_options


@pytest.mark.parametrize(('speed', 'window'), [(30.0, True), (5.0, False)])
def test_clipped_velocities_ask_for_a_window_unless_told(speed, window):
    rng = np.random.default_rng(0)
    states = rng.normal(size=(1201, 17))
    rate = speed * states[:, 9]
    states[1:, 1] = states[0, 1] + 0.004 * np.cumsum(rate[1:] + rate[:-1])  # what it moves
    states[:, 9] = np.clip(rate, -10.0, 10.0)  # 30: three of four are beyond
    states[:, 10] = rng.integers(2, size=1201)  # a contact
    demos = Demonstrations(states, np.array([1200]), np.array([False]))
    assert bool(fitted(new_config('Walker2d-v5'), demos).idm.window) is window
    told = new_config('Walker2d-v5', overrides=[f'idm.window={str(not window).lower()}'])
    assert fitted(told, demos).idm.window is not window


def test_what_the_bench_of_the_loop_trains_fits_its_demonstrations(tmp_path):
    trainer = training._trainer('atlas', tmp_path / 'run', None)
    assert trainer.steps >= 60 and training._iteration_ms(trainer) > 0
    trainer.close()
