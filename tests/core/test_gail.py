# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""GAIL's discriminator, reward and critic against numbers worked out by hand."""

import math

from baseline_examples import algorithm, CRITIC, EXPERT, FOLLOWING, networks, NOISE, POLICY, state
from lsiq_core.learning.algorithms import gail
from lsiq_core.learning.networks import Mlp
import pytest
import torch


def discriminator(on_actions=True, penalty=0.0):
    return gail.Discriminator(Mlp((2, 1)), on_actions, penalty)


FLAT = torch.tensor([1.0, 2.0, -0.5])  # logit = s + 2 a - 0.5, or s + 2 s' - 0.5


def softplus(x):
    return math.log1p(math.exp(x))


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


@pytest.mark.parametrize(
    ('on_actions', 'expert', 'policy'),
    [(True, (1.5, -2.5), (2.5, 1.5)), (False, (1.0, 0.0), (1.0, 19.5))],
)
def test_cross_entropy_of_state_actions_and_of_transitions(on_actions, expert, policy):
    nets = networks(discriminator(on_actions))
    loss, metrics = gail.discriminator_loss(FLAT, nets, {}, EXPERT, POLICY, NOISE)
    wanted = sum(softplus(-x) for x in expert) / 2 + sum(softplus(x) for x in policy) / 2
    assert float(loss) == pytest.approx(wanted, rel=1e-6)
    assert float(metrics['discriminator/right_on_policy']) == 0.0
    assert float(metrics['discriminator/right_on_expert']) == 0.5


def test_gradient_penalty_is_the_slope_s_distance_from_one():
    # A linear discriminator has the slope sqrt(1 + 4) everywhere.
    nets = networks(discriminator(penalty=10.0))
    with_penalty, _ = gail.discriminator_loss(FLAT, nets, {}, EXPERT, POLICY, NOISE)
    without, _ = gail.discriminator_loss(
        FLAT, networks(discriminator()), {}, EXPERT, POLICY, NOISE
    )
    assert float(with_penalty - without) == pytest.approx(10 * (math.sqrt(5) - 1) ** 2, rel=1e-5)


def test_reward_is_minus_log_of_one_minus_d():
    reward = gail.reward(torch.tensor([0.0, 3.0, -3.0, 100.0]))
    wanted = [-math.log(1 - sigmoid(x)) for x in (0.0, 3.0, -3.0)]
    assert reward[:3].tolist() == pytest.approx(wanted, rel=1e-5)
    assert float(reward[3]) == pytest.approx(-math.log(1e-8), rel=1e-5)


def test_critic_learns_the_policys_return_under_the_learned_reward():
    # logits of the policy's transitions: 2.5 and, absorbing, 1.5.
    targets = (softplus(2.5) + FOLLOWING, softplus(1.5))
    wanted = ((3.5 - targets[0]) ** 2 + (2.5 - targets[1]) ** 2) / 2
    loss, metrics = gail.critic_loss(
        *(CRITIC, algorithm(), networks(discriminator()), state(discriminator=FLAT)),
        *(EXPERT, POLICY, NOISE),
    )
    assert float(loss) == pytest.approx(wanted, rel=1e-5)
    assert float(metrics['critic/q_expert']) == pytest.approx(0.5)


def test_from_observations_no_expert_action_is_touched():
    nets = networks(discriminator(on_actions=False))
    poisoned = EXPERT._replace(action=torch.full_like(EXPERT.action, math.nan))
    judged, _ = gail.discriminator_loss(FLAT, nets, {}, poisoned, POLICY, NOISE)
    learned, metrics = gail.critic_loss(
        CRITIC, algorithm(), nets, state(discriminator=FLAT), poisoned, POLICY, NOISE
    )
    assert torch.isfinite(judged) and torch.isfinite(learned)
    assert torch.isfinite(metrics['critic/q_expert'])
