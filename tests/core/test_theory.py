# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
The paper's propositions on small tabular problems, through the product's own functions.

Transition kernels and policies are random; the discounted state-action distributions come
from a linear system, an independent route to what the learner only samples.
"""

from lsiq_core.config import AlgorithmConfig
from lsiq_core.data.batch import Batch, Batches
from lsiq_core.learning.algorithms import lsiq
from lsiq_core.learning.networks import Mlp, Networks, SquashedGaussian, StateActionValue
from lsiq_core.learning.update import Agent, Draws, UpdateNoise
import numpy as np
import pytest
import torch

STATES, ACTIONS, GAMMA = 6, 3, 0.9


class Tabular:
    """A random problem whose last state is absorbing."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        self.rng = rng
        self.kernel = rng.dirichlet(np.ones(STATES) * 0.5, size=(STATES, ACTIONS))
        self.kernel[-1] = np.eye(STATES)[-1]
        self.reward = rng.uniform(-2, 2, size=(STATES, ACTIONS))
        self.absorbing_reward = float(rng.uniform(-2, 2))
        self.reward[-1] = self.absorbing_reward
        self.start = rng.dirichlet(np.ones(STATES))

    def policy(self, sharpness=1.0):
        return self.rng.dirichlet(np.ones(ACTIONS) / sharpness, size=STATES)

    def distribution(self, policy):
        """Return d(s, a), normalised and discounted."""
        moves = np.einsum('sa,sat->st', policy, self.kernel)
        visits = np.linalg.solve(np.eye(STATES) - GAMMA * moves.T, (1 - GAMMA) * self.start)
        return visits[:, None] * policy

    def true_q(self, policy):
        """Solve Q = r + gamma P (pi Q) with the absorbing state as any other state."""
        size = STATES * ACTIONS
        onward = np.einsum('sat,tb->satb', self.kernel, policy).reshape(size, size)
        flat = np.linalg.solve(np.eye(size) - GAMMA * onward, self.reward.reshape(size))
        return flat.reshape(STATES, ACTIONS)

    def forward(self, q, policy):
        """Apply the forward operator of Eq. iq_inverse_operator through the product's function."""
        value = torch.as_tensor((policy * q).sum(1))
        absorbing = torch.zeros(STATES, dtype=torch.float64)
        absorbing[-1] = 1.0
        config = AlgorithmConfig(discount=GAMMA)
        successors = lsiq.bootstrap(config, 0.0, value, absorbing, self.absorbing_reward)
        return self.reward + np.einsum('sat,t->sa', self.kernel, successors.numpy())


@pytest.fixture(params=range(5))
def problem(request):
    return Tabular(request.param)


def test_forward_operator_has_the_true_q_as_fixed_point(problem):
    policy = problem.policy()
    q = problem.true_q(policy)
    assert problem.forward(q, policy) == pytest.approx(q, abs=1e-10)


def test_forward_operator_contracts_and_converges(problem):
    policy = problem.policy()
    a, b = problem.rng.normal(size=(2, STATES, ACTIONS)) * 10
    gap = np.abs(a - b).max()
    after = np.abs(problem.forward(a, policy) - problem.forward(b, policy)).max()
    assert after <= GAMMA * gap + 1e-12
    for _ in range(400):
        a = problem.forward(a, policy)
    assert a == pytest.approx(problem.true_q(policy), abs=1e-9)


def test_iq_operator_misses_the_true_q(problem):
    policy = problem.policy()
    q = problem.true_q(policy)
    value = torch.as_tensor((policy * q).sum(1))
    absorbing = torch.eye(STATES, dtype=torch.float64)[-1]
    config = AlgorithmConfig(discount=GAMMA, inverse_operator='iq')
    successors = lsiq.bootstrap(config, 0.0, value, absorbing, problem.absorbing_reward).numpy()
    bias = problem.reward + np.einsum('sat,t->sa', problem.kernel, successors) - q
    reaching = problem.kernel[..., -1] * GAMMA * -problem.absorbing_reward / (1 - GAMMA)
    assert bias == pytest.approx(reaching, abs=1e-9)


def variational(reward, expert, policy, c):
    """Return Eq. variational_chi for alpha = 1/2 and k = c / 2."""
    return (expert * (reward - c / 2 * reward**2)).sum() - (
        policy * (reward + c / 2 * reward**2)
    ).sum()


