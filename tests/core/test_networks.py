# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Networks and optimiser against independent routes."""

from lsiq_core.learning.networks import Mlp, Residual, SquashedGaussian, StateActionValue
from lsiq_core.learning.optimiser import adam, with_moments
import pytest
import torch


@pytest.mark.parametrize('layer_norm', [False, True])
def test_mlp_equals_torch_modules(layer_norm):
    mlp = Mlp((5, 7, 6, 2), layer_norm)
    flat = mlp.init(torch.Generator().manual_seed(0))
    flat = flat + 0.1 * torch.randn(flat.shape)
    layers = []
    for fan_in, fan_out in ((5, 7), (7, 6)):
        layers.append(torch.nn.Linear(fan_in, fan_out))
        layers += [torch.nn.LayerNorm(fan_out)] if layer_norm else []
        layers.append(torch.nn.ReLU())
    module = torch.nn.Sequential(*layers, torch.nn.Linear(6, 2))
    torch.nn.utils.vector_to_parameters(flat, module.parameters())
    x = torch.randn(4, 5)
    assert torch.allclose(mlp(flat, x), module(x), atol=1e-6)
    assert len(flat) == mlp.num_parameters


def test_residual_network_by_hand():
    network = Residual(inputs=1, outputs=1, width=2, blocks=1)
    norm = [1.0, 1.0, 0.0, 0.0]
    flat = torch.tensor(
        [*(1.0, -1.0), *(0.0, 0.0)]  # 3 becomes (3, -3)
        + norm  # (1, -1)
        + [*(1.0, 0.0), *(0.0, 1.0), *(1.0, 1.0), *(2.0, -1.0), *(0.0, 0.0, 0.0, 0.0)]
        # after ReLU (1, 0, 0, 3)
        + [*(1.0, 1.0, 1.0, 1.0), *(0.0, 0.0, 0.0, 1.0), *(0.0, 0.0)]  # (4, 3), in all (7, 0)
        + norm  # (1, -1)
        + [*(2.0, 0.5), 0.25]
    )
    assert len(flat) == network.num_parameters
    assert network(flat, torch.tensor([[3.0]])).item() == pytest.approx(1.75, abs=1e-4)


def test_residual_network_starts_with_plain_norms_and_differs_by_seed():
    network = Residual(inputs=5, outputs=1, width=6, blocks=2)
    first, other = (network.init(torch.Generator().manual_seed(seed)) for seed in (0, 1))
    assert first.shape == (network.num_parameters,)
    assert not torch.equal(first, other)
    start = 5 * 6 + 6
    assert first[start : start + 12].tolist() == [1.0] * 6 + [0.0] * 6
    assert network(first, torch.ones(4, 5)).shape == (4, 1)


def test_log_density_equals_torch_distributions():
    policy = SquashedGaussian(Mlp((3, 8, 4)))
    generator = torch.Generator().manual_seed(1)  # others saturate tanh, where torch loses digits
    flat = policy.mlp.init(generator).double()
    obs = torch.randn(50, 3, dtype=torch.float64, generator=generator)
    noise = torch.randn(50, 2, dtype=torch.float64, generator=generator)
    drawn = policy.sample(flat, obs, noise)
    mean, log_std = policy.distribution(flat, obs)
    reference = torch.distributions.TransformedDistribution(
        torch.distributions.Normal(mean, log_std.exp()),
        torch.distributions.TanhTransform(),
    )
    expected = reference.log_prob(drawn.action).sum(-1)
    assert drawn.log_prob.shape == (50,)
    assert torch.allclose(drawn.log_prob, expected, atol=1e-6)


def test_the_gain_is_the_unit_of_mean_and_deviation():
    plain, gentle = (SquashedGaussian(Mlp((3, 8, 4)), action_gain=gain) for gain in (1.0, 0.2))
    generator = torch.Generator().manual_seed(0)
    flat = plain.mlp.init(generator)
    obs, noise = torch.randn(5, 3, generator=generator), torch.randn(5, 2, generator=generator)
    latent, quiet = (policy.sample(flat, obs, noise).action.atanh() for policy in (plain, gentle))
    assert torch.allclose(quiet, 0.2 * latent, atol=1e-4)


def test_log_density_stays_finite_where_tanh_saturates():
    policy = SquashedGaussian(Mlp((1, 2)))
    flat = torch.tensor([0.0, 0.0, 40.0, 0.0])  # mean 40
    drawn = policy.sample(flat, torch.zeros(1, 1), torch.zeros(1, 1))
    # -log sqrt(2 pi) - log(4) + 2 * 40, since 1 - tanh(u)^2 -> 4 exp(-2u)
    assert float(drawn.log_prob) == pytest.approx(-0.9189385 - 1.3862944 + 80.0, rel=1e-5)


def test_critic_scale_multiplies_the_output():
    plain, scaled = StateActionValue(Mlp((3, 4, 1))), StateActionValue(Mlp((3, 4, 1)), 200.0)
    flat = plain.mlp.init(torch.Generator().manual_seed(2))
    obs, action = torch.randn(6, 2), torch.randn(6, 1)
    assert plain(flat, obs, action).shape == (6,)
    assert torch.allclose(200 * plain(flat, obs, action), scaled(flat, obs, action))


def test_adam_equals_torch():
    generator = torch.Generator().manual_seed(4)
    start = torch.randn(20, generator=generator)
    leaf = start.clone().requires_grad_()
    reference = torch.optim.Adam([leaf], lr=0.01)
    state = {**with_moments('x', start), 'updates': torch.zeros(())}
    for _ in range(25):
        gradient = torch.randn(20, generator=generator)
        leaf.grad = gradient.clone()
        reference.step()
        state |= adam(state, 'x', gradient, torch.tensor(0.01))
        state['updates'] = state['updates'] + 1
    assert torch.allclose(state['x'], leaf, atol=1e-6)
