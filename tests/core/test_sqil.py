# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""SQIL against numbers worked out by hand."""

from loss_examples import (
    agent,
    batch,
    BATCHES,
    BONUS,
    CRITIC,
    FOLLOWING,
    NOISE,
    zero_noise,
)
from lsiq_core.learning.algorithms import sqil
import pytest


def test_rewards_are_one_and_zero_and_absorbing_states_worth_nothing():
    expert = ((2.5 - 1 - FOLLOWING) ** 2 + (-1.5 - 1) ** 2) / 2
    policy = ((3.5 - FOLLOWING) ** 2 + 2.5**2) / 2
    loss, metrics = sqil.critic_loss(CRITIC, agent(), BATCHES, NOISE)
    assert float(loss) == pytest.approx(0.5 * expert + 0.5 * policy, rel=1e-6)
    assert float(metrics['critic/q_expert']) == pytest.approx(0.5)
    assert float(metrics['critic/q_absorbing']) == pytest.approx(2.5)


def test_targets_are_not_clipped():
    far = batch((2.0, 0.0, 1000.0, 0.0))  # V = 1000.5 + bonus, far above Q_max
    batches = BATCHES._replace(policy=far)
    loss, _ = sqil.critic_loss(CRITIC, agent(), batches, zero_noise(batches))
    expert = ((2.5 - 1 - FOLLOWING) ** 2 + (-1.5 - 1) ** 2) / 2
    policy = (2.5 - 0.5 * (1000.5 + BONUS)) ** 2
    assert float(loss) == pytest.approx(0.5 * expert + 0.5 * policy, rel=1e-6)
