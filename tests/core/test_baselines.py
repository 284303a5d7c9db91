# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Every baseline in the learner: gradients, switches, both ways to run."""

from functools import partial

from loss_examples import ACTION, finite_difference, inputs, learner, OBS
from lsiq_core.data.batch import Batches
from lsiq_core.learning.algorithms import ALGORITHMS, bc, gail, iq, iqv0, sqil, vail
from lsiq_core.learning.compilation import functional_gradient, has_compiler, update_function
from lsiq_core.learning.learner import eager_gradient
from lsiq_core.learning.update import Agent
import pytest
import torch
from torch import Tensor
from torch.utils._pytree import tree_map

BASELINES = ('iq', 'iqv0', 'sqil', 'gail', 'vail', 'bc')
WAYS = [{}, {'observations_only': True}, {'observations_only': True, 'unseen_actions': 'policy'}]


def doubled(name):
    """Return a learner, its state and two batches in double precision."""
    of = learner(name)
    state = {key: t.double() for key, t in of.init(torch.Generator().manual_seed(5)).items()}
    rows, noise, _ = inputs(of)
    batches = Batches(*(of.batch(state, each.double()) for each in rows[:2]))
    agent = Agent(of.config.algorithm, of.networks, state)
    return agent, batches, tree_map(Tensor.double, noise)


@pytest.mark.parametrize(
    ('name', 'loss'),
    [('iq', iq), ('iqv0', iqv0), ('sqil', sqil), ('gail', gail)],
)
def test_critic_gradients_agree_with_finite_differences(name, loss):
    fixed = doubled(name)
    state = fixed[0].state
    gradient, _ = eager_gradient(loss.critic_loss, state['critic'], *fixed)
    for index in range(0, len(gradient), 5):
        slope = finite_difference(
            lambda flat: loss.critic_loss(flat, *fixed), state['critic'], index
        )
        assert slope == pytest.approx(float(gradient[index]), rel=1e-4, abs=1e-3)


@pytest.mark.parametrize(('name', 'loss'), [('gail', gail), ('vail', vail)])
def test_discriminator_gradients_agree_with_finite_differences(name, loss):
    agent, batches, noise = doubled(name)
    state = agent.state
    judged = partial(
        loss.discriminator_loss, agent=agent, batches=batches, noise=noise.discriminator
    )
    gradient, _ = eager_gradient(judged, state['discriminator'])
    for index in range(0, len(gradient), 5):
        slope = finite_difference(judged, state['discriminator'], index)
        assert slope == pytest.approx(float(gradient[index]), rel=1e-4, abs=1e-6)


def test_cloning_gradient_agrees_with_finite_differences():
    (_, networks, state), (expert, _), _ = doubled('bc')
    gradient, _ = eager_gradient(bc.actor_loss, state['actor'], networks, expert)
    for index in range(0, len(gradient), 5):
        slope = finite_difference(
            lambda flat: bc.actor_loss(flat, networks, expert), state['actor'], index
        )
        assert slope == pytest.approx(float(gradient[index]), rel=1e-4, abs=1e-7)


@pytest.mark.parametrize('way', WAYS)
@pytest.mark.parametrize('name', BASELINES)
def test_update_is_the_same_eagerly_and_functionally(name, way):
    of = learner(name, **way)
    first = eager = functional = of.init(torch.Generator().manual_seed(2))
    for seed in range(2):
        eager, metrics = of.update(eager, *inputs(of, seed))
        functional, _ = of.update(functional, *inputs(of, seed), gradient=functional_gradient)
    assert set(eager) == set(first)
    assert all(torch.isfinite(tensor).all() for tensor in eager.values())
    assert all(tensor.shape == () for tensor in metrics.values())
    trained = {'actor', 'critic', 'critic_target', 'discriminator', 'idm'} & set(first)
    assert all(not torch.equal(eager[key], first[key]) for key in trained)
    for key in eager:
        assert torch.allclose(eager[key], functional[key], rtol=1e-4, atol=1e-6), key


@pytest.mark.parametrize('way', WAYS[1:])
@pytest.mark.parametrize('name', BASELINES)
def test_from_observations_the_experts_actions_do_not_matter(name, way):
    of = learner(name, **way)
    state = of.init(torch.Generator().manual_seed(1))
    rows, *rest = inputs(of)
    other = rows.expert.clone()
    other[:, OBS : OBS + ACTION] = 0.123
    first, _ = of.update(state, rows, *rest)
    second, _ = of.update(state, rows._replace(expert=other), *rest)
    assert all(torch.equal(first[key], second[key]) for key in first)


def test_only_who_needs_the_model_has_it():
    has = {name: learner(name, observations_only=True).has_idm for name in ALGORITHMS}
    assert [name for name, model in has.items() if not model] == ['gail', 'vail']
    assert not learner('iq', observations_only=True, unseen_actions='policy').has_idm
    assert not learner('iq').has_idm
    assert 'critic' not in learner('bc').init(torch.Generator().manual_seed(1))


@pytest.mark.slow
@pytest.mark.skipif(not has_compiler(), reason='no C++ compiler on this machine')
@pytest.mark.parametrize('name', BASELINES)
def test_compiled_update_gives_the_same_numbers(name):
    of = learner(name, compile='always')
    update, kind = update_function(of)
    assert kind == 'compiled'
    eager = compiled = of.init(torch.Generator().manual_seed(2))
    for seed in range(5):
        eager, _ = of.update(eager, *inputs(of, seed))
        compiled, _ = update(compiled, *inputs(of, seed))
    for key in eager:
        assert torch.allclose(eager[key], compiled[key], rtol=1e-3, atol=1e-5), key
