# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""A run that is stopped in the midst of an evaluation makes it later; one that is done rests."""

import resource

from lsiq_core import checkpoint
from lsiq_core.config import from_dict, to_dict
from lsiq_core.errors import LsiqError
from lsiq_core.job import Interrupted
from lsiq_core.training.metrics import read
from lsiq_core.training.trainer import Trainer
from lsiq_ros.runs.tasks import built_in_demos
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


def trainer_in(run, config=CONFIG):
    run.mkdir(exist_ok=True)
    return Trainer(config, PointMass, built_in_demos('point_mass', 4), run, log=lambda _: None)


def go_on(trainer):
    while not trainer.finished:
        trainer.iterate()
    trainer.close()
    return [
        {name: value for name, value in line.items() if not name.startswith('time/')}
        for line in read(trainer.run)
    ]


@pytest.mark.parametrize('stopped_at', [20, 60], ids=['first', 'last'])
def test_an_interrupted_evaluation_is_made_later_and_changes_nothing(tmp_path, stopped_at):
    torch.set_num_threads(1)
    undisturbed = go_on(trainer_in(tmp_path / 'undisturbed'))

    before, asked = stopped_at // 20 - 1, []
    stopped = trainer_in(tmp_path / 'stopped')
    stopped.interrupted = lambda: (
        stopped.steps == stopped_at and (asked.append(1) or len(asked) > 3)
    )
    with pytest.raises(Interrupted):
        go_on(stopped)
    assert (stopped.steps, stopped.evaluations, stopped.finished) == (stopped_at, before, False)
    stopped.save()
    stopped.close()
    resumed = trainer_in(tmp_path / 'stopped')
    resumed.restore()
    assert not resumed.finished
    resumed.iterate()
    assert (resumed.steps, resumed.evaluations) == (stopped_at, 1)
    assert go_on(resumed) == undisturbed
    again = trainer_in(tmp_path / 'stopped')
    again.restore()
    assert again.finished


def test_a_run_that_reached_its_bar_is_over_for_good(tmp_path):
    reached = {**to_dict(CONFIG), 'report': {**to_dict(CONFIG)['report'], 'stop_at': -100.0}}
    config = from_dict(reached)
    go_on(trainer_in(tmp_path / 'run', config))
    restored = trainer_in(tmp_path / 'run', config)
    restored.restore()
    assert (restored.steps, restored.finished) == (40, True)


def test_a_disk_that_fills_leaves_the_last_checkpoint_and_no_litter(tmp_path):
    """Beyond a limit of the file size the system refuses to write, as a full disk does."""
    path = tmp_path / 'last.safetensors'
    checkpoint.save(path, {'x': torch.ones(10)}, {'steps': 1})
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, limits[1]))
    try:
        with pytest.raises(LsiqError, match=r'last\.safetensors: cannot be written .* left as it'):
            checkpoint.save(path, {'x': torch.ones(100_000)}, {'steps': 2})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert checkpoint.load(path).header == {'steps': 1}
    assert [item.name for item in tmp_path.iterdir()] == [path.name]
