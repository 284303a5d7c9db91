# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""The whole update: switches, gradients, and eager against compiled."""

from loss_examples import ACTION, finite_difference, inputs, OBS
from lsiq_core.config import from_dict
from lsiq_core.data.batch import Batches
from lsiq_core.learning.algorithms import lsiq
from lsiq_core.learning.compilation import functional_gradient, has_compiler, update_function
from lsiq_core.learning.learner import eager_gradient, Learner
from lsiq_core.learning.update import Agent
import pytest
import torch
from torch import Tensor
from torch.utils._pytree import tree_map


def learner(**settings):
    small = {'networks': {'hidden': [16, 16]}, 'idm': {'hidden': [16]}}
    small['optimisation'] = {'expert_batch': 12, 'policy_batch': 10}
    return Learner(from_dict({'task': 'none', **small, **settings}), OBS, ACTION)


VARIANTS = [
    {'algorithm': {'name': 'lsiq'}},
    {'algorithm': {'name': 'lsiq_h'}},
    {'algorithm': {'name': 'lsiq_hc'}},
    {'algorithm': {'name': 'lsiq', 'policy_term': 'fresh', 'fixed_expert_target': False}},
    {'algorithm': {'name': 'lsiq', 'tune_beta': True}},
    {'observations_only': True, 'networks': {'hidden': [8], 'critic': {'layer_norm': True}}},
    {'observations_only': True, 'idm': {'hidden': [8], 'inputs': 'multiscale'}},
    {'networks': {'hidden': [8], 'critic': {'kind': 'residual', 'width': 6}}},
    {'observations_only': True, 'idm': {'kind': 'residual', 'width': 6}},
    {'observations_only': True, 'idm': {'hidden': [8], 'ema': 0.1}},
]


@pytest.mark.parametrize('settings', VARIANTS)
def test_update_moves_what_it_should_and_leaves_its_input_alone(settings):
    of = learner(**settings)
    before = of.init(torch.Generator().manual_seed(1))
    kept = {name: tensor.clone() for name, tensor in before.items()}
    after, metrics = of.update(before, *inputs(of))
    assert all(torch.equal(before[name], kept[name]) for name in kept)
    assert set(after) == set(before)
    moving = {'actor', 'critic', 'critic_target', 'updates'} | (
        {'idm', 'entropy_critic'} & set(before)
    )
    assert all(not torch.equal(after[name], before[name]) for name in moving)
    assert all(torch.isfinite(tensor).all() for tensor in after.values())
    assert all(tensor.shape == () for tensor in metrics.values())


def test_rate_zero_leaves_the_actor_where_it_is():
    of = learner()
    state = of.init(torch.Generator().manual_seed(1))
    rows, noise, rates = inputs(of)
    after, _ = of.update(state, rows, noise, rates._replace(actor=torch.tensor(0.0)))
    assert torch.equal(after['actor'], state['actor'])


def test_predicted_actions_replace_the_experts():
    """From observations, what stands in the expert's action columns must not matter."""
    of = learner(observations_only=True)
    state = of.init(torch.Generator().manual_seed(1))
    rows, *rest = inputs(of)
    other = rows.expert.clone()
    other[:, OBS : OBS + ACTION] = 0.123
    first, _ = of.update(state, rows, *rest)
    second, _ = of.update(state, rows._replace(expert=other), *rest)
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_the_expert_gets_the_actions_of_the_averaged_model():
    of = learner(observations_only=True, idm={'hidden': [8], 'ema': 0.25})
    state = of.init(torch.Generator().manual_seed(1))
    rows, *rest = inputs(of)
    after, _ = of.update(state, rows, *rest)
    expected = 0.75 * state['idm_ema'] + 0.25 * after['idm']
    assert torch.allclose(after['idm_ema'], expected, atol=1e-7)
    shown = of.expert_batch(after, rows.expert).action
    other = after | {'idm': torch.zeros_like(after['idm'])}
    assert torch.equal(of.expert_batch(other, rows.expert).action, shown)
    other = after | {'idm_ema': torch.zeros_like(after['idm'])}
    assert not torch.equal(of.expert_batch(other, rows.expert).action, shown)


@pytest.mark.parametrize(
    ('settings', 'rate'),
    [
        ({'policy_ema': 0.01}, 0.01),
        ({'policy_window': 0.25}, 1 / 26),  # after 100 updates
        ({'policy_window': 0.25, 'policy_ema': 0.125}, 0.125),
    ],
)
def test_the_average_of_the_policy_reaches_back_as_far_as_it_is_told(settings, rate):
    sizes = {'expert_batch': 12, 'policy_batch': 10}
    of = learner(optimisation={**sizes, **settings})
    assert of.evaluated_actor == 'actor_ema'
    state = of.init(torch.Generator().manual_seed(1))
    state['updates'] = torch.tensor(100.0)
    before = state['actor_ema'] + 1.0
    after, _ = of.update({**state, 'actor_ema': before}, *inputs(of))
    wanted = (1 - rate) * before + rate * after['actor']
    assert torch.allclose(after['actor_ema'], wanted, atol=1e-6)


