# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""The loop: exact resume, checkpoints that survive a kill, and learning on the point mass."""

import json
import os
from pathlib import Path
import signal
import subprocess
import sys
import time

from lsiq_core import checkpoint
from lsiq_core.config import from_dict, merge
from lsiq_core.data.demonstrations import Demonstrations
from lsiq_core.errors import CheckpointError, ConfigError, DemonstrationError
from lsiq_core.policy.policies import load_policy, policy_function
from lsiq_core.training.metrics import read
from lsiq_core.training.simulations import Simulations
from lsiq_core.training.trainer import Trainer
from lsiq_ros.runs.tasks import built_in_demos
import numpy as np
import pytest
from sim.gym_task import GymTask
from sim.point_mass import PointMass
from small_run import SMALL
import torch


@pytest.fixture(autouse=True)
def one_thread():
    torch.set_num_threads(1)


@pytest.fixture(scope='module')
def demos():
    return built_in_demos('point_mass', 4)


def iterate(trainer, until):
    while trainer.steps < until:
        trainer.iterate()


def comparable(run):
    """Return the metric lines without the clock."""
    return [
        {name: value for name, value in line.items() if not name.startswith('time/')}
        for line in read(run)
    ]


@pytest.mark.parametrize('idm', [{}, {'window': True}, {'ema': 0.1, 'batch': 20}])
def test_resumed_run_continues_bit_for_bit(tmp_path, demos, idm):
    small = merge(SMALL, {'idm': idm})
    (tmp_path / 'whole').mkdir()
    (tmp_path / 'parted').mkdir()
    whole = Trainer(from_dict(small), PointMass, demos, tmp_path / 'whole')
    iterate(whole, 240)
    first = Trainer(from_dict(small), PointMass, demos, tmp_path / 'parted')
    iterate(first, 130)  # goes past the checkpoint at 120, as a killed run does
    second = Trainer(from_dict(small), PointMass, demos, tmp_path / 'parted')
    second.restore()
    assert second.steps == 120
    iterate(second, 240)
    for name, tensor in whole.state.items():
        assert torch.equal(tensor, second.state[name]), name
    assert comparable(tmp_path / 'whole') == comparable(tmp_path / 'parted')
    for trainer in (whole, first, second):
        trainer.close()


def test_the_inverse_dynamics_batch_is_of_its_own_size_and_holds_its_share_of_babble(
    tmp_path, demos
):
    idm = {'batch': 20, 'babble_share': 0.25}
    trainer = Trainer(from_dict(merge(SMALL, {'idm': idm})), PointMass, demos, tmp_path)
    iterate(trainer, 40)
    seen = []
    update = trainer._update
    trainer._update = lambda state, rows, *rest: (seen.append(rows), update(state, rows, *rest))[1]
    trainer.iterate()
    known, policy = seen[0].known, seen[0].policy
    assert known.shape == (20, policy.shape[1])
    assert torch.equal(known[:8], policy)
    babble = {tuple(row) for row in trainer._babble.tolist()}
    assert all(tuple(row) in babble for row in known[15:].tolist())
    trainer.close()


def test_a_run_stopped_while_it_prepares_goes_on_bit_for_bit(tmp_path, demos):
    settings = {
        **SMALL,
        'idm': {'hidden': [16], 'online': False},
        'pretraining': {
            **SMALL['pretraining'],
            'refine': True,
        },
    }
    runs = []
    for name in ('whole', 'parted'):
        (tmp_path / name).mkdir()
        runs.append(Trainer(from_dict(settings), PointMass, demos, tmp_path / name))
    iterate(runs[0], 60)
    for _ in range(3):
        runs[1].iterate()
    assert runs[1].steps == 0
    runs[1].save()
    resumed = Trainer(from_dict(settings), PointMass, demos, tmp_path / 'parted')
    resumed.restore()
    iterate(resumed, 60)
    assert all(torch.equal(resumed.state[name], runs[0].state[name]) for name in resumed.state)
    for trainer in (*runs, resumed):
        trainer.close()


def test_episodes_are_cut_where_asked_but_for_the_first_quarter():
    simulations = Simulations([PointMass() for _ in range(4)], 0, max_episode_steps=3)
    simulations.start()
    ended = []
    for _ in range(PointMass.max_episode_steps):
        simulations.send(torch.zeros((4, 2)))
        ended += [episode.length for episode in simulations.receive()[1]]
    assert set(ended) == {3, PointMass.max_episode_steps}
    assert ended.count(PointMass.max_episode_steps) == 1


