# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""The demonstration schema: what is accepted, and how the rest is refused."""

import json

from lsiq_core.data.dataset import expert_data, ExpertData, SensorErrors, state_statistics
from lsiq_core.data.demonstrations import actions_path, Demonstrations, load, lost_digits
from lsiq_core.errors import DemonstrationError, TaskError
from lsiq_core.robot import Randomisation, reading_errors
from lsiq_core.types import Term
import numpy as np
import pytest
from sim.point_mass import PointMass
import torch


def example(**changes):
    """Two episodes of 3 and 2 transitions of the point mass; the second ends absorbed."""
    rng = np.random.default_rng(0)
    values = {
        'states': rng.normal(size=(7, 4)),
        'episode_lengths': np.array([3, 2]),
        'terminated': np.array([False, True]),
        'actions': rng.uniform(-2, 2, size=(5, 2)),
        'returns': np.array([1.0, 2.0]),
        'action_names': ('mass/force_x', 'mass/force_y'),
        'rate_hz': 20.0,
        'metadata': {'task': 'point_mass'},
    }
    return Demonstrations(**{**values, **changes})


def test_round_trip(tmp_path):
    demos = example()
    demos.save(tmp_path / 'demos.npz')
    loaded = load(tmp_path / 'demos.npz')
    assert np.array_equal(loaded.states, demos.states)
    assert np.array_equal(loaded.actions, demos.actions)
    assert loaded.terminated.tolist() == [False, True]
    assert (loaded.rate_hz, loaded.metadata) == (20.0, {'task': 'point_mass'})
    assert loaded.sha256 == demos.sha256


def test_actions_kept_apart_are_found_and_can_be_left_alone(tmp_path):
    example().save(tmp_path / 'demos.npz', actions_apart=True)
    with np.load(tmp_path / 'demos.npz') as archive:
        assert 'actions' not in archive.files
    assert load(tmp_path / 'demos.npz').actions is not None
    assert load(tmp_path / 'demos.npz', with_actions=False).actions is None


def test_actions_of_other_states_are_refused(tmp_path):
    example().save(tmp_path / 'a.npz', actions_apart=True)
    example(states=np.zeros((7, 4))).without_actions().save(tmp_path / 'b.npz')
    actions_path(tmp_path / 'a.npz').rename(actions_path(tmp_path / 'b.npz'))
    with pytest.raises(DemonstrationError, match='belongs to states with hash'):
        load(tmp_path / 'b.npz')


def test_transitions_stay_inside_their_episodes():
    data = expert_data(example(), PointMass())
    states = torch.as_tensor(example().states).float()
    assert torch.equal(data.rows[:, :4], states[[0, 1, 2, 4, 5]])
    assert torch.equal(data.rows[:, 6:10], states[[1, 2, 3, 5, 6]])
    assert data.rows[:, -1].tolist() == [0, 0, 0, 0, 1]
    assert torch.allclose(data.rows[:, 4:6], torch.as_tensor(example().actions).float() / 2)


def test_statistics_ignore_a_constant_column_and_episode_borders():
    states = np.array([[0.0, 5.0], [2.0, 5.0], [100.0, 5.0], [102.0, 5.0]])
    demos = Demonstrations(states, np.array([1, 1]), np.array([False, False]))
    statistics = state_statistics(demos)
    deviation = float(statistics['obs_std'][0])
    assert deviation == pytest.approx(np.std(states[:, 0]))
    assert float(statistics['obs_std'][1]) == 1.0
    assert float(statistics['difference_scale'][0]) == pytest.approx(2 / deviation)


def test_what_rounding_does_to_a_constant_is_no_deviation():
    states = np.float32(400.0) + np.float32(3e-5) * np.arange(40, dtype=np.float32)[:, None]
    assert states.std() > 1e-6
    demos = Demonstrations(states, np.array([39]), np.array([False]))
    assert float(state_statistics(demos)['obs_std'][0]) == 1.0


def test_first_episodes():
    assert example().first(1).num_transitions == 3
    with pytest.raises(DemonstrationError, match='9 episodes asked for, it holds 2'):
        example().first(9)


def test_an_episode_that_was_cut_would_go_on_alike():
    # 1.0 in 3 steps is 2.0 in 6; the second of 2.0 ended by itself.
    assert example().return_of(6) == pytest.approx(2.0)
    assert example().return_of(3) == pytest.approx(1.5)
    assert example(returns=None).return_of(3) is None
    second = example().episode_lengths[1]
    assert example().length_of(6) == (6 + second) / 2


