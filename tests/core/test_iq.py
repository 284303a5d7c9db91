# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""IQ and IQv0 against numbers worked out by hand."""

from loss_examples import (
    agent,
    BATCHES,
    BONUS,
    CRITIC,
    FOLLOWING,
    NOISE,
)
from lsiq_core.learning.algorithms import iq, iqv0
import pytest

# r_Q = Q - y; into an absorbing state y = 0 (Eq. iqlearn_operator).
EXPERT_REWARD = (2.5 - FOLLOWING, -1.5)
POLICY_REWARD = (3.5 - FOLLOWING, 2.5)
PENALTY = 0.5 * sum(r**2 for r in (*EXPERT_REWARD, *POLICY_REWARD)) / 4  # c times the mixture


def arguments(**changes):
    return agent(**changes), BATCHES, NOISE


def test_iq_value_form_over_all_states():
    # V(s) = s + 0.5 + bonus on expert (1, 0) and policy (1, 2) states.
    values = [1.5 + BONUS, 0.5 + BONUS, 1.5 + BONUS, 2.5 + BONUS]
    following = [FOLLOWING, 0.0, FOLLOWING, 0.0]
    term = sum(v - y for v, y in zip(values, following)) / 4
    loss, metrics = iq.critic_loss(CRITIC, *arguments())
    assert float(loss) == pytest.approx(term - sum(EXPERT_REWARD) / 2 + PENALTY, rel=1e-6)
    assert float(metrics['critic/reward_expert']) == pytest.approx(sum(EXPERT_REWARD) / 2)
    assert float(metrics['critic/q_absorbing']) == pytest.approx(2.5)
    assert float(metrics['critic/q_other']) == pytest.approx(3.5)


def test_iqv0_telescopes_to_the_value_of_expert_states():
    term = (1 - 0.5) * ((1.5 + BONUS) + (0.5 + BONUS)) / 2
    loss, _ = iqv0.critic_loss(CRITIC, *arguments())
    assert float(loss) == pytest.approx(term - sum(EXPERT_REWARD) / 2 + PENALTY, rel=1e-6)


def test_alpha_weighs_the_regulariser():
    squares = [sum(r**2 for r in rewards) / 2 for rewards in (EXPERT_REWARD, POLICY_REWARD)]
    even, _ = iqv0.critic_loss(CRITIC, *arguments())
    uneven, _ = iqv0.critic_loss(CRITIC, *arguments(alpha=0.25))
    change = 0.5 * (0.25 * squares[0] + 0.75 * squares[1]) - PENALTY
    assert float(uneven - even) == pytest.approx(change, rel=1e-5)


@pytest.mark.parametrize('loss', [iq.critic_loss, iqv0.critic_loss])
def test_switches_of_lsiq_leave_iq_as_it_is(loss):
    plain, _ = loss(CRITIC, *arguments())
    other, _ = loss(CRITIC, *arguments(inverse_operator='iq', clip_targets=False))
    assert float(plain) == float(other)