@pytest.mark.parametrize('c', [0.1, 0.5, 2.0])
def test_optimal_reward_and_divergence_stay_in_their_bounds(problem, c):
    expert = problem.distribution(problem.policy(5.0))
    policy = problem.distribution(problem.policy(5.0))
    best = (expert - policy) / (expert + policy) / c  # prop:bound_r_mix
    assert np.abs(best).max() <= 1 / c
    divergence = variational(best, expert, policy, c)
    assert 0 <= divergence <= 1 / c  # prop:bound_chi_constant
    for _ in range(50):  # nothing beats it
        other = best + problem.rng.normal(size=best.shape) / c
        assert variational(other, expert, policy, c) <= divergence + 1e-12
    mixture = (expert + policy) / 2
    pearson = ((expert - mixture) ** 2 / mixture).sum()
    if c == 0.5:  # the conventional divergence
        assert divergence == pytest.approx(2 * pearson, rel=1e-9)
    assert pearson <= 0.5 * ((expert - policy) ** 2 / policy).sum() + 1e-12  # prop:bound_chi


def test_divergence_reaches_its_bounds():
    half = np.array([[0.5, 0.5], [0.0, 0.0]])
    other = half[::-1]
    with np.errstate(invalid='ignore'):
        apart = (half - other) / (half + other) / 0.5
    assert variational(apart, half, other, 0.5) == pytest.approx(1 / 0.5)
    assert variational(0 * apart, half, half, 0.5) == 0.0


def test_least_squares_has_the_optimum_of_the_original_objective(problem):
    # In the tabular case the least-squares problem separates by (s, a): its minimum is the
    # mean of r_max and r_min weighted by alpha d_E and (1 - alpha) d_pi.
    config = AlgorithmConfig(discount=GAMMA, alpha=0.5, c=0.7)
    expert = problem.distribution(problem.policy(5.0))
    policy = problem.distribution(problem.policy(5.0))
    solution = (expert * config.r_max + policy * config.r_min) / (expert + policy)
    best = (expert - policy) / (expert + policy) / config.c
    assert solution == pytest.approx(best, abs=1e-12)


@pytest.mark.parametrize('alpha', [0.3, 0.5, 0.8])
def test_loss_is_an_affine_image_of_the_original_objective(alpha):
    """prop:ls_obj: J = -c L + K, whatever Q is, with the product's own loss."""
    generator = torch.Generator().manual_seed(3)
    config = AlgorithmConfig(
        discount=0.8,
        alpha=alpha,
        c=0.4,
        beta=0.05,
        clip_targets=False,
        fixed_expert_target=False,
    )
    networks = Networks(
        SquashedGaussian(Mlp((2, 16, 2))), StateActionValue(Mlp((3, 16, 1)), scale=3.0)
    )

    def draw(count):
        columns = torch.randn((3, count, 2), generator=generator)
        absorbing = (torch.rand(count, generator=generator) < 0.3).float()
        return Batch(columns[0], columns[1, :, :1].tanh(), columns[2], absorbing)

    batches = Batches(draw(40), draw(60))
    draws = Draws(*(torch.randn((n, 1), generator=generator) for n in (40, 60)))
    noise = UpdateNoise(draws, draws, *[torch.zeros(0)] * 4)
    constants = []
    for _ in range(5):
        critic = networks.critic.mlp.init(generator) * 3
        state = {
            'actor': networks.policy.mlp.init(generator),
            'critic_target': critic,
            'log_beta': torch.tensor(0.05).log(),
        }
        loss, _ = lsiq.critic_loss(critic, Agent(config, networks, state), batches, noise)

        def implicit_reward(batch, draws, absorbing_reward, critic=critic, state=state):
            drawn = networks.policy.sample(state['actor'], batch.next_obs, draws)
            soft = networks.critic(critic, batch.next_obs, drawn.action) - 0.05 * drawn.log_prob
            absorbed = absorbing_reward / (1 - 0.8)
            successor = (1 - batch.absorbing) * soft + batch.absorbing * absorbed
            return networks.critic(critic, batch.obs, batch.action) - 0.8 * successor

        of_policy = implicit_reward(batches.policy, draws.policy, config.r_min)
        of_expert = implicit_reward(batches.expert, draws.expert, config.r_max)
        penalty = alpha * of_expert.square().mean() + (1 - alpha) * of_policy.square().mean()
        objective = of_expert.mean() - of_policy.mean() - config.c * penalty
        constants.append(float(objective + config.c * loss))
    expected = 1 / (4 * alpha * 0.4) + 1 / (4 * (1 - alpha) * 0.4)  # K below Eq. J_prop_tmp
    assert constants == pytest.approx([expected] * 5, rel=2e-3)
