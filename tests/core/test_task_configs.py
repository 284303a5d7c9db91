# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""The committed settings: one recipe, and tasks that set only what is theirs."""

from pathlib import Path

from lsiq_core.config import from_dict, leaves, to_dict
from lsiq_core.errors import ConfigError
from lsiq_core.task_configs import names, settings
import pytest

GYM = ('Ant-v5', 'HalfCheetah-v5', 'Hopper-v5', 'Humanoid-v5', 'Walker2d-v5')


@pytest.mark.parametrize('task', names())
def test_every_task_has_settings_that_are_accepted(task):
    assert from_dict(settings(task)).task == task


def test_the_recipe_is_no_task():
    assert set(GYM) < set(names())
    assert not {'recipe', 'robot', 'paper'} & set(names())


def differences(config, recipe):
    """Return the settings by dotted name that differ from the recipe's."""
    own, shared = (dict(leaves(to_dict(one))) for one in (config, recipe))
    return {name for name in own if own[name] != shared[name]}


RECIPE = from_dict({**settings('a Gym task'), 'task': 'a Gym task'})
ITS_OWN = {'task', 'algorithm.c', 'algorithm.beta', 'collection.steps'}


@pytest.mark.parametrize('task', GYM)
def test_gym_tasks_share_one_recipe(task):
    """A task's file may set c, beta and its steps, nothing else."""
    assert differences(from_dict(settings(task)), RECIPE) <= ITS_OWN


def test_atlas_without_cloning_is_the_recipe_and_what_the_robot_dictates():
    file = Path(__file__).parents[2] / 'models' / 'atlas' / 'no_cloning.yaml'
    config = from_dict(settings('atlas', file))
    dictated = {'networks.privileged_terms', 'networks.action_gain', 'collection.randomise'}
    assert differences(config, RECIPE) <= ITS_OWN | dictated | {'observations_only'}
    assert config.observations_only and config.bc.pretrain_updates == 0


def test_the_recipe_neither_clones_nor_refines():
    config = from_dict(settings('Ant-v5'))
    assert config.bc.weight == config.bc.pretrain_updates == 0
    assert config.idm.online and not config.pretraining.refine


def test_a_robot_without_a_file_has_the_recipe():
    own, other = from_dict(settings('my_robot')), from_dict(settings('Ant-v5'))
    assert own.task == 'my_robot'
    assert own.networks == other.networks
    assert own.optimisation == other.optimisation


def test_a_file_extends_what_it_names_instead_of_the_task(tmp_path):
    file = tmp_path / 'mine.yaml'
    file.write_text('extends: recipe\ncollection: {steps: 7}\n')
    config = from_dict(settings('atlas', file))
    assert (config.task, config.collection.steps, config.bc.weight) == ('atlas', 7, 0)


def test_the_papers_settings_have_nothing_of_the_recipe(tmp_path):
    file = tmp_path / 'paper.yaml'
    file.write_text('extends: paper\nalgorithm: {c: 10}\n')
    config = from_dict(settings('Ant-v5', file))
    own = (config.algorithm.discount, config.optimisation.expert_batch, config.networks.hidden)
    assert own == (0.99, 256, (256, 256))
    assert config.pretraining.babble.transitions == config.optimisation.policy_window == 0
    assert (config.task, config.algorithm.c, config.collection.steps) == ('Ant-v5', 10, 1_500_000)


def test_a_file_is_laid_over_the_task_by_default(tmp_path):
    file = tmp_path / 'mine.yaml'
    file.write_text('collection: {steps: 7}\n')
    config = from_dict(settings('atlas', file))
    assert (config.collection.steps, config.bc.weight) == (7, 4.0)


def test_a_file_that_extends_what_is_not_there_is_refused(tmp_path):
    file = tmp_path / 'mine.yaml'
    file.write_text('extends: recipes\n')
    with pytest.raises(ConfigError, match="mine.yaml: extends 'recipes'; there are Ant-v5"):
        settings('atlas', file)
