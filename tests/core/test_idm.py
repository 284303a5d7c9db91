# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""The inverse dynamics model on dynamics whose inverse is known."""

from lsiq_core.data.batch import Batch
from lsiq_core.learning.idm import InverseDynamics
from lsiq_core.learning.learner import eager_gradient
from lsiq_core.learning.networks import Mlp
from lsiq_core.learning.optimiser import adam, with_moments
import pytest
import torch


def test_loss_is_the_squared_error_summed_over_joints():
    model = InverseDynamics(Mlp((4, 2)), 'states')
    flat = torch.zeros(10)
    flat[-2:] = torch.tensor([1.0, -1.0])  # predicts (1, -1) whatever it sees
    batch = Batch(
        torch.zeros((2, 2)),
        torch.tensor([[0.5, 0.0], [1.0, 1.0]]),
        torch.zeros((2, 2)),
        torch.zeros(2),
    )
    loss, _ = model.loss(flat, batch, torch.ones(2))
    assert float(loss) == pytest.approx(((0.25 + 1.0) + (0.0 + 4.0)) / 2)


def test_prediction_is_clipped_to_the_action_box():
    model = InverseDynamics(Mlp((4, 2)), 'states')
    flat = torch.zeros(10)
    flat[-2:] = torch.tensor([3.0, -0.5])
    predicted = model.predict(flat, torch.zeros((1, 2)), torch.zeros((1, 2)), torch.ones(2))
    assert predicted.tolist() == [[1.0, -0.5]]


@pytest.mark.parametrize('inputs', ['states', 'difference', 'multiscale'])
def test_learns_the_force_of_a_point_mass(inputs):
    """v' = v + dt f: the force stands in the difference of velocities alone."""
    generator = torch.Generator().manual_seed(0)
    model = InverseDynamics(Mlp((InverseDynamics.input_size(inputs, 2), 32, 1)), inputs)
    state = {**with_moments('idm', model.mlp.init(generator)), 'updates': torch.zeros(())}
    scale = torch.tensor([0.05, 0.05])

    def draw(count):
        obs = torch.randn((count, 2), generator=generator)
        force = 2 * torch.rand((count, 1), generator=generator) - 1
        velocity = obs[:, 1:] + 0.1 * force
        next_obs = torch.cat((obs[:, :1] + 0.1 * velocity, velocity), 1)
        return Batch(obs, force, next_obs, torch.zeros(count))

    for _ in range(1500):
        gradient, _ = eager_gradient(model.loss, state['idm'], draw(128), scale)
        state |= adam(state, 'idm', gradient, torch.tensor(3e-3))
        state['updates'] = state['updates'] + 1
    held_out = draw(500)
    predicted = model.predict(state['idm'], held_out.obs, held_out.next_obs, scale)
    error = float((predicted - held_out.action).square().mean().sqrt())
    assert error < 0.12  # of a range of 2
