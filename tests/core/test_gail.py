# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""GAIL's discriminator, reward and critic against numbers worked out by hand."""

import math

from loss_examples import agent, BATCHES, CRITIC, EXPERT, FOLLOWING, NOISE
from lsiq_core.learning.algorithms import gail
from lsiq_core.learning.networks import Mlp
import pytest
import torch


def discriminator(on_actions=True, penalty=0.0):
    return gail.Discriminator(Mlp((2, 1)), on_actions, penalty)


FLAT = torch.tensor([1.0, 2.0, -0.5])  # logit = s + 2 a - 0.5, or s + 2 s' - 0.5


def discriminator_loss(judge):
    return gail.discriminator_loss(FLAT, agent(judge), BATCHES, NOISE.discriminator)


def softplus(x):
    return math.log1p(math.exp(x))


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


@pytest.mark.parametrize(
    ('on_actions', 'expert', 'policy'),
    [(True, (1.5, -2.5), (2.5, 1.5)), (False, (1.0, 0.0), (1.0, 19.5))],
)
def test_cross_entropy_of_state_actions_and_of_transitions(on_actions, expert, policy):
    loss, metrics = discriminator_loss(discriminator(on_actions))
    wanted = sum(softplus(-x) for x in expert) / 2 + sum(softplus(x) for x in policy) / 2
    assert float(loss) == pytest.approx(wanted, rel=1e-6)
    assert float(metrics['discriminator/right_on_policy']) == 0.0
    assert float(metrics['discriminator/right_on_expert']) == 0.5


def test_gradient_penalty_is_the_slope_s_distance_from_one():
    # A linear discriminator has the slope sqrt(1 + 4) everywhere.
    with_penalty, _ = discriminator_loss(discriminator(penalty=10.0))
    without, _ = discriminator_loss(discriminator())
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
    judging = agent(discriminator(), {'discriminator': FLAT})
    loss, metrics = gail.critic_loss(CRITIC, judging, BATCHES, NOISE)
    assert float(loss) == pytest.approx(wanted, rel=1e-5)
    assert float(metrics['critic/q_expert']) == pytest.approx(0.5)


def test_from_observations_no_expert_action_is_touched():
    judging = agent(discriminator(on_actions=False), {'discriminator': FLAT})
    poisoned = EXPERT._replace(action=torch.full_like(EXPERT.action, math.nan))
    batches = BATCHES._replace(expert=poisoned)
    judged, _ = gail.discriminator_loss(FLAT, judging, batches, NOISE.discriminator)
    learned, metrics = gail.critic_loss(CRITIC, judging, batches, NOISE)
    assert torch.isfinite(judged) and torch.isfinite(learned)
    assert torch.isfinite(metrics['critic/q_expert'])
