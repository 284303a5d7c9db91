# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""A run's checkpoint becomes a policy file that computes what the learner computes."""

from __future__ import annotations

from pathlib import Path

from lsiq_core import checkpoint
from lsiq_core.config import NetworkConfig, RunConfig, to_dict
from lsiq_core.data.batch import pack
from lsiq_core.data.demonstrations import Demonstrations
from lsiq_core.learning.learner import Learner
from lsiq_core.policy.artifact import ArtifactError
from lsiq_core.policy.export import export_policy
from lsiq_core.policy.export_run import (
    golden_states,
    observed_columns,
    policy_module,
    run_metadata,
    training_bounds,
)
from lsiq_core.policy.policies import load_policy
import numpy as np
import pytest
import torch

TERMS = ('hip/position', 'knee/position', 'hip/velocity')
LIMITS = {'hip': {'velocity_rad_s': 9.0, 'position_low_rad': -1.0, 'position_high_rad': 1.0}}


def demonstrations() -> Demonstrations:
    states = np.random.default_rng(0).normal(size=(42, 3)).astype(np.float32)
    return Demonstrations(states, np.array([20, 20]), np.array([False, False]))


def write_run(run: Path, normalise: str, seen: tuple[float, ...] = (1, 1, 1)) -> Demonstrations:
    demos = demonstrations()
    networks = NetworkConfig(normalise=normalise, action_gain=0.5)
    learner = Learner(RunConfig(task='swing', networks=networks), 3, 2)
    generator = torch.Generator().manual_seed(0)
    statistics = {'obs_mean': torch.tensor([0.5, -1.0, 2.0]), 'obs_std': torch.tensor([1.0, 2, 3])}
    statistics['actor_mask'] = torch.tensor(seen, dtype=torch.float32)
    state = learner.init(generator, statistics)
    header = {
        'config': to_dict(learner.config),
        'steps': 7,
        'seconds': 1.25,
        'best': 0.5,
        'demonstrations': {'source': 'x.npz', 'sha256': demos.sha256, 'episodes': 2},
        'spec': {
            'task': 'swing',
            'rate_hz': 50.0,
            'observation': [{'name': name, 'unit': 'rad', 'frame': ''} for name in TERMS],
            'action': [
                {'name': 'hip/effort', 'unit': 'N m', 'low': -10.0, 'high': 30.0},
                {'name': 'knee/effort', 'unit': 'N m', 'low': -5.0, 'high': 5.0},
            ],
        },
        'versions': {'torch': 'x'},
    }
    rows = pack(
        torch.full((4, 3), -7.0), torch.zeros(4, 2), torch.full((4, 3), 9.0), torch.zeros(4)
    )
    tensors = {f'learner.{name}': tensor for name, tensor in state.items()}
    checkpoint.save(run / 'last.safetensors', {**tensors, 'replay.rows': rows}, header)
    return demos


@pytest.mark.parametrize('normalise', ['none', 'expert'])
def test_the_file_answers_as_the_learner_does(tmp_path: Path, normalise: str) -> None:
    demos = write_run(tmp_path, normalise)
    learner, state, header = load_policy(tmp_path)
    trained = training_bounds(tmp_path, learner, observed_columns(state))
    metadata = run_metadata(
        learner, state, header, demos, trained=trained, joint_limits=LIMITS, robot='swinger'
    )
    found = export_policy(
        policy_module(learner, state, header),
        metadata,
        tmp_path / 'policy.onnx',
        golden_observations=golden_states(demos, observed_columns(state)),
    )
    states = np.random.default_rng(1).normal(size=(200, 3)) * 20
    with torch.no_grad():
        unit = learner.act(state, torch.as_tensor(states, dtype=torch.float32)).numpy()
    expected = np.array([10.0, 0.0]) + np.array([20.0, 5.0]) * unit
    assert np.max(np.abs(found.policy.batch(states) - expected) / [40, 10]) < 1e-5
    described = found.artifact.metadata
    assert described.observation[1].offset == -1.0 and described.observation[1].scale == 2.0
    assert described.joints[0].velocity_rad_s == 9.0 and described.joints[1].velocity_rad_s is None
    assert described.training_bounds.low == (-7.0,) * 3
    assert described.training_bounds.high == (9.0,) * 3
    assert described.demonstrations_sha256 == demos.sha256
    assert len(described.golden) == 8


def test_other_demonstrations_are_refused(tmp_path: Path) -> None:
    demos = write_run(tmp_path, 'expert')
    learner, state, header = load_policy(tmp_path)
    with pytest.raises(ArtifactError, match='the run learned from'):
        run_metadata(
            learner, state, header, demos.first(1), trained=None, joint_limits={}, robot='r'
        )


def test_a_policy_of_0_1_that_reads_the_base_is_not_exported(tmp_path: Path) -> None:
    write_run(tmp_path, 'expert')
    learner, state, header = load_policy(tmp_path)
    state['reads_0_1'] = torch.tensor([0])
    with pytest.raises(ArtifactError, match='of version 0.1'):
        policy_module(learner, state, header)


def test_what_the_policy_does_not_see_is_not_asked_for(tmp_path: Path) -> None:
    demos = write_run(tmp_path, 'expert', seen=(1, 0, 1))
    learner, state, header = load_policy(tmp_path)
    columns = observed_columns(state)
    trained = training_bounds(tmp_path, learner, columns)
    metadata = run_metadata(
        learner, state, header, demos, trained=trained, joint_limits=LIMITS, robot='swinger'
    )
    found = export_policy(
        policy_module(learner, state, header),
        metadata,
        tmp_path / 'policy.onnx',
        golden_observations=golden_states(demos, columns),
    )
    assert metadata.observation_names == ('hip/position', 'hip/velocity')
    assert metadata.observation[1].offset == 2.0
    states = np.random.default_rng(1).normal(size=(50, 3))
    with torch.no_grad():
        unit = learner.act(state, torch.as_tensor(states, dtype=torch.float32)).numpy()
    expected = np.array([10.0, 0.0]) + np.array([20.0, 5.0]) * unit
    assert np.max(np.abs(found.policy.batch(states[:, [0, 2]]) - expected)) < 1e-4


def test_golden_states_are_neither_pushes_nor_all_the_same():
    """Of every part of five states, deviations 0 to 3 and one push, the one in the middle."""
    states = (
        np.tile([[0.0], [2.0], [1.0], [3.0], [40.0]], (8, 1)) * np.repeat([1, -1], 20)[:, None]
    )
    demos = Demonstrations(states, np.array([39]), np.array([False]))
    found = golden_states(demos, [0])
    assert found.ravel().tolist() == [2.0] * 4 + [-2.0] * 4
