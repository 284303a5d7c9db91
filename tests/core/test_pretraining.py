# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Before the first step: cloning, and what one run takes over from another."""

from lsiq_core.config import from_dict, merge
from lsiq_core.data.batch import unpack
from lsiq_core.data.dataset import expert_data, state_statistics
from lsiq_core.errors import CheckpointError
from lsiq_core.job import complete
from lsiq_core.learning.algorithms import bc
from lsiq_core.learning.learner import Learner
from lsiq_core.learning.pretraining import Cloning, FILE
from lsiq_core.training.trainer import Trainer
from lsiq_ros.runs.tasks import built_in_demos
import pytest
from sim.point_mass import PointMass
import torch

SETTINGS = {
    'task': 'point_mass',
    'observations_only': True,
    'compile': 'never',
    'networks': {'hidden': [16]},
    'idm': {'hidden': [16], 'online': False},
    'pretraining': {
        'babble': {'transitions': 40, 'updates': 3, 'to_replay': 10},
        'refine': True,
    },
    'bc': {'pretrain_updates': 20},
    'optimisation': {'expert_batch': 8, 'policy_batch': 8},
    'collection': {'steps': 40, 'critic_start': 0, 'actor_start': 0},
    'report': {'evaluate_every': 1000, 'evaluation_episodes': 1},
}


@pytest.fixture(scope='module')
def demos():
    return built_in_demos('point_mass', 4)


def test_a_distance_counts_squared_and_beyond_the_delta_linearly():
    mode, action = torch.tensor([[0.1, 0.5]]), torch.zeros((1, 2))
    # In units of 0.5 the differences are 0.2 and 1.
    assert float(bc.distance(mode, action, 0.5, None)) == pytest.approx(0.04 + 1.0)
    # 2 * 0.4 * (1 - 0.2) continues the square at 0.4 with its slope.
    assert float(bc.distance(mode, action, 0.5, 0.4)) == pytest.approx(0.04 + 0.64)


def test_cloning_gives_a_policy_that_does_what_the_expert_did(demos):
    config = from_dict(
        {
            'task': 'point_mass',
            'networks': {'hidden': [32]},
            'bc': {'pretrain_updates': 600, 'pretrain_rate': 1e-2},
            'optimisation': {'policy_ema': 0.01},
        }
    )
    learner, generator = Learner(config, 4, 2), torch.Generator().manual_seed(0)
    state = learner.init(generator, {**state_statistics(demos), 'actor_mask': torch.ones(4)})
    expert = expert_data(demos, PointMass())
    shown = unpack(expert.rows, 4, 2)

    def error(state):
        return float((learner.act(state, shown.obs) - shown.action).square().mean())

    cloned = dict(state)
    complete(Cloning(learner, cloned).run(cloned, expert, generator))
    assert error(cloned) < 0.05 * error(state)
    assert torch.equal(cloned['actor'], cloned['actor_ema'])
    # The run that follows begins as any other: Adam at rest, no update counted.
    assert float(cloned['updates']) == 0.0 and not cloned['actor.mean'].any()


def pretrained_run(path, demos, **changes):
    path.mkdir()
    config = from_dict(merge(SETTINGS, changes))
    trainer = Trainer(config, PointMass, demos, path, log=lambda _: None)
    while trainer.steps == 0:
        trainer.iterate()
    trainer.close()
    return trainer


def test_babble_starts_the_replay_of_a_run_that_knows_the_actions(tmp_path, demos):
    known = pretrained_run(tmp_path / 'known', demos, observations_only=False)
    assert 'idm' not in known.state
    assert len(known._replay) == 10 + known.steps
    untried = {'babble': {'to_replay': 0}}
    plain = pretrained_run(tmp_path / 'plain', demos, observations_only=False, pretraining=untried)
    assert len(plain._replay) == plain.steps


def test_another_run_takes_the_pretraining_over(tmp_path, demos):
    first = pretrained_run(tmp_path / 'first', demos)
    taken = {'from_run': str(tmp_path / 'first')}
    second = pretrained_run(tmp_path / 'second', demos, pretraining=taken)
    assert torch.equal(first.state['idm'], second.state['idm'])
    assert not (tmp_path / 'second' / FILE).exists()
    other = pretrained_run(tmp_path / 'other', demos)
    assert torch.equal(first.state['idm'], other.state['idm'])  # made anew, from the same seed


@pytest.mark.parametrize(
    ('changed', 'message'),
    [
        ('settings', 'made with pretraining'),
        ('demonstrations', 'made with demonstrations'),
        ('scaling', 'made with inputs'),
    ],
)
def test_a_pretraining_for_something_else_is_refused(tmp_path, demos, changed, message):
    pretrained_run(tmp_path / 'first', demos)
    changes = {'pretraining': {'from_run': str(tmp_path / 'first')}}
    if changed == 'settings':
        changes['pretraining']['refine'] = False
    elif changed == 'scaling':
        changes['networks'] = {'observation_clip': 3.0}
    else:
        demos = built_in_demos('point_mass', 3)
    with pytest.raises(CheckpointError, match=message):
        pretrained_run(tmp_path / 'second', demos, **changes)


def pauses(path, demos, restart_every=None):
    """Pretrain to the first step, begun anew from the checkpoint at every n-th pause."""
    path.mkdir()
    settings = merge(SETTINGS, {'pretraining': {'babble': {'transitions': 450, 'updates': 110}}})
    config = from_dict(merge(settings, {'bc': {'pretrain_updates': 120}}))
    lines, stages = [], []

    def begun():
        return Trainer(config, PointMass, demos, path, log=lines.append)

    trainer, count = begun(), 0
    while trainer.steps == 0:
        trainer.iterate()
        stages.append(trainer.progress.stage)
        count += 1
        if restart_every and count % restart_every == 0 and trainer.steps == 0:
            trainer.save()
            trainer.close()
            trainer = begun()
            trainer.restore()
    trainer.close()
    return trainer.state, lines, stages


@pytest.mark.parametrize('restart_every', [5, 7])
def test_pretraining_goes_on_from_any_pause_bit_for_bit(tmp_path, demos, restart_every):
    whole, said, stages = pauses(tmp_path / 'whole', demos)
    parted, said_again, _ = pauses(tmp_path / 'parted', demos, restart_every)
    assert all(torch.equal(whole[name], parted[name]) for name in whole)
    assert [line for line in said_again if 'found the' in line] == [
        line for line in said if 'found the' in line
    ]
    assert list(dict.fromkeys(stages)) == [
        'babbling',
        'fitting the inverse dynamics',
        *(f'solving for actions, pass {number} of 5' for number in range(1, 6)),
        'cloning the expert',
        'training',
    ]