def hopper_demos():
    """Random motion of the real Hopper: enough to train on, no expert needed here."""
    env, rng = GymTask('Hopper-v5'), np.random.default_rng(0)
    states = [env.reset(seed=0)]
    for _ in range(12):
        states.append(env.step(rng.uniform(-1, 1, 3)).obs)
    return Demonstrations(
        np.array(states), np.array([12]), np.array([False]), returns=np.array([12.0])
    )


def test_mujoco_simulation_resumes_bit_for_bit(tmp_path):
    settings = {**SMALL, 'task': 'Hopper-v5', 'pretraining': {}}
    runs = []
    for name, stop in (('whole', None), ('parted', 130)):
        (tmp_path / name).mkdir()
        trainer = Trainer(
            from_dict(settings), lambda: GymTask('Hopper-v5'), hopper_demos(), tmp_path / name
        )
        if stop:
            iterate(trainer, stop)
            trainer = Trainer(
                from_dict(settings), lambda: GymTask('Hopper-v5'), hopper_demos(), tmp_path / name
            )
            trainer.restore()
        iterate(trainer, 240)
        runs.append(trainer.state)
    assert all(torch.equal(runs[0][name], runs[1][name]) for name in runs[0])
    assert comparable(tmp_path / 'whole') == comparable(tmp_path / 'parted')


def test_same_seed_same_run_other_seed_other_run(tmp_path, demos):
    states = []
    for name, seed in (('a', 0), ('b', 0), ('c', 1)):
        (tmp_path / name).mkdir()
        trainer = Trainer(from_dict({**SMALL, 'seed': seed}), PointMass, demos, tmp_path / name)
        iterate(trainer, 60)
        states.append(trainer.state['critic'])
    assert torch.equal(states[0], states[1])
    assert not torch.equal(states[0], states[2])


def test_actions_of_the_expert_are_out_of_reach_from_observations(tmp_path, demos):
    """Two experts with the same states and other actions must give the same policy."""
    other = Demonstrations(
        demos.states,
        demos.episode_lengths,
        demos.terminated,
        actions=-demos.actions,
        returns=demos.returns,
    )
    states = []
    for name, shown in (('a', demos), ('b', other), ('c', demos.without_actions())):
        (tmp_path / name).mkdir()
        trainer = Trainer(from_dict(SMALL), PointMass, shown, tmp_path / name)
        iterate(trainer, 100)
        states.append(trainer.state)
    for name in states[0]:
        assert torch.equal(states[0][name], states[1][name]), name
        assert torch.equal(states[0][name], states[2][name]), name


def test_states_alone_need_the_switch(tmp_path, demos):
    settings = {**SMALL, 'observations_only': False}
    with pytest.raises(DemonstrationError, match='--observations-only'):
        Trainer(from_dict(settings), PointMass, demos.without_actions(), tmp_path)


def test_fewer_transitions_than_a_batch_are_enough(tmp_path):
    few = Demonstrations(
        np.zeros((3, 4)), np.array([2]), np.array([True]), returns=np.array([1.0])
    )
    trainer = Trainer(from_dict(SMALL), PointMass, few, tmp_path)
    iterate(trainer, 60)
    assert torch.isfinite(trainer.state['critic']).all()


def test_inverse_dynamics_is_reported_on_held_out_and_expert_transitions(tmp_path, demos):
    trainer = Trainer(from_dict(SMALL), PointMass, demos, tmp_path)
    iterate(trainer, 80)
    assert {'idm/heldout_rmse', 'idm/heldout_r2', 'idm/expert_rmse', 'idm/expert_r2'} <= set(
        trainer.latest
    )


def test_best_checkpoint_gives_the_policy_back(tmp_path, demos):
    trainer = Trainer(from_dict(SMALL), PointMass, demos, tmp_path)
    iterate(trainer, 80)
    trainer.save()
    learner, state, header = load_policy(tmp_path / 'last.safetensors')
    obs = np.array([0.3, -0.2, 0.1, 0.0])
    loaded = policy_function(learner, state)(obs)
    assert np.array_equal(loaded, trainer.policy()(obs))
    assert np.abs(loaded).max() <= 1.0
    assert header['spec']['observation'][0] == {
        'name': 'mass/position_x',
        'unit': 'm',
        'frame': 'world',
    }
    assert checkpoint.find(tmp_path).name == 'best.safetensors'


