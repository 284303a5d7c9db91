# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""A run that is stopped in the midst of an evaluation makes it when it goes on."""

from lsiq_core.config import from_dict
from lsiq_core.metrics import read
from lsiq_core.training import Trainer
from lsiq_core.work import Interrupted
from lsiq_ros.cli.tasks import built_in_demos
import pytest
from sim.point_mass import PointMass
import torch

CONFIG = from_dict(
    {
        'task': 'point_mass',
        'compile': 'never',
        'networks': {'hidden': [8]},
        'optimisation': {'expert_batch': 8, 'policy_batch': 8},
        'collection': {'steps': 60, 'critic_start': 10, 'actor_start': 10},
        'report': {'evaluate_every': 20, 'evaluation_episodes': 2, 'log_every': 10},
    }
)


def trainer_in(run):
    run.mkdir(exist_ok=True)
    return Trainer(CONFIG, PointMass, built_in_demos('point_mass', 4), run, say=lambda _: None)


def go_on(trainer):
    while not trainer.finished:
        trainer.iterate()
    trainer.close()
    return [
        {name: value for name, value in line.items() if not name.startswith('time/')}
        for line in read(trainer.run)
    ]


def test_an_interrupted_evaluation_is_made_later_and_changes_nothing(tmp_path):
    torch.set_num_threads(1)
    undisturbed = go_on(trainer_in(tmp_path / 'undisturbed'))

    asked = []
    stopped = trainer_in(tmp_path / 'stopped')
    stopped.interrupted = lambda: asked.append(1) or len(asked) > 3  # in the first evaluation
    with pytest.raises(Interrupted):
        go_on(stopped)
    assert (stopped.steps, stopped.evaluations) == (20, 0)
    stopped.save()
    stopped.close()
    resumed = trainer_in(tmp_path / 'stopped')
    resumed.restore()
    resumed.iterate()
    assert (resumed.steps, resumed.evaluations) == (20, 1)
    assert go_on(resumed) == undisturbed
