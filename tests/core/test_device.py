# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
The learner on another device than the CPU.

No test here needs CUDA, and none was run on it. Updates run on torch's device ``meta``, whose
tensors have no numbers; whole runs on tensors that pretend (pretended_device.py).
"""

from loss_examples import inputs, learner
from lsiq_core import checkpoint
from lsiq_core.config import from_dict, merge
from lsiq_core.errors import ConfigError
from lsiq_core.learning.algorithms import ALGORITHMS
from lsiq_core.learning.compilation import functional_gradient, update_function
from lsiq_core.learning.device import learner_device
from lsiq_core.learning.learner import eager_gradient
from lsiq_core.policy.policies import load_policy
from lsiq_core.training.metrics import read
from lsiq_core.training.trainer import Trainer
from lsiq_ros.runs.tasks import built_in_demos
from pretended_device import PretendedDevice
import pytest
from sim.point_mass import PointMass
from small_run import SMALL
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

STATES = {'observations_only': True}
WAYS = {'actions': {}, 'states': STATES, 'own': {**STATES, 'unseen_actions': 'policy'}}
EVERY = [(name, way) for name in ALGORITHMS for way in WAYS.values()]
VARIANTS = [
    ('lsiq', {'algorithm': {'policy_term': 'fresh', 'fixed_expert_target': False}}),
    ('lsiq', {'algorithm': {'tune_beta': True}, 'bc': {'weight': 1.0, 'huber_delta': 0.1}}),
    ('lsiq', {'networks': {'critic': {'kind': 'residual', 'width': 6}}}),
    ('lsiq', {'networks': {'critic': {'layer_norm': True}, 'normalise': 'expert'}}),
    ('lsiq', {**STATES, 'networks': {'privileged_terms': ['force']}}),
    ('lsiq', {**STATES, 'idm': {'kind': 'residual', 'width': 6, 'inputs': 'multiscale'}}),
    ('lsiq_hc', {'optimisation': {'policy_ema': 0.01}}),
]


class OnlyThere(TorchDispatchMode):
    """Refuses every operation with a tensor elsewhere, also lone numbers, which CUDA takes."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        for each in tree_leaves((args, kwargs, result)):
            assert not isinstance(each, Tensor) or each.is_meta, f'{func}: {each.device}'
        return result


@pytest.mark.parametrize('gradient', [eager_gradient, functional_gradient])
@pytest.mark.parametrize(('name', 'settings'), EVERY + VARIANTS)
def test_an_update_stays_on_the_device_of_its_state(name, settings, gradient):
    of = learner(name, **settings)
    rows, *rest = inputs(of)
    rows = rows._replace(known=rows.policy[:4])
    given = of.init(torch.Generator().manual_seed(1)), rows, *rest
    given = tree_map(lambda each: each.to('meta'), given)
    with OnlyThere():
        state, metrics = of.update(*given, gradient=gradient)
    assert set(state) == set(given[0])
    assert all(each.is_meta for each in (*state.values(), *metrics.values()))


def test_what_a_loss_makes_on_the_cpu_is_found(monkeypatch):
    """The test above is worth something only if it fails."""
    made = torch.full
    monkeypatch.setattr(torch, 'full', lambda *given, **_: made(*given))
    with pytest.raises(AssertionError, match='cpu'):
        test_an_update_stays_on_the_device_of_its_state('lsiq_hc', {}, eager_gradient)
    monkeypatch.undo()
    monkeypatch.setattr('lsiq_core.learning.update.Agent.beta', lambda _: torch.tensor(0.1))
    with pytest.raises(AssertionError, match='cpu'):
        test_an_update_stays_on_the_device_of_its_state('lsiq', {}, eager_gradient)


@pytest.mark.parametrize(
    ('wanted', 'found', 'device'),
    [
        ('auto', False, 'cpu'),
        ('auto', True, 'cuda'),
        ('cpu', True, 'cpu'),
        ('cuda', True, 'cuda'),
    ],
)
def test_the_settings_choose_the_device(monkeypatch, wanted, found, device):
    monkeypatch.setattr(torch.cuda, 'is_available', lambda: found)
    assert learner_device(from_dict({'task': 'none', 'device': wanted})).type == device


def test_a_device_that_is_not_there_is_refused(monkeypatch):
    monkeypatch.setattr(torch.cuda, 'is_available', lambda: False)
    with pytest.raises(ConfigError, match=r'device: cuda, but torch .*; expected a CUDA device'):
        learner_device(from_dict({'task': 'none', 'device': 'cuda'}))
    with pytest.raises(ConfigError, match='device'):
        from_dict({'task': 'none', 'device': 'gpu'})


def test_without_triton_the_update_on_cuda_is_eager_and_says_so(monkeypatch):
    monkeypatch.setattr('lsiq_core.learning.compilation.has_compiler', lambda: True)
    monkeypatch.setattr('lsiq_core.learning.compilation.find_spec', lambda _: None)
    assert update_function(learner('lsiq'), 'cuda')[1] == 'eager (no Triton found)'
    with pytest.raises(ConfigError, match='Triton'):
        update_function(learner('lsiq', compile='always'), 'cuda')


SHORT = merge(
    SMALL,
    {
        'pretraining': {'babble': {'updates': 60}},
        'bc': {'pretrain_updates': 60},
        'collection': {'steps': 40, 'critic_start': 0, 'actor_start': 10},
        'report': {'evaluate_every': 20, 'evaluation_episodes': 1, 'log_every': 10},
    },
)
REFINED = {'idm': {'online': False}, 'pretraining': {'refine': True}}


def whole_run(path, demos, changes, device, stop_every=None):
    """Train to the end, begun anew from the checkpoint at every n-th iteration."""
    path.mkdir()
    config = from_dict(merge(SHORT, changes))

    def begun():
        return Trainer(config, PointMass, demos, path, log=lambda _: None)

    trainer, count = begun(), 0
    while not trainer.finished:
        trainer.iterate()
        count += 1
        if stop_every and count % stop_every == 0:
            trainer.save()
            trainer.close()
            trainer = begun()
            trainer.restore()
    assert trainer.device.type == device
    assert all(tensor.device.type == device for tensor in trainer.state.values())
    assert trainer._replay.sample(2, torch.Generator()).device.type == device
    trainer.close()
    lines = [{k: v for k, v in each.items() if not k.startswith('time/')} for each in read(path)]
    tensors, header = checkpoint.load(path / 'last.safetensors')
    return tensors, lines, header['best']


@pytest.mark.parametrize(
    'changes',
    [{}, REFINED, {'observations_only': False}, {'algorithm': {'name': 'vail'}}],
    ids=['states', 'refined', 'actions', 'vail'],
)
def test_a_run_elsewhere_gives_the_same_numbers(tmp_path, monkeypatch, changes):
    """Babble, fit, refinement, cloning, training, evaluation, checkpoints and resuming."""
    torch.set_num_threads(1)
    demos = built_in_demos('point_mass', 4)
    expected = whole_run(tmp_path / 'here', demos, changes, 'cpu')
    there = torch.device('meta')
    monkeypatch.setattr('lsiq_core.training.trainer.learner_device', lambda _: there)
    with PretendedDevice(monkeypatch):
        tensors, *rest = whole_run(tmp_path / 'there', demos, changes, 'meta', stop_every=7)
    assert rest == list(expected[1:])
    assert set(tensors) == set(expected[0])
    assert all(torch.equal(tensors[name], expected[0][name]) for name in tensors)
    # The file opens where there is no such device.
    _, state, _ = load_policy(tmp_path / 'there')
    assert all(tensor.device.type == 'cpu' for tensor in state.values())