def test_what_the_sensors_said_stays_beside_the_states(tmp_path):
    demos = example(observed=example().states + 0.1, state_names=('x', 'y', 'u', 'v'))
    demos.save(tmp_path / 'demos.npz')
    some = load(tmp_path / 'demos.npz').first(1).of_terms(('v', 'x'))
    np.testing.assert_array_equal(some.states, demos.states[:4, [3, 0]])
    np.testing.assert_array_equal(some.observed, demos.states[:4, [3, 0]] + 0.1)
    with pytest.raises(DemonstrationError, match=r"no state named \['w'\]"):
        demos.of_terms(('w', 'x'))


@pytest.mark.parametrize(
    ('changes', 'message'),
    [
        ({'states': np.full((7, 4), np.nan)}, 'not finite, the first in row 0'),
        ({'states': np.full((7, 4), np.inf)}, 'not finite'),
        ({'states': np.zeros(7)}, '2-dimensional'),
        ({'states': np.zeros((6, 4))}, 'states has 6 rows'),
        ({'states': np.zeros((7, 4), dtype='U1')}, 'array of numbers'),
        ({'episode_lengths': np.array([5, 0])}, 'episode 1 has 1 states'),
        ({'episode_lengths': np.array([2.5, 2.5])}, 'whole numbers'),
        ({'episode_lengths': np.array([], dtype=int)}, 'non-empty'),
        ({'terminated': np.array([True])}, 'terminated is bool'),
        ({'actions': np.zeros((4, 2))}, 'actions has 4 rows'),
        ({'actions': np.full((5, 2), -np.inf)}, 'actions has 10 values'),
        ({'state_names': ('a', 'b')}, 'state_names has 2 names'),
        ({'rate_hz': 0.0}, 'must be positive'),
        ({'observed': np.zeros((7, 3))}, 'observed has shape'),
        ({'observed': np.full((7, 4), np.nan)}, 'observed has 28 values'),
    ],
)
def test_bad_arrays_are_refused_by_name(changes, message):
    with pytest.raises(DemonstrationError, match=message):
        example(**changes)


def test_object_arrays_are_never_unpickled(tmp_path):
    np.savez(tmp_path / 'evil.npz', states=np.array([{'a': 1}], dtype=object))
    with pytest.raises(DemonstrationError, match=r'evil\.npz: not a readable npz'):
        load(tmp_path / 'evil.npz')


@pytest.mark.parametrize('content', [b'', b'PK\x03\x04 cut off', b'plain text'])
def test_files_that_are_no_npz_are_refused(tmp_path, content):
    (tmp_path / 'demos.npz').write_bytes(content)
    with pytest.raises(DemonstrationError, match='not a readable npz'):
        load(tmp_path / 'demos.npz')


def test_missing_file_and_missing_array(tmp_path):
    with pytest.raises(DemonstrationError, match='no such file'):
        load(tmp_path / 'none.npz')
    np.savez(tmp_path / 'half.npz', states=np.zeros((3, 2)))
    with pytest.raises(DemonstrationError, match="no array 'episode_lengths'"):
        load(tmp_path / 'half.npz')


def test_gym_layout_is_read(tmp_path):
    np.savez(
        tmp_path / 'gym.npz',
        observations=np.zeros((4, 11), np.float32),
        actions=np.zeros((3, 3), np.float32),
        rewards=np.ones(3),
        episode_lengths=np.array([3]),
        terminated=np.array([False]),
        returns=np.array([3.0]),
        env_id=np.array('Hopper-v5'),
        env_kwargs=np.array(json.dumps({'a': 1})),
    )
    demos = load(tmp_path / 'gym.npz')
    assert demos.metadata == {'task': 'Hopper-v5', 'env_kwargs': {'a': 1}}
    assert demos.num_transitions == 3


@pytest.mark.parametrize(('text', 'fault'), [('{', 'is not JSON'), ('[1]', 'is list, not an obj')])
def test_options_of_a_gym_task_that_are_no_object_are_refused(tmp_path, text, fault):
    path = tmp_path / 'episodes.npz'
    arrays = {'observations': np.zeros((3, 2)), 'episode_lengths': np.array([2])}
    np.savez(path, **arrays, env_kwargs=np.array(text))
    with pytest.raises(DemonstrationError, match=f'episodes.npz: env_kwargs {fault}'):
        load(path)


