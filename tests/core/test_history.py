# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""What a policy remembers: by hand, along demonstrations, in training and in its file."""

from dataclasses import replace

from lsiq_core.config import from_dict
from lsiq_core.data import dataset
from lsiq_core.data.dataset import expert_data, remembered, RESTART_STEPS
from lsiq_core.errors import ConfigError
from lsiq_core.history import History, is_past, Memory, remembering
from lsiq_core.policy.artifact import contract_differences, read_artifact
from lsiq_core.policy.export import export_policy
from lsiq_core.policy.export_run import policy_module, present_columns, run_metadata
from lsiq_core.policy.policies import load_policy
from lsiq_core.training.trainer import Trainer
from lsiq_ros.runs.tasks import built_in_demos
import numpy as np
import pytest
from sim.point_mass import PointMass
from small_run import SMALL
import torch

WALK = History(length=3, every=2, actions=2)


@pytest.fixture(scope='module')
def demos():
    return built_in_demos('point_mass', 4)


def test_the_input_by_hand():
    # Two terms; the first action is a target of the second term, the other one a torque.
    memory = Memory.of(WALK, ('knee/velocity', 'knee/position'), ('knee/position', 'hip/effort'))
    rows = []
    for t in range(6):
        rows.append(memory.see(np.array([t, 10.0 + t])).tolist())
        memory.did(np.array([100.0 + t, 200.0 + t]))
    rest = [10, 0]  # no torque: the measured position of the start, and zero
    assert rows[0] == [0, 10, 0, 10, 0, 10, *rest, *rest]
    assert rows[1] == [1, 11, 0, 10, 0, 10, 100, 200, *rest]
    assert rows[2] == [2, 12, 0, 10, 0, 10, 101, 201, 100, 200]
    assert rows[5] == [5, 15, 3, 13, 1, 11, 104, 204, 103, 203]
    memory.begin()
    assert memory.see(np.array([7.0, 8.0])).tolist() == [7, 8, 7, 8, 7, 8, 8, 0, 8, 0]


def test_several_robots_are_remembered_in_step():
    many = Memory.of(WALK, ('a', 'b'), ('b',))
    each = [Memory.of(WALK, ('a', 'b'), ('b',)) for _ in range(3)]
    rng = np.random.default_rng(0)
    for _ in range(7):
        obs, action = rng.normal(size=(3, 2)), rng.normal(size=(3, 1))
        assert np.array_equal(many.see(obs), [one.see(row) for one, row in zip(each, obs)])
        many.did(action)
        for one, row in zip(each, action):
            one.did(row)


def test_without_history_nothing_is_copied():
    memory, obs = Memory.of(History(), ('a',), ('b',)), np.ones(1)
    assert memory.see(obs) is obs
    env = PointMass()
    assert remembering(env, History()) is env


def test_demonstrations_remember_as_the_task_does(demos, monkeypatch):
    """The same actions in the remembering task give the states that the learner learns from."""
    monkeypatch.setattr(dataset, 'RESTART_STEPS', 1000)
    shown = remembered(demos, WALK, PointMass())
    env = remembering(PointMass(), WALK)
    assert shown.state_names == tuple(term.name for term in env.observation_terms)
    assert sum(is_past(name) for name in shown.state_names) == 2 * 4 + 2 * 2
    first = 0
    for span, length in zip(demos.state_slices(), demos.episode_lengths):
        rows = [env.reset_to(shown.states[span][0])]
        for action in demos.actions[first : first + length]:
            rows.append(env.step(action).obs)
        assert np.allclose(shown.states[span], rows, atol=1e-12)
        first += length
    rows = expert_data(shown, env).rows
    # What was done is the first of the remembered actions one step later.
    done, after = rows[:, 16:18], rows[:, 18 + 12 : 18 + 14]
    inner = ~np.isin(np.arange(len(rows)), np.cumsum(demos.episode_lengths) - 1)
    assert torch.allclose(2.0 * done[inner], after[inner], atol=1e-6), 'forces of up to 2 N'


