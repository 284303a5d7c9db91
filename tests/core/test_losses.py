# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""The losses of LS-IQ against numbers worked out by hand, in the world of loss_examples."""

from loss_examples import (
    agent,
    batch,
    BATCHES,
    BETA,
    CRITIC,
    ENTROPY,
    EXPERT,
    POLICY,
    zero_noise,
)
from lsiq_core.config import AlgorithmConfig
from lsiq_core.data.batch import Batch, Batches
from lsiq_core.learning.algorithms import lsiq, lsiq_h, lsiq_hc
import pytest
import torch

# An entropy critic G(s, a) = 0.5, and its target.
HALF = dict.fromkeys(('entropy_critic', 'entropy_critic_target'), torch.tensor([0.0, 0.0, 0.5]))


def critic_loss(expert=EXPERT, policy=POLICY, entries=None, **changes):
    batches = Batches(expert, policy)
    loss, metrics = lsiq.critic_loss(
        CRITIC, agent(entries=entries, **changes), batches, zero_noise(batches)
    )
    return float(loss), metrics


def test_rewards_and_value_bounds_follow_from_alpha_c_and_gamma():
    config = AlgorithmConfig(alpha=0.25, c=2.0, discount=0.9)
    assert (config.r_max, config.r_min) == pytest.approx((1.0, -1 / 3))
    assert (config.q_max, config.q_min) == pytest.approx((10.0, -10 / 3))
    paper = AlgorithmConfig()
    assert (paper.r_max, paper.q_max, paper.q_min) == pytest.approx((2, 200, -200))


def test_full_objective_with_fixed_target_and_absorbing_transition():
    # expert: (2.5 - 4)^2 = 2.25, (-1.5 - 4)^2 = 30.25
    # policy: V(0.25) = 0.75 + 0.1 * entropy; target -2 + V/2; absorbing: -2 + (-4)/2 = -4
    value = 0.75 + BETA * ENTROPY
    policy = ((3.5 - (-2 + 0.5 * value)) ** 2 + (2.5 + 4) ** 2) / 2
    loss, metrics = critic_loss()
    assert loss == pytest.approx(0.5 * 16.25 + 0.5 * policy, rel=1e-6)
    assert float(metrics['critic/q_absorbing']) == pytest.approx(2.5)
    assert float(metrics['critic/q_expert']) == pytest.approx(0.5)


def test_iq_operator_values_absorbing_states_at_zero():
    value = 0.75 + BETA * ENTROPY
    policy = ((3.5 - (-2 + 0.5 * value)) ** 2 + (2.5 + 2) ** 2) / 2
    loss, _ = critic_loss(inverse_operator='iq')
    assert loss == pytest.approx(0.5 * 16.25 + 0.5 * policy, rel=1e-6)


def test_bootstrapped_expert_target():
    # expert: 2 + V(0.25)/2 for the first, 2 + 4/2 = 4 for the absorbing one.
    value = 0.75 + BETA * ENTROPY
    expert = ((2.5 - (2 + 0.5 * value)) ** 2 + (-1.5 - 4) ** 2) / 2
    policy = ((3.5 - (-2 + 0.5 * value)) ** 2 + (2.5 + 4) ** 2) / 2
    loss, _ = critic_loss(fixed_expert_target=False)
    assert loss == pytest.approx(0.5 * expert + 0.5 * policy, rel=1e-6)


@pytest.mark.parametrize(
    ('clip', 'target'), [(True, -2 + 0.5 * 4), (False, -2 + 0.5 * (9.5 + BETA * ENTROPY))]
)
def test_target_clipping_keeps_the_value_in_its_bounds(clip, target):
    policy = batch((2.0, 0.0, 9.0, 0.0))  # Q(9, 0) = 9.5 lies above Q_max = 4
    loss, _ = critic_loss(clip_targets=clip, policy=policy)
    assert loss == pytest.approx(0.5 * 16.25 + 0.5 * (2.5 - target) ** 2, rel=1e-6)


