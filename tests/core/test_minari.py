# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Minari datasets, written by Minari itself."""

import gymnasium
from lsiq_core.data.minari_dataset import load_minari
from lsiq_core.errors import DemonstrationError
import numpy as np
import pytest

minari = pytest.importorskip('minari', reason='the optional package minari is not installed')
data_collector = pytest.importorskip('minari.data_collector')


@pytest.fixture
def dataset(tmp_path, monkeypatch):
    monkeypatch.setenv('MINARI_DATASETS_PATH', str(tmp_path))
    rng = np.random.default_rng(0)
    buffers = []
    for number, (length, ends) in enumerate(((4, False), (3, True))):
        buffers.append(
            data_collector.EpisodeBuffer(
                id=number,
                observations=rng.normal(size=(length + 1, 11)),
                actions=rng.uniform(-1, 1, size=(length, 3)).astype(np.float32),
                rewards=[1.0] * length,
                terminations=[False] * (length - 1) + [ends],
                truncations=[False] * (length - 1) + [not ends],
            )
        )
    minari.create_dataset_from_buffers('test/hopper-v0', buffers, env=gymnasium.make('Hopper-v5'))
    return buffers


def test_episodes_actions_and_flags_are_read(dataset):
    demos = load_minari('test/hopper-v0')
    assert demos.episode_lengths.tolist() == [4, 3]
    assert demos.terminated.tolist() == [False, True]
    assert demos.returns.tolist() == [4.0, 3.0]
    assert np.allclose(demos.states[:5], dataset[0].observations)
    assert np.allclose(demos.actions[4:], dataset[1].actions)
    assert load_minari('test/hopper-v0', with_actions=False).actions is None


def test_missing_dataset_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setenv('MINARI_DATASETS_PATH', str(tmp_path))
    with pytest.raises(DemonstrationError, match='minari download no/such-v0'):
        load_minari('no/such-v0')
