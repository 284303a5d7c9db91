# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""The inverse dynamics model on dynamics whose inverse is known."""

from lsiq_core.data.batch import Batch, pack, with_neighbours
from lsiq_core.learning.idm import InverseDynamics
from lsiq_core.learning.learner import eager_gradient
from lsiq_core.learning.networks import Mlp
from lsiq_core.learning.optimiser import adam, with_moments
from lsiq_core.training.simulations import Simulations
import pytest
from sim.point_mass import PointMass
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
    nothing = torch.zeros((1, 2))
    predicted = model.predict(flat, Batch(nothing, nothing, nothing, nothing), torch.ones(2))
    assert predicted.tolist() == [[1.0, -0.5]]


@pytest.mark.parametrize('inputs', ['states', 'difference', 'multiscale'])
def test_learns_the_force_of_a_point_mass(inputs):
    """v' = v + dt f: the force stands in the difference of velocities alone."""
    generator = torch.Generator().manual_seed(0)
    model = InverseDynamics(Mlp((InverseDynamics.input_size(inputs, False, 2), 32, 1)), inputs)
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
    predicted = model.predict(state['idm'], held_out, scale)
    error = float((predicted - held_out.action).square().mean().sqrt())
    assert error < 0.12  # of a range of 2


def test_a_window_shows_the_force_where_velocities_are_hidden():
    """Positions x0..x3 of a free mass: x3 - 2 x2 + x1 tells the force that led from x1 to x2."""
    generator = torch.Generator().manual_seed(0)

    def draw(count):
        position, velocity = torch.randn((2, count, 1), generator=generator)
        forces = 2 * torch.rand((3, count, 1), generator=generator) - 1
        places = [position]
        for force in forces:
            places.append(places[-1] + 0.1 * velocity)
            velocity = velocity + 0.5 * force  # felt from the next step on
        around = torch.cat((places[0], places[3]), dim=1)
        return Batch(places[1], forces[1], places[2], torch.zeros(count), around)

    errors, scale = [], torch.full((1,), 0.1)
    for window in (False, True):
        size = InverseDynamics.input_size('difference', window, 1)
        model = InverseDynamics(Mlp((size, 32, 1)), 'difference', window)
        state = {**with_moments('idm', model.mlp.init(generator)), 'updates': torch.zeros(())}
        for _ in range(1000):
            gradient, _ = eager_gradient(
                model.loss, state['idm'], draw(128), torch.full((1,), 0.1)
            )
            state |= adam(state, 'idm', gradient, torch.tensor(3e-3))
            state['updates'] = state['updates'] + 1
        held_out = draw(500)
        predicted = model.predict(state['idm'], held_out, scale)
        errors.append(float((predicted - held_out.action).square().mean().sqrt()))
    assert errors[0] > 0.4 and errors[1] < 0.1  # of a range of 2


def test_neighbours_are_those_of_the_same_episode():
    """Episodes 1, 2, 4 and 7, 8: of the first and the last the neighbours are their own."""
    obs, following = torch.tensor([[1.0], [2.0], [7.0]]), torch.tensor([[2.0], [4.0], [8.0]])
    rows = with_neighbours(pack(obs, torch.zeros((3, 1)), following, torch.zeros(3)), 1)
    assert rows[:, 4:].tolist() == [[1.0, 4.0], [1.0, 4.0], [7.0, 8.0]]


def test_simulations_bring_transitions_with_their_neighbours():
    """Each simulation's rows, put in its order of time, are what neighbours() makes of them."""
    simulations = Simulations([PointMass(), PointMass()], 0, max_episode_steps=3, window=True)
    simulations.start()
    actions = torch.rand((8, 2, 2), generator=torch.Generator().manual_seed(0)) - 0.5
    brought = []
    for action in actions:
        simulations.send(action)
        brought.append(simulations.receive()[0])
    assert len(brought[0]) == 0
    for number in range(2):
        rows = torch.stack([each[number] for each in brought[1:]])
        complete = with_neighbours(rows[:, :11], 4)[:6]  # two whole episodes
        assert torch.equal(rows[:6], complete)
