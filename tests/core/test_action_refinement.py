# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Action refinement where the expert's actions are known to the test, never to the code."""

from lsiq_core.config import BabbleConfig
from lsiq_core.data.dataset import expert_data, state_statistics
from lsiq_core.errors import TaskError
from lsiq_core.job import complete
from lsiq_core.learning.babble import Babble
from lsiq_core.learning.gauss_newton import GaussNewton
from lsiq_ros.runs.tasks import built_in_demos
import numpy as np
import pytest
from sim.gym_task import GymTask
from sim.point_mass import PointMass
import torch


@pytest.fixture
def shown():
    """Return expert transitions, their scales, and a little babble."""
    env, demos = PointMass(), built_in_demos('point_mass', 4)
    generator = torch.Generator().manual_seed(0)
    known = complete(Babble(env, BabbleConfig(transitions=300, burst=5)).run(generator))
    return expert_data(demos, env).rows, state_statistics(demos), known


def test_a_task_that_cannot_be_started_anywhere_is_refused(shown):
    rows, scales, known = shown

    class Fixed:
        name = 'fixed'

    with pytest.raises(TaskError, match='task fixed cannot be started at a given state'):
        GaussNewton(Fixed(), rows, scales, known)


@pytest.mark.parametrize('task', ['Hopper-v5', 'Ant-v5'])
def test_a_gym_task_started_at_an_observation_goes_on_as_from_there(task):
    env = GymTask(task)
    env.reset(seed=0)
    rng = np.random.default_rng(0)
    for _ in range(5):
        start = env.step(rng.uniform(env.action_low, env.action_high)).obs
    action = rng.uniform(env.action_low, env.action_high)
    once = (env.reset_to(start), env.step(action).obs)
    again = (env.reset_to(start), env.step(action).obs)
    assert once[0] == pytest.approx(start, abs=1e-9)
    assert np.array_equal(once[1], again[1])


def test_gauss_newton_finds_the_actions_of_exact_resets(shown):
    rows, scales, known = shown
    unseen = rows.clone()
    unseen[:, 4:6] = torch.nan
    solver = GaussNewton(PointMass(), unseen, scales, known)
    complete(solver.run())
    inside = (rows[:, 4:6].abs() < 1.0).all(1)
    error = (solver.actions - rows[:, 4:6]).abs()[inside]
    assert solver.solved > 0.95
    assert float(error.median()) < 1e-4


def test_gauss_newton_goes_on_from_a_pause(shown):
    rows, scales, known = shown
    whole, parted = (GaussNewton(PointMass(), rows[:50], scales, known) for _ in range(2))
    complete(whole.run())
    next(parted.run())
    other = GaussNewton(PointMass(), rows[:50], scales, known)
    other.restore(parted.state())
    complete(other.run())
    assert torch.equal(other.actions, whole.actions)