def test_alpha_weighs_expert_and_policy():
    # alpha = 1/4: r_max = 4, r_min = -4/3, q_max = 8, q_min = -8/3
    value = 0.75 + BETA * ENTROPY
    expert = ((2.5 - 8) ** 2 + (-1.5 - 8) ** 2) / 2
    policy = ((3.5 - (-4 / 3 + 0.5 * value)) ** 2 + (2.5 + 8 / 3) ** 2) / 2
    loss, _ = critic_loss(alpha=0.25)
    assert loss == pytest.approx(0.25 * expert + 0.75 * policy, rel=1e-6)


def test_fresh_policy_term_regresses_both_batches_at_a_sampled_action():
    # V(s) = Q(s, 0) + bonus on policy (1, 2) and expert (1, 0); absorbing targets are -4.
    bonus = BETA * ENTROPY
    following = -2 + 0.5 * (0.75 + bonus)
    errors = [
        (1.5 + bonus - following) ** 2,
        (2.5 + bonus + 4) ** 2,
        (1.5 + bonus - following) ** 2,
        (0.5 + bonus + 4) ** 2,
    ]
    loss, _ = critic_loss(policy_term='fresh')
    assert loss == pytest.approx(0.5 * 16.25 + 0.5 * sum(errors) / 4, rel=1e-6)


def test_hard_values_leave_the_entropy_out():
    policy = ((3.5 - (-2 + 0.5 * 0.75)) ** 2 + (2.5 + 4) ** 2) / 2
    loss, _ = critic_loss(entries=HALF)
    assert loss == pytest.approx(0.5 * 16.25 + 0.5 * policy, rel=1e-6)


def actor_loss(actor, states=1, **terms):
    """Return the actor's loss at so many states s = 1."""
    loss, metrics = lsiq.actor_loss(
        *(actor, agent(), torch.ones((states, 1)), torch.zeros((states, 1))),
        lsiq.ActorTerms(**terms),
    )
    return float(loss), metrics


def test_actor_climbs_q_and_entropy():
    # one state s = 1, action tanh(0) = 0: beta log pi - Q = -0.1 * entropy - 1.5
    loss, metrics = actor_loss(torch.zeros(4))
    assert loss == pytest.approx((-BETA * ENTROPY - 1.5) / 4, rel=1e-6)
    assert float(metrics['actor/entropy']) == pytest.approx(ENTROPY)


def test_actor_pays_for_a_large_mean():
    actor = torch.tensor([0.0, 0.0, 3.0, 0.0])  # mean 3
    free, _ = actor_loss(actor)
    paid, _ = actor_loss(actor, mean_penalty=0.01)
    assert paid - free == pytest.approx(0.01 * 9.0, rel=1e-5)


def test_actor_pays_for_leaving_the_actions_it_is_to_clone():
    # Two states, the first the expert's with action 0.5; the mode is tanh(0) = 0 everywhere.
    free, _ = actor_loss(torch.zeros(4), states=2)
    bound, _ = actor_loss(
        torch.zeros(4), states=2, expert_action=torch.tensor([[0.5]]), bc_weight=3.0
    )
    assert bound - free == pytest.approx(3.0 * 0.25, rel=1e-5)


def entropy_critic_loss(batches=BATCHES, loss=lsiq_h.entropy_critic_loss, ceiling=0.0, **changes):
    entries = {**HALF, 'entropy_ceiling': torch.tensor(ceiling)}
    found, metrics = loss(
        *(HALF['entropy_critic'], agent(entries=entries, **changes)), batches, zero_noise(batches)
    )
    return float(found), metrics


def test_entropy_critic_collects_future_entropy():
    # target: gamma (beta * entropy + 0.5), and 0 after an absorbing transition.
    going_on = (0.5 - 0.5 * (BETA * ENTROPY + 0.5)) ** 2
    loss, _ = entropy_critic_loss(entropy_clipping=False)
    assert loss == pytest.approx((2 * going_on + 2 * 0.5**2) / 4, rel=1e-5)