def test_the_inverse_dynamics_learn_from_rows_of_their_own_where_there_are_some():
    of = learner(observations_only=True)
    state = of.init(torch.Generator().manual_seed(1))
    rows, *rest = inputs(of)
    known = torch.cat((rows.policy, rows.policy.flip(0)))  # more of them than of the others
    first, _ = of.update(state, rows, *rest)
    same, _ = of.update(state, rows._replace(known=rows.policy), *rest)
    wider, _ = of.update(state, rows._replace(known=known + 0.1), *rest)
    assert torch.equal(first['idm'], same['idm'])
    assert not torch.equal(first['idm'], wider['idm'])


def test_critic_gradient_agrees_with_finite_differences():
    of = learner(networks={'hidden': [6], 'normalise': 'none'})
    state = {name: t.double() for name, t in of.init(torch.Generator().manual_seed(5)).items()}
    rows, noise, _ = inputs(of)
    batches = Batches(*(of.batch(state, each.double()) for each in rows[:2]))
    agent = Agent(of.config.algorithm, of.networks, state)
    fixed = (agent, batches, tree_map(Tensor.double, noise))
    gradient, _ = eager_gradient(lsiq.critic_loss, state['critic'], *fixed)
    for index in range(0, len(gradient), 7):
        slope = finite_difference(
            lambda flat: lsiq.critic_loss(flat, *fixed), state['critic'], index
        )
        assert slope == pytest.approx(float(gradient[index]), rel=1e-4, abs=1e-3)


@pytest.mark.parametrize('settings', VARIANTS)
def test_functional_gradients_give_the_same_update(settings):
    of = learner(**settings)
    eager = functional = of.init(torch.Generator().manual_seed(2))
    for seed in range(3):
        eager, _ = of.update(eager, *inputs(of, seed))
        functional, _ = of.update(functional, *inputs(of, seed), gradient=functional_gradient)
    for name in eager:
        assert torch.allclose(eager[name], functional[name], rtol=1e-4, atol=1e-6), name


@pytest.mark.skipif(not has_compiler(), reason='no C++ compiler on this machine')
def test_compiled_update_gives_the_same_numbers():
    of = learner(observations_only=True, compile='always')
    update, kind = update_function(of)
    assert kind == 'compiled'
    eager = compiled = of.init(torch.Generator().manual_seed(2))
    for seed in range(10):
        eager, expected = of.update(eager, *inputs(of, seed))
        compiled, metrics = update(compiled, *inputs(of, seed))
    for name in eager:
        assert torch.allclose(eager[name], compiled[name], rtol=1e-3, atol=1e-5), name
    for name, value in expected.items():
        assert float(metrics[name]) == pytest.approx(float(value), rel=1e-3, abs=1e-4), name


def test_without_a_compiler_the_update_is_eager_and_says_so(monkeypatch):
    monkeypatch.setattr('lsiq_core.learning.compilation.has_compiler', lambda: False)
    _, kind = update_function(learner())
    assert kind == 'eager (no C++ compiler found)'


def test_beta_moves_towards_the_wanted_entropy():
    of = learner(algorithm={'tune_beta': True, 'beta': 0.1})
    state = of.init(torch.Generator().manual_seed(1))
    after, metrics = of.update(state, *inputs(of))
    surplus = float(metrics['actor/entropy']) + ACTION
    assert (float(after['log_beta']) < float(state['log_beta'])) == (surplus > 0)


def test_privileged_terms_reach_the_inverse_dynamics_alone():
    of = learner(observations_only=True, networks={'hidden': [8], 'privileged_terms': ['force']})
    hidden = torch.tensor([1.0, 1.0, 1.0, 1.0, 0.0])
    state = of.init(torch.Generator().manual_seed(1), {'actor_mask': hidden})
    rows, *rest = inputs(of)
    other = rows.policy.clone()
    other[:, OBS - 1] += 1.0  # the hidden term of s
    first, _ = of.update(state, rows, *rest)
    second, _ = of.update(state, rows._replace(policy=other), *rest)
    assert not torch.equal(first['idm'], second['idm'])
    obs = torch.randn(4, OBS)
    changed = obs + torch.tensor([0.0, 0.0, 0.0, 0.0, 3.0])
    assert torch.equal(of.act(state, obs), of.act(state, changed))