def test_of_equal_evaluations_the_later_is_the_best(tmp_path, demos):
    still = merge(SMALL, {'optimisation': {'actor_rate': 1e-12}})
    trainer = Trainer(from_dict(still), PointMass, demos, tmp_path)
    iterate(trainer, 160)
    assert trainer.evaluations >= 2
    assert checkpoint.load(tmp_path / 'best.safetensors').header['steps'] == trainer.steps


def test_other_demonstrations_cannot_continue_a_run(tmp_path, demos):
    trainer = Trainer(from_dict(SMALL), PointMass, demos, tmp_path)
    iterate(trainer, 40)
    trainer.save()
    stranger = Trainer(from_dict(SMALL), PointMass, demos.first(2), tmp_path)
    with pytest.raises(CheckpointError, match='was trained on demonstrations with hash'):
        stranger.restore()


@pytest.mark.parametrize('content', [b'', b'{}', b'\x08' * 100])
def test_broken_checkpoints_are_refused(tmp_path, content):
    (tmp_path / 'last.safetensors').write_bytes(content)
    with pytest.raises(CheckpointError, match='not a readable checkpoint'):
        checkpoint.load(tmp_path / 'last.safetensors')


def test_run_killed_at_any_moment_leaves_its_checkpoint_loadable(tmp_path):
    """Kill -9 in the middle of constant checkpointing, several times, then finish."""
    run = tmp_path / 'run'
    settings = [
        'compile=never',
        'networks.hidden=[16]',
        'idm.hidden=[16]',
        'collection.steps=100000',
        'collection.critic_start=10',
        'collection.actor_start=10',
        'report.checkpoint_every=2',
        'report.evaluation_episodes=1',
        'report.evaluate_every=500',
        'report.log_every=10',
    ]
    command = [sys.executable, '-m', 'lsiq_ros.cli.main', 'train']
    first = [*command, '--task', 'point_mass', '--observations-only', '--out', str(run)]
    for setting in settings:
        first += ['--set', setting]
    env = {**os.environ, 'PYTHONPATH': str(Path(__file__).resolve().parents[2])}
    reached = 0
    for attempt in range(3):
        line = first if attempt == 0 else [*command, '--resume', str(run)]
        with subprocess.Popen(line, env=env, stdout=subprocess.DEVNULL) as process:
            wait_for_checkpoint(run, process, after=reached)
            time.sleep(0.37 * attempt)
            process.send_signal(signal.SIGKILL)
        tensors, header = checkpoint.load(run / 'last.safetensors')
        assert header['steps'] > reached
        assert len(tensors['replay.rows']) == header['steps']
        reached = header['steps']


def wait_for_checkpoint(run, process, after):
    deadline = time.monotonic() + 120
    path = run / 'last.safetensors'
    while time.monotonic() < deadline and process.poll() is None:
        if path.exists() and checkpoint.load(path).header['steps'] > after + 4:
            return
        time.sleep(0.05)
    raise AssertionError(f'no checkpoint after step {after}, exit code {process.poll()}')


def test_interrupted_run_saves_and_says_how_to_go_on(tmp_path):
    run = tmp_path / 'run'
    env = {**os.environ, 'PYTHONPATH': str(Path(__file__).resolve().parents[2])}
    line = [sys.executable, '-m', 'lsiq_ros.cli.main', 'train', '--task', 'point_mass']
    line += ['--out', str(run), '--set', 'report.checkpoint_every=50']
    with subprocess.Popen(line, env=env, stdout=subprocess.PIPE, text=True) as process:
        wait_for_checkpoint(run, process, after=0)
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert f'continue with: lsiq train --resume {run}' in out
    assert json.loads(json.dumps(checkpoint.load(run / 'last.safetensors').header))['steps'] > 50


@pytest.mark.slow
@pytest.mark.parametrize('name', ['lsiq', 'lsiq_h', 'lsiq_hc'])
def test_point_mass_is_learned_from_states_alone(tmp_path, name):
    from lsiq_core.task_configs import settings

    values = {
        **settings('point_mass'),
        'observations_only': True,
        'algorithm': {**settings('point_mass')['algorithm'], 'name': name},
    }
    trainer = Trainer(from_dict(values), PointMass, built_in_demos('point_mass', 25), tmp_path)
    while not trainer.finished:
        trainer.iterate()
    assert trainer.result()['success_rate'] >= 0.95


def test_a_model_that_nothing_teaches_is_refused(tmp_path):
    values = {**SMALL, 'idm': {'online': False}, 'pretraining': {}}
    with pytest.raises(ConfigError, match='nothing would teach'):
        Trainer(from_dict(values), PointMass, built_in_demos('point_mass', 2), tmp_path)