def test_demonstrations_of_another_task_are_refused():
    with pytest.raises(TaskError, match='states have 3 values, task point_mass observes 4'):
        expert_data(example(states=np.zeros((7, 3))), PointMass())
    with pytest.raises(TaskError, match="state 0 is 'x', task point_mass has 'mass/position_x'"):
        expert_data(example(state_names=('x', 'y', 'u', 'v')), PointMass())
    with pytest.raises(TaskError, match=r'recorded at 100.0 Hz, task point_mass runs at 20'):
        expert_data(example(rate_hz=100.0), PointMass())


def test_half_precision_says_what_it_has_lost():
    states = np.array([[0.5, 700.0], [0.25, -812.3]])
    half = Demonstrations(
        states.astype(np.float16),
        np.array([1]),
        np.array([False]),
        state_names=('knee/position', 'foot/force'),
    )
    (said,) = lost_digits(half)
    assert 'foot/force, up to 812.5, is known to 0.5 only' in said
    whole = Demonstrations(states.astype(np.float32), np.array([1]), np.array([False]))
    assert lost_digits(whole) == []


def test_the_experts_rows_get_the_errors_of_the_sensors():
    ranges = Randomisation(
        position_noise=0.02,
        velocity_noise=(0.0, 0.6),
        base_velocity_noise=0.1,
        force_noise_n=5,
        encoder_offset_rad=0.03,
    )
    terms = (
        Term('base/pitch', 'rad'),
        Term('knee/position', 'rad'),
        Term('base/pitch_rate', 'rad/s'),
        Term('knee/velocity', 'rad/s'),
        Term('sole/force_z', 'N'),
    )
    errors = SensorErrors(tuple(reading_errors(ranges, terms).values()))
    rows = torch.arange(12.0).repeat(40_000, 1)  # five observed, an action, five, the end
    data = ExpertData(rows, 5, errors)
    found = data.sample(40_000, torch.Generator().manual_seed(0)) - torch.arange(12.0)
    now, after = found[:, :5], found[:, 6:11]
    assert (found[:, [5, 11]] == 0).all() and (rows == torch.arange(12.0)).all()
    # Constant and uniform parts by hand: a uniform size of up to s has the second moment s^2 / 3.
    knee = (0.02**2 + 0.03**2 / 3) ** 0.5
    expected = torch.tensor([0.02, knee, 0.1, 0.6 / 3**0.5, 5.0])
    torch.testing.assert_close(now.std(0), expected, rtol=0.02, atol=0)
    torch.testing.assert_close(after.std(0), expected, rtol=0.02, atol=0)
    shared = (now * after).mean(0)  # what both states have in common is the encoder's offset
    assert shared[1].item() == pytest.approx(0.03**2 / 3, rel=0.1)
    assert abs(shared[0].item()) < 1e-5
    again = data.with_actions(torch.zeros((40_000, 1)))
    assert again.sensors is errors and (again.rows[:, 5] == 0).all()


def test_without_randomisation_the_experts_rows_stay_as_they_are():
    data = expert_data(example(), PointMass(), Randomisation(mass_scale=(0.5, 2)))
    assert data.sensors is None


def test_an_expert_answered_to_what_its_sensors_said():
    seen = example().states + 0.1
    demos = example(observed=seen)
    worlds = expert_data(demos, PointMass(), Randomisation(position_noise=(0, 0.1)))
    assert worlds.sensors is None  # their errors are in it
    np.testing.assert_allclose(worlds.rows[:3, :4], seen[:3], rtol=1e-6)
    alone = expert_data(demos, PointMass())
    np.testing.assert_allclose(alone.rows[:3, :4], demos.states[:3], rtol=1e-6)


def test_a_clipped_velocity_stands_at_its_edges_and_a_full_motor_hides_nothing():
    free = np.linspace(-2, 2, 1001)
    place = np.cumsum(free) * 0.01  # what the velocity moves
    clipped, contact = np.clip(free, -1.0, 1.0), free > 0  # beyond in half of the states
    force = np.clip(np.random.default_rng(0).uniform(-2, 2, 1001), -1.0, 1.0)
    for columns, share in (
        ((place, clipped, contact), 502 / 1001),
        ((place, free, force, contact), 0.0),
    ):
        states, lengths = np.stack(columns, axis=1), np.array([500, 499])
        demos = example(states=states, episode_lengths=lengths, actions=None)
        assert demos.clipped_share == pytest.approx(share)