def test_entropy_clipping_raises_the_entropy_on_expert_states():
    # The ceiling starts at 5, the policy's maximum is ENTROPY: it sinks by 1e-4 of the gap.
    ceiling = 5.0 + 1e-4 * (ENTROPY - 5.0)
    policy = (0.5 - 0.5 * (BETA * ENTROPY + 0.5)) ** 2
    expert = (0.5 - 0.5 * (BETA * ceiling + 0.5)) ** 2
    loss, metrics = entropy_critic_loss(ceiling=5.0)
    assert float(metrics['entropy_critic/entropy_ceiling']) == pytest.approx(ceiling, rel=1e-6)
    assert loss == pytest.approx((policy + expert + 2 * 0.5**2) / 4, rel=1e-5)
    _, metrics = entropy_critic_loss()
    moved = float(metrics['entropy_critic/entropy_ceiling'])
    assert moved == pytest.approx(1e-2 * ENTROPY, rel=1e-5)


def test_combined_critic_adds_the_squared_implicit_reward():
    # r_Q = Q - gamma V(s'), V(0.25) = 0.75 hard. Policy: 3.5 - 0.375 -> clipped to 2;
    # absorbing: 2.5 + 2 -> 2. Expert: 2.5 - 0.375 -> 2; absorbing: -1.5 - 2 -> -2.
    # k = c (1 - alpha) = 1/4: k r^2 = 1 everywhere; an absorbing state earns 1/(1 - gamma) = 2.
    going_on = (0.5 - (1 + 0.5 * (BETA * ENTROPY + 0.5))) ** 2
    absorbed = (0.5 - (1 + 0.5 * 2.0)) ** 2
    assert combined_loss() == pytest.approx((2 * going_on + 2 * absorbed) / 4, rel=1e-5)


def combined_loss(**changes):
    return entropy_critic_loss(loss=lsiq_hc.combined_loss, entropy_clipping=False, **changes)[0]


def test_combined_critic_absorbs_expert_and_policy_by_their_own_rewards():
    # alpha = 1/4: r_min = -4/3, r_max = 4, k = 3/8. r_Q of the policy: 3.5 - 0.375 and
    # 2.5 + (8/3)/2; of the expert: 2.5 - 0.375 and -1.5 - 8/2, clipped to -4/3.
    squared = [3 / 8 * r**2 for r in (3.125, 2.5 + 4 / 3, 2.125, -4 / 3)]
    future = BETA * ENTROPY + 0.5
    absorbed = [3 / 8 * r**2 / 0.5 for r in (-4 / 3, 4)]
    values = (future, absorbed[0], future, absorbed[1])
    errors = [(0.5 - (now + 0.5 * later)) ** 2 for now, later in zip(squared, values)]
    assert combined_loss(alpha=0.25) == pytest.approx(sum(errors) / 4, rel=1e-5)


def test_combined_critic_of_iqs_operator_absorbs_nothing():
    # k = 1/4; r_Q: 3.5 - 0.375 -> 2, 2.5 -> 2, 2.5 - 0.375 -> 2, and -1.5 as it is.
    going_on = (0.5 - (1 + 0.5 * (BETA * ENTROPY + 0.5))) ** 2
    errors = (going_on, (0.5 - 1) ** 2, going_on, (0.5 - 2.25 / 4) ** 2)
    assert combined_loss(inverse_operator='iq') == pytest.approx(sum(errors) / 4, rel=1e-5)


def test_implicit_reward_within_its_bounds_is_left_as_it_is():
    entries = dict.fromkeys(('critic', 'critic_target'), torch.tensor([0.0, 0.0, 1.0]))
    reward = lsiq_hc.implicit_reward(
        agent(entries=entries), POLICY, torch.zeros((2, 1)), absorbing_reward=-2.0
    )
    # 1 - 1/2 for the first; 1 - (-4)/2 = 3 is clipped to 2 for the absorbing one.
    assert reward.tolist() == pytest.approx([0.5, 2.0])


def test_values_are_one_dimensional_everywhere():
    # [B] times [B, 1] would average over the batch without a word.
    first, _ = entropy_critic_loss(entropy_clipping=False)
    halves = [
        entropy_critic_loss(
            Batches(*(Batch(*(column[i : i + 1] for column in each)) for each in BATCHES)),
            entropy_clipping=False,
        )[0]
        for i in range(2)
    ]
    assert first == pytest.approx(sum(halves) / 2, rel=1e-6)
