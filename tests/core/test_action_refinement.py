# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Action refinement where the expert's actions are known to the test, never to the code."""

from lsiq_core.config import BabbleConfig, from_dict
from lsiq_core.data.dataset import expert_data, state_statistics
from lsiq_core.errors import TaskError
from lsiq_core.job import complete
from lsiq_core.learning.action_refinement import Refinement
from lsiq_core.learning.babble import Babble
from lsiq_core.learning.gauss_newton import GaussNewton
from lsiq_core.learning.idm_training import action_error, IdmFit, prediction_error
from lsiq_core.learning.learner import Learner
from lsiq_ros.runs.tasks import built_in_demos
import numpy as np
import pytest
from sim.gym_task import GymTask
from sim.point_mass import PointMass
import torch

CONFIG = from_dict(
    {
        'task': 'point_mass',
        'observations_only': True,
        'idm': {'hidden': [32], 'rate': 3e-3},
        'pretraining': {'refinement': {'transitions': 200, 'updates': 100}},
    }
)


@pytest.fixture
def pretrained():
    """Return learner, its state after a little babble, expert transitions, and babble."""
    env, demos = PointMass(), built_in_demos('point_mass', 4)
    generator = torch.Generator().manual_seed(0)
    learner = Learner(CONFIG, 4, 2)
    state = learner.init(generator, {**state_statistics(demos), 'actor_mask': torch.ones(4)})
    known = complete(Babble(env, BabbleConfig(transitions=300, burst=5)).run(generator))
    complete(IdmFit(learner, known, 300).run(state, generator))
    return learner, state, expert_data(demos, env).rows, known, generator


def test_guesses_and_model_come_closer_to_the_expert_without_its_actions(pretrained):
    learner, state, shown, known, generator = pretrained
    before = prediction_error(learner, state, shown)['rmse']
    unseen = shown.clone()
    unseen[:, 4:6] = torch.nan
    refinement = Refinement(learner, PointMass(), unseen, known)
    complete(refinement.run_round(state, generator))
    first = refinement.miss
    for _ in range(9):
        complete(refinement.run_round(state, generator))
    assert refinement.miss < 0.2 * first
    found = action_error(refinement.actions(state), shown[:, 4:6])
    assert found['rmse'] < 0.2 * before
    assert prediction_error(learner, state, shown)['rmse'] < 0.7 * before


def test_what_was_tried_is_true_of_the_simulation(pretrained):
    learner, state, shown, known, generator = pretrained
    refinement = Refinement(learner, PointMass(), shown, known)
    complete(refinement.run_round(state, generator))
    tried = refinement.rows[len(known) :]
    assert len(tried) == 200
    env = PointMass()
    for row in tried[:20].double().numpy():
        env.reset_to(row[:4])
        reached = env.step(2.0 * row[4:6]).obs
        assert reached == pytest.approx(row[6:10], abs=1e-6)


def test_a_task_that_cannot_be_started_anywhere_is_refused(pretrained):
    learner, state, shown, known, generator = pretrained

    class Fixed:
        name = 'fixed'

    with pytest.raises(TaskError, match='task fixed cannot be started at a given state'):
        complete(Refinement(learner, Fixed(), shown, known).run_round(state, generator))


def test_every_transition_is_tried_once_before_any_is_tried_again(pretrained):
    learner, state, shown, known, generator = pretrained
    refinement = Refinement(learner, PointMass(), shown, known)
    complete(refinement.run_round(state, generator))
    complete(refinement.run_round(state, generator))
    assert len(shown) == 400
    tried = refinement.rows[len(known) :, :4]
    assert len(tried.unique(dim=0)) == len(shown[:, :4].unique(dim=0))


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


def test_gauss_newton_finds_the_actions_of_exact_resets(pretrained):
    _, state, shown, known, _ = pretrained
    unseen = shown.clone()
    unseen[:, 4:6] = torch.nan
    solver = GaussNewton(PointMass(), unseen, state, known)
    complete(solver.run())
    inside = (shown[:, 4:6].abs() < 1.0).all(1)
    error = (solver.actions - shown[:, 4:6]).abs()[inside]
    assert solver.solved > 0.95
    assert float(error.median()) < 1e-4


def test_gauss_newton_goes_on_from_a_pause(pretrained):
    _, state, shown, known, _ = pretrained
    whole, parted = (GaussNewton(PointMass(), shown[:50], state, known) for _ in range(2))
    complete(whole.run())
    next(parted.run())
    other = GaussNewton(PointMass(), shown[:50], state, known)
    other.restore(parted.state())
    complete(other.run())
    assert torch.equal(other.actions, whole.actions)
