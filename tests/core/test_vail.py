# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""VAIL's bottleneck against numbers worked out by hand."""

import math

from loss_examples import agent, BATCHES, POLICY
from lsiq_core.learning.algorithms import vail
from lsiq_core.learning.networks import Mlp
import pytest
import torch

# z has mean s + 2 a - 0.5 and log deviation 0.5; the logit is 3 z + 1.
FLAT = torch.tensor([1.0, 2.0, 0.0, 0.0, -0.5, 0.5, 3.0, 1.0])
MEANS = (1.5, -2.5, 2.5, 1.5)  # expert, expert, policy, policy
KL = [0.5 * (m**2 + math.e - 1) - 0.5 for m in MEANS]


def bottleneck(information=0.25, rate=0.01):
    return vail.Bottleneck(Mlp((2, 2)), Mlp((1, 1)), True, information, rate, 0.1)


def loss_of(weight, noise=0.0, **changes):
    return vail.discriminator_loss(
        FLAT,
        agent(bottleneck(**changes), {'bottleneck_weight': torch.tensor(weight)}),
        BATCHES,
        torch.full((4, 1), noise),
    )


def test_divergence_from_the_standard_normal():
    mean, log_std = torch.tensor([[0.0, 1.0]]), torch.tensor([[0.0, math.log(2.0)]])
    wanted = 0.5 * (1 + 4 - 1) - math.log(2.0)
    assert vail.divergence(mean, log_std).tolist() == pytest.approx([wanted])


def test_loss_is_cross_entropy_of_sampled_codes_plus_weighted_excess():
    noise = 0.3
    logits = [3 * (m + math.exp(0.5) * noise) + 1 for m in MEANS]
    entropy = sum(math.log1p(math.exp(-x)) for x in logits[:2]) / 2
    entropy += sum(math.log1p(math.exp(x)) for x in logits[2:]) / 2
    loss, metrics = loss_of(0.1, noise)
    assert float(loss) == pytest.approx(entropy + 0.1 * (sum(KL) / 4 - 0.25), rel=1e-5)
    assert float(metrics['discriminator/information']) == pytest.approx(sum(KL) / 4, rel=1e-5)


def test_multiplier_climbs_with_the_excess_and_stays_positive():
    _, metrics = loss_of(0.1)
    wanted = 0.1 + 0.01 * (sum(KL) / 4 - 0.25)
    assert float(metrics['discriminator/bottleneck_weight']) == pytest.approx(wanted, rel=1e-5)
    _, metrics = loss_of(0.1, information=1000.0)
    assert float(metrics['discriminator/bottleneck_weight']) == 0.0


def test_reward_is_taken_at_the_mean_code():
    reward = bottleneck().reward(FLAT, POLICY)
    wanted = [math.log1p(math.exp(3 * m + 1)) for m in MEANS[2:]]
    assert reward.tolist() == pytest.approx(wanted, rel=1e-4)
