# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""What torch computes and what the exported file computes are the same."""

from __future__ import annotations

from pathlib import Path

from artifact_examples import Actor, JOINTS, LIMITS_NM, metadata, TERMS, write_policy
from lsiq_core.policy.artifact import ArtifactError, read_artifact
from lsiq_core.policy.export import bounds_of, export_policy
import numpy as np
import onnx
import pytest
import torch


@pytest.mark.parametrize('layer_norm', [False, True])
def test_torch_and_onnx_agree(tmp_path: Path, layer_norm: bool) -> None:
    """On random states, on large ones and on a batch, to 1e-5 of the torque range."""
    torch.manual_seed(1)
    actor = Actor(len(TERMS), LIMITS_NM, layer_norm=layer_norm, seed=1)
    rng = np.random.default_rng(1)
    golden = rng.normal(size=(3, len(TERMS)))
    policy = export_policy(
        actor, metadata(), tmp_path / 'p.onnx', golden_observations=golden
    ).policy
    states = rng.normal(size=(500, len(TERMS))) * np.logspace(-3, 3, 500)[:, None]
    with torch.no_grad():
        expected = actor(torch.as_tensor(states, dtype=torch.float32)).numpy()
    span = 2 * np.array(LIMITS_NM)
    assert np.max(np.abs(policy.batch(states) - expected) / span) < 1e-5
    one_by_one = np.array([policy(state) for state in states])
    assert np.max(np.abs(one_by_one - expected) / span) < 1e-5


def test_one_file_and_no_path_of_this_machine(tmp_path: Path) -> None:
    """The weights are inside, the exporter's source paths are not."""
    path = tmp_path / 'policy.onnx'
    write_policy(path)
    assert [entry.name for entry in tmp_path.iterdir()] == ['policy.onnx']
    assert str(Path(__file__).parents[2]).encode() not in path.read_bytes()
    model = onnx.load(str(path))
    assert model.opset_import[0].version == 17
    assert all(
        tensor.data_location == onnx.TensorProto.DEFAULT for tensor in model.graph.initializer
    )


def test_the_same_policy_gives_the_same_file(tmp_path: Path) -> None:
    """So that its hash can be compared between machines."""
    for name in ('a.onnx', 'b.onnx'):
        write_policy(tmp_path / name, seed=3)
    assert (tmp_path / 'a.onnx').read_bytes() == (tmp_path / 'b.onnx').read_bytes()


def test_a_module_that_does_not_fit_writes_nothing(tmp_path: Path) -> None:
    """The file appears only when it verifies."""
    path = tmp_path / 'policy.onnx'
    golden = np.zeros((1, len(TERMS)))
    with pytest.raises(ArtifactError, match='answers'):
        export_policy(torch.nn.Linear(4, 3), metadata(), path, golden_observations=golden)
    with pytest.raises(ArtifactError, match='golden observations'):
        export_policy(torch.nn.Linear(4, 2), metadata(), path, golden_observations=golden[:, :3])
    with pytest.raises(ArtifactError, match='cannot be written as JSON'):
        export_policy(
            torch.nn.Linear(4, 2),
            metadata(training={'loss': float('nan')}),
            path,
            golden_observations=golden,
        )
    assert not path.exists()


def test_bounds_are_the_columns_extremes() -> None:
    """Worked out by hand."""
    bounds = bounds_of(np.array([[1.0, 5.0], [3.0, -2.0], [2.0, 0.0]]))
    assert (bounds.low, bounds.high, bounds.samples) == ((1.0, -2.0), (3.0, 5.0), 3)


def test_versions_and_joints_are_recorded(tmp_path: Path) -> None:
    """The file says what wrote it."""
    write_policy(tmp_path / 'p.onnx')
    found = read_artifact(tmp_path / 'p.onnx').metadata
    assert {'python', 'torch', 'onnx', 'onnxruntime', 'numpy'} <= set(found.versions)
    assert found.joint_names == JOINTS