def test_demonstrations_begin_anew_now_and_then(demos):
    steps = 2 * RESTART_STEPS + 5
    states = np.arange((steps + 1) * 4.0).reshape(-1, 4)
    long = replace(
        demos,
        states=states,
        observed=None,
        episode_lengths=np.array([steps]),
        terminated=np.array([False]),
        actions=np.ones((steps, 2)),
        returns=None,
    )
    found = remembered(long, History(length=2), PointMass()).states
    fresh = (found[:, :4] == found[:, 4:8]).all(axis=1)
    assert np.flatnonzero(fresh).tolist() == [0, RESTART_STEPS, 2 * RESTART_STEPS]


def test_what_is_not_known_cannot_be_remembered(tmp_path, demos):
    with pytest.raises(ConfigError, match=r'networks\.history\.actions=0'):
        remembered(demos.without_actions(), WALK, PointMass())
    settings = SMALL | {'networks': {'hidden': [16], 'history': {'actions': 1}}}
    with pytest.raises(ConfigError, match='from states alone'):
        Trainer(from_dict(settings), PointMass, demos, tmp_path)


@pytest.mark.parametrize(
    'change',
    [
        {'observations_only': False, 'networks': {'hidden': [16], 'history': vars(WALK)}},
        {'networks': {'hidden': [16], 'history': {'length': 4}}},
    ],
    ids=['actions', 'states'],
)
def test_a_run_that_remembers_resumes_bit_for_bit_and_is_exported(tmp_path, demos, change):
    torch.set_num_threads(1)
    settings = from_dict(SMALL | change)
    runs = {name: tmp_path / name for name in ('whole', 'parted')}
    for run in runs.values():
        run.mkdir()

    def trained(run, until, *, restore=False):
        trainer = Trainer(settings, PointMass, demos, run)
        if restore:
            trainer.restore()
        while trainer.steps < until:
            trainer.iterate()
        trainer.close()
        return trainer

    whole = trained(runs['whole'], 240)
    trained(runs['parted'], 130)
    resumed = trained(runs['parted'], 240, restore=True)
    assert all(torch.equal(whole.state[name], resumed.state[name]) for name in whole.state)

    learner, state, header = load_policy(runs['whole'] / 'last.safetensors')
    history = learner.config.networks.history
    metadata = run_metadata(
        learner, state, header, demos, trained=None, joint_limits={}, robot='mass'
    )
    assert metadata.history == history and len(metadata.observation) == 4
    assert metadata.inputs == learner.obs_dim == 4 * history.length + 2 * history.actions
    memory = Memory(history, [None, None])
    golden = memory.see(demos.states[:3, present_columns(state, header)])
    path = tmp_path / 'policy.onnx'
    module = policy_module(learner, state, header)
    # Joints that a robot would drive: the two forces' own names.
    names = [replace(joint, name=name) for joint, name in zip(metadata.joints, 'xy')]
    metadata = replace(metadata, joints=tuple(names))
    found = export_policy(module, metadata, path, golden_observations=golden)
    assert read_artifact(path).metadata.history == history
    other = replace(metadata, history=History(length=9))
    assert contract_differences(metadata, other)[0].startswith('history')

    # The file, remembering by itself, answers as the learner does in the task that remembers.
    env, bare, memory = remembering(PointMass(), history), PointMass(), found.policy.memory()
    obs, seen = env.reset(seed=3), bare.reset(seed=3)
    for _ in range(20):
        with torch.no_grad():
            unit = learner.act(state, torch.as_tensor(obs[None], dtype=torch.float32))[0].numpy()
        answer = found.policy(memory.see(seen))
        memory.did(answer)
        assert answer == pytest.approx(2.0 * unit, abs=1e-4)
        obs, seen = env.step(answer).obs, bare.step(answer).obs


def test_settings_of_a_history_are_checked():
    with pytest.raises(ConfigError, match='history'):
        from_dict({'task': 'point_mass', 'networks': {'history': {'length': 0}}})
    assert (
        from_dict({'task': 'point_mass', 'networks': {'history': vars(WALK)}}).networks.history
        == WALK
    )
