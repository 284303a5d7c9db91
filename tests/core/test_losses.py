# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
The losses against numbers worked out by hand.

One state, one action, linear networks: Q(s, a) = s + 2 a + 0.5 for critic and target; the
policy is a Gaussian of mean 0 and deviation 1 before the tanh, so noise 0 gives action 0 with
log density -log(2 pi)/2. With gamma = 1/2 and c = 1/2: r = +-2, Q in [-4, 4].
"""

import math

from lsiq_core.config import AlgorithmConfig
from lsiq_core.data.batch import Batch
from lsiq_core.learning.algorithms import lsiq, lsiq_h, lsiq_hc
from lsiq_core.learning.networks import Mlp, Networks, SquashedGaussian, StateActionValue
import pytest
import torch

BETA = 0.1
ENTROPY = 0.5 * math.log(2 * math.pi)  # -log pi at the mean
NETWORKS = Networks(SquashedGaussian(Mlp((1, 2))), StateActionValue(Mlp((2, 1))))
CRITIC = torch.tensor([1.0, 2.0, 0.5])  # weights of s and a, bias


def algorithm(**changes):
    return AlgorithmConfig(**{'discount': 0.5, 'regulariser': 0.5, 'temperature': BETA, **changes})


def state(**changes):
    return {
        'actor': torch.zeros(4),
        'critic': CRITIC,
        'critic_target': CRITIC,
        'log_beta': torch.tensor(math.log(BETA)),
        'entropy_ceiling': torch.zeros(()),
        **changes,
    }


def batch(*transitions):
    s, a, following, absorbing = (torch.tensor(column) for column in zip(*transitions))
    return Batch(s[:, None], a[:, None], following[:, None], absorbing)


# (s, a, s', nu)
EXPERT = batch((1.0, 0.5, 0.25, 0.0), (0.0, -1.0, 0.25, 1.0))  # Q = 2.5, -1.5
POLICY = batch((1.0, 1.0, 0.25, 0.0), (2.0, 0.0, 9.0, 1.0))  # Q = 3.5, 2.5


def critic_loss(config, expert=EXPERT, policy=POLICY, soft=True):
    noise = torch.zeros((2 * (len(expert.obs) + len(policy.obs)), 1))
    loss, metrics = lsiq.critic_loss(
        CRITIC, config, NETWORKS, state(), expert, policy, noise, soft
    )
    return float(loss), metrics


def test_rewards_and_value_bounds_follow_from_alpha_c_and_gamma():
    config = AlgorithmConfig(mixing=0.25, regulariser=2.0, discount=0.9)
    assert (config.r_max, config.r_min) == pytest.approx((1.0, -1 / 3))
    assert (config.q_max, config.q_min) == pytest.approx((10.0, -10 / 3))
    paper = AlgorithmConfig()
    assert (paper.r_max, paper.q_max, paper.q_min) == pytest.approx((2, 200, -200))


def test_full_objective_with_fixed_target_and_absorbing_transition():
    # expert: (2.5 - 4)^2 = 2.25, (-1.5 - 4)^2 = 30.25
    # policy: V(0.25) = 0.75 + 0.1 * entropy; target -2 + V/2; absorbing: -2 + (-4)/2 = -4
    value = 0.75 + BETA * ENTROPY
    policy = ((3.5 - (-2 + 0.5 * value)) ** 2 + (2.5 + 4) ** 2) / 2
    loss, metrics = critic_loss(algorithm())
    assert loss == pytest.approx(0.5 * 16.25 + 0.5 * policy, rel=1e-6)
    assert float(metrics['critic/q_absorbing']) == pytest.approx(2.5)
    assert float(metrics['critic/q_expert']) == pytest.approx(0.5)


def test_iq_operator_values_absorbing_states_at_zero():
    value = 0.75 + BETA * ENTROPY
    policy = ((3.5 - (-2 + 0.5 * value)) ** 2 + (2.5 + 2) ** 2) / 2
    loss, _ = critic_loss(algorithm(inverse_operator='iq'))
    assert loss == pytest.approx(0.5 * 16.25 + 0.5 * policy, rel=1e-6)


def test_bootstrapped_expert_target():
    # expert: 2 + V(0.25)/2 for the first, 2 + 4/2 = 4 for the absorbing one.
    value = 0.75 + BETA * ENTROPY
    expert = ((2.5 - (2 + 0.5 * value)) ** 2 + (-1.5 - 4) ** 2) / 2
    policy = ((3.5 - (-2 + 0.5 * value)) ** 2 + (2.5 + 4) ** 2) / 2
    loss, _ = critic_loss(algorithm(fixed_expert_target=False))
    assert loss == pytest.approx(0.5 * expert + 0.5 * policy, rel=1e-6)


@pytest.mark.parametrize(
    ('clip', 'target'), [(True, -2 + 0.5 * 4), (False, -2 + 0.5 * (9.5 + BETA * ENTROPY))]
)
def test_target_clipping_keeps_the_value_in_its_bounds(clip, target):
    policy = batch((2.0, 0.0, 9.0, 0.0))  # Q(9, 0) = 9.5 lies above Q_max = 4
    loss, _ = critic_loss(algorithm(clip_targets=clip), policy=policy)
    assert loss == pytest.approx(0.5 * 16.25 + 0.5 * (2.5 - target) ** 2, rel=1e-6)


def test_mixing_weighs_expert_and_policy():
    config = algorithm(mixing=0.25)  # r_max = 4, r_min = -4/3, q_max = 8, q_min = -8/3
    value = 0.75 + BETA * ENTROPY
    expert = ((2.5 - 8) ** 2 + (-1.5 - 8) ** 2) / 2
    policy = ((3.5 - (-4 / 3 + 0.5 * value)) ** 2 + (2.5 + 8 / 3) ** 2) / 2
    loss, _ = critic_loss(config)
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
    loss, _ = critic_loss(algorithm(policy_term='fresh'))
    assert loss == pytest.approx(0.5 * 16.25 + 0.5 * sum(errors) / 4, rel=1e-6)


def test_hard_values_leave_the_entropy_out():
    policy = ((3.5 - (-2 + 0.5 * 0.75)) ** 2 + (2.5 + 4) ** 2) / 2
    loss, _ = critic_loss(algorithm(), soft=False)
    assert loss == pytest.approx(0.5 * 16.25 + 0.5 * policy, rel=1e-6)


def test_actor_climbs_q_and_entropy():
    # one state s = 1, action tanh(0) = 0: beta log pi - Q = -0.1 * entropy - 1.5
    loss, metrics = lsiq.actor_loss(
        *(torch.zeros(4), algorithm(), NETWORKS, state()),
        torch.ones((1, 1)),
        torch.zeros((1, 1)),
        mean_penalty=0.0,
    )
    assert float(loss) == pytest.approx((-BETA * ENTROPY - 1.5) / 4, rel=1e-6)
    assert float(metrics['actor/entropy']) == pytest.approx(ENTROPY)


def test_actor_pays_for_a_large_mean():
    actor = torch.tensor([0.0, 0.0, 3.0, 0.0])  # mean 3
    free, _ = lsiq.actor_loss(
        *(actor, algorithm(), NETWORKS, state()), torch.ones((1, 1)), torch.zeros((1, 1)), 0.0
    )
    paid, _ = lsiq.actor_loss(
        *(actor, algorithm(), NETWORKS, state()), torch.ones((1, 1)), torch.zeros((1, 1)), 0.01
    )
    assert float(paid - free) == pytest.approx(0.01 * 9.0, rel=1e-5)


def test_actor_pays_for_leaving_the_actions_it_is_to_clone():
    # Two states, the first the expert's with action 0.5; the mode is tanh(0) = 0 everywhere.
    inputs = (torch.zeros(4), algorithm(), NETWORKS, state(), torch.ones((2, 1)))
    free, _ = lsiq.actor_loss(*inputs, torch.zeros((2, 1)), 0.0)
    bound, _ = lsiq.actor_loss(
        *inputs, torch.zeros((2, 1)), 0.0, cloned=torch.tensor([[0.5]]), cloning=3.0
    )
    assert float(bound - free) == pytest.approx(3.0 * 0.25, rel=1e-5)


def bonus_state(**changes):
    """G(s, a) = 0.5 for critic and target."""
    constant = torch.tensor([0.0, 0.0, 0.5])
    return state(bonus=constant, bonus_target=constant, **changes)


def test_entropy_critic_collects_future_entropy():
    # target: gamma (beta * entropy + 0.5), and 0 after an absorbing transition.
    going_on = (0.5 - 0.5 * (BETA * ENTROPY + 0.5)) ** 2
    kept = bonus_state()
    loss, _ = lsiq_h.bonus_loss(
        *(kept['bonus'], algorithm(entropy_clipping=False), NETWORKS, kept),
        *(EXPERT, POLICY, torch.zeros((4, 1))),
    )
    assert float(loss) == pytest.approx((2 * going_on + 2 * 0.5**2) / 4, rel=1e-5)


def test_entropy_clipping_raises_the_bonus_on_expert_states():
    # The ceiling starts at 5, the policy's maximum is ENTROPY: it sinks by 1e-4 of the gap.
    kept = bonus_state(entropy_ceiling=torch.tensor(5.0))
    ceiling = 5.0 + 1e-4 * (ENTROPY - 5.0)
    policy = (0.5 - 0.5 * (BETA * ENTROPY + 0.5)) ** 2
    expert = (0.5 - 0.5 * (BETA * ceiling + 0.5)) ** 2
    loss, metrics = lsiq_h.bonus_loss(
        *(kept['bonus'], algorithm(), NETWORKS, kept, EXPERT, POLICY, torch.zeros((4, 1)))
    )
    assert float(metrics['bonus/entropy_ceiling']) == pytest.approx(ceiling, rel=1e-6)
    assert float(loss) == pytest.approx((policy + expert + 2 * 0.5**2) / 4, rel=1e-5)
    low = bonus_state()
    _, metrics = lsiq_h.bonus_loss(
        *(low['bonus'], algorithm(), NETWORKS, low, EXPERT, POLICY, torch.zeros((4, 1)))
    )
    assert float(metrics['bonus/entropy_ceiling']) == pytest.approx(1e-2 * ENTROPY, rel=1e-5)


def test_combined_critic_adds_the_squared_implicit_reward():
    # r_Q = Q - gamma V(s'), V(0.25) = 0.75 hard. Policy: 3.5 - 0.375 -> clipped to 2;
    # absorbing: 2.5 + 2 -> 2. Expert: 2.5 - 0.375 -> 2; absorbing: -1.5 - 2 -> -2.
    # k = c (1 - alpha) = 1/4: k r^2 = 1 everywhere; an absorbing state earns 1/(1 - gamma) = 2.
    going_on = (0.5 - (1 + 0.5 * (BETA * ENTROPY + 0.5))) ** 2
    absorbed = (0.5 - (1 + 0.5 * 2.0)) ** 2
    assert combined_loss() == pytest.approx((2 * going_on + 2 * absorbed) / 4, rel=1e-5)


def combined_loss(**changes):
    kept = bonus_state()
    loss, _ = lsiq_hc.combined_loss(
        *(kept['bonus'], algorithm(entropy_clipping=False, **changes), NETWORKS, kept),
        *(EXPERT, POLICY, torch.zeros((4, 1))),
    )
    return float(loss)


def test_combined_critic_absorbs_expert_and_policy_by_their_own_rewards():
    # alpha = 1/4: r_min = -4/3, r_max = 4, k = 3/8. r_Q of the policy: 3.5 - 0.375 and
    # 2.5 + (8/3)/2; of the expert: 2.5 - 0.375 and -1.5 - 8/2, clipped to -4/3.
    squared = [3 / 8 * r**2 for r in (3.125, 2.5 + 4 / 3, 2.125, -4 / 3)]
    future = BETA * ENTROPY + 0.5
    absorbed = [3 / 8 * r**2 / 0.5 for r in (-4 / 3, 4)]
    values = (future, absorbed[0], future, absorbed[1])
    errors = [(0.5 - (now + 0.5 * later)) ** 2 for now, later in zip(squared, values)]
    assert combined_loss(mixing=0.25) == pytest.approx(sum(errors) / 4, rel=1e-5)


def test_combined_critic_of_iqs_operator_absorbs_nothing():
    # k = 1/4; r_Q: 3.5 - 0.375 -> 2, 2.5 -> 2, 2.5 - 0.375 -> 2, and -1.5 as it is.
    going_on = (0.5 - (1 + 0.5 * (BETA * ENTROPY + 0.5))) ** 2
    errors = (going_on, (0.5 - 1) ** 2, going_on, (0.5 - 2.25 / 4) ** 2)
    assert combined_loss(inverse_operator='iq') == pytest.approx(sum(errors) / 4, rel=1e-5)


def test_implicit_reward_within_its_bounds_is_left_as_it_is():
    kept = state(critic=torch.tensor([0.0, 0.0, 1.0]), critic_target=torch.tensor([0.0, 0.0, 1.0]))
    reward = lsiq_hc.implicit_reward(
        algorithm(), NETWORKS, kept, POLICY, torch.zeros((2, 1)), absorbing_reward=-2.0
    )
    # 1 - 1/2 for the first; 1 - (-4)/2 = 3 is clipped to 2 for the absorbing one.
    assert reward.tolist() == pytest.approx([0.5, 2.0])


def test_values_are_one_dimensional_everywhere():
    # [B] times [B, 1] would average over the batch without a word.
    config, kept = algorithm(entropy_clipping=False), bonus_state()
    first, _ = lsiq_h.bonus_loss(
        *(kept['bonus'], config, NETWORKS, kept, EXPERT, POLICY, torch.zeros((4, 1)))
    )
    halves = [
        lsiq_h.bonus_loss(
            *(kept['bonus'], config, NETWORKS, kept),
            Batch(*(column[i : i + 1] for column in EXPERT)),
            Batch(*(column[i : i + 1] for column in POLICY)),
            torch.zeros((2, 1)),
        )[0]
        for i in range(2)
    ]
    assert float(first) == pytest.approx(float(sum(halves)) / 2, rel=1e-6)
