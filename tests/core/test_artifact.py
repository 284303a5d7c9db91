# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""A policy file is taken only as it was written, and nothing in it is trusted."""

from __future__ import annotations

import json
from pathlib import Path
import subprocess
import sys

from artifact_examples import metadata, TERMS, write_policy
from hypothesis import given, settings
from hypothesis import strategies as st
from lsiq_core.policy.artifact import (
    ArtifactError,
    card,
    contract_differences,
    GoldenTrace,
    OnnxPolicy,
    parse_artifact,
    read_artifact,
    verify,
    verify_artifact,
)
from lsiq_core.policy.artifact.checksum import append_checksum, CHECKSUM_LENGTH
from lsiq_core.policy.artifact.metadata import from_json, METADATA_KEY, to_json
from lsiq_core.policy.artifact.reading import MAX_FILE_BYTES
import numpy as np
import onnx
import pytest


@pytest.fixture(scope='module')
def policy_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write one policy for all tests of this file."""
    path = tmp_path_factory.mktemp('policy') / 'policy.onnx'
    write_policy(path)
    return path


def with_new_checksum(content: bytes, change) -> bytes:
    """Change the model as somebody would who can also compute the hash anew."""
    model = onnx.ModelProto()
    model.ParseFromString(content[:-CHECKSUM_LENGTH])
    change(model)
    return append_checksum(model.SerializeToString())


def with_metadata(content: bytes, change) -> bytes:
    """Change the metadata tree and give the file its checksum again."""

    def rewrite(model: onnx.ModelProto) -> None:
        tree = json.loads(model.metadata_props[0].value)
        change(tree)
        model.metadata_props[0].value = json.dumps(tree)

    return with_new_checksum(content, rewrite)


def test_metadata_keeps_every_digit(policy_path: Path) -> None:
    """One third comes back as the same float, and writing it again gives the same text."""
    found = read_artifact(policy_path).metadata
    assert found.observation[0].scale == 1 / 3
    assert found.observation_names == TERMS
    assert found.joint_names == ('hip', 'knee') and found.action == 'torque'
    assert from_json('x', to_json(found)) == found


def test_verify_replays_the_golden_traces(policy_path: Path) -> None:
    """The card names what a person must know."""
    verification = verify(policy_path)
    assert verification.action_error <= 1e-5
    text = card(verification)
    for word in ('two_joints', '100 Hz', 'knee', '-846 .. 846', verification.artifact.sha256):
        assert word in text


def test_a_golden_trace_that_differs_is_refused(policy_path: Path) -> None:
    """One part in ten thousand of the torque range is too much."""

    def change(tree: dict) -> None:
        tree['golden'][2]['action'][1] += 1e-4 * 2 * 846

    content = with_metadata(policy_path.read_bytes(), change)
    with pytest.raises(ArtifactError, match='golden trace 2'):
        verify_artifact(parse_artifact('p', content))


def test_raw_readings_are_replayed(policy_path: Path) -> None:
    """The observation that the robot would build must be the one at export."""

    def add_raw(tree: dict) -> None:
        for trace in tree['golden']:
            trace['raw'] = {'values': trace['observation']}

    artifact = parse_artifact('p', with_metadata(policy_path.read_bytes(), add_raw))
    good = verify_artifact(artifact, observe=lambda names, raw: np.array(raw['values']))
    assert good.observation_error == 0
    with pytest.raises(ArtifactError, match='another observation'):
        verify_artifact(artifact, observe=lambda names, raw: np.array(raw['values'][::-1]))


def test_every_changed_byte_is_found(policy_path: Path) -> None:
    """Flip a byte anywhere, head, weights, metadata or hash."""
    content = policy_path.read_bytes()
    for place in [
        *range(0, len(content), 997),
        *range(len(content) - CHECKSUM_LENGTH, len(content)),
    ]:
        changed = bytearray(content)
        changed[place] ^= 0x01
        with pytest.raises(ArtifactError):
            parse_artifact('p', bytes(changed))


@pytest.mark.parametrize('share', [0.0, 0.01, 0.5, 0.999])
def test_a_truncated_file_is_refused(policy_path: Path, share: float) -> None:
    """Whatever is missing at the end."""
    content = policy_path.read_bytes()
    with pytest.raises(ArtifactError, match='truncated'):
        parse_artifact('p', content[: int(share * len(content))])


@settings(deadline=None, max_examples=60)
@given(st.binary(max_size=400), st.booleans())
def test_arbitrary_bytes_never_crash_the_reader(body: bytes, with_checksum: bool) -> None:
    """Garbage is refused with our own error, even where its hash is right."""
    with pytest.raises(ArtifactError):
        parse_artifact('p', append_checksum(body) if with_checksum else body)


def test_a_large_file_is_refused_before_it_is_read(tmp_path: Path) -> None:
    """A sparse file of a terabyte costs nothing."""
    path = tmp_path / 'large.onnx'
    with open(path, 'wb') as stream:
        stream.truncate(1 << 40)
    with pytest.raises(ArtifactError, match=str(MAX_FILE_BYTES)):
        read_artifact(path)
    with pytest.raises(ArtifactError, match='no such file'):
        read_artifact(tmp_path)


def test_external_data_is_refused(policy_path: Path) -> None:
    """A tensor that points at another file would read whatever the file names."""

    def point_elsewhere(model: onnx.ModelProto) -> None:
        tensor = model.graph.initializer[0]
        tensor.data_location = onnx.TensorProto.EXTERNAL
        tensor.external_data.add(key='location', value='../../etc/passwd')

    with pytest.raises(ArtifactError, match='another file'):
        parse_artifact('p', with_new_checksum(policy_path.read_bytes(), point_elsewhere))


def _unknown_opset(model: onnx.ModelProto) -> None:
    model.opset_import[0].version = 99


def _custom_domain(model: onnx.ModelProto) -> None:
    model.opset_import.add(domain='com.evil', version=1)


def _custom_operator(model: onnx.ModelProto) -> None:
    model.graph.node[0].domain = 'com.evil'


def _loop(model: onnx.ModelProto) -> None:
    model.graph.node[0].op_type = 'Loop'


def _subgraph(model: onnx.ModelProto) -> None:
    model.graph.node[0].attribute.add(name='body', type=onnx.AttributeProto.GRAPH).g.name = 'x'


def _function(model: onnx.ModelProto) -> None:
    model.functions.add(name='f', domain='d')


def _second_input(model: onnx.ModelProto) -> None:
    model.graph.input.add().CopyFrom(model.graph.input[0])


def _wider_input(model: onnx.ModelProto) -> None:
    model.graph.input[0].type.tensor_type.shape.dim[1].dim_value = 5


def _broken_graph(model: onnx.ModelProto) -> None:
    model.graph.node[0].input[0] = 'nowhere'


def _huge_tensor(model: onnx.ModelProto) -> None:
    model.graph.initializer[0].dims[:] = [1 << 31, 1 << 31]


def _no_metadata(model: onnx.ModelProto) -> None:
    del model.metadata_props[:]


def _double_metadata(model: onnx.ModelProto) -> None:
    model.metadata_props.add(key=METADATA_KEY, value='{}')


@pytest.mark.parametrize(
    ('change', 'message'),
    [
        (_unknown_opset, 'opset'),
        (_custom_domain, 'opset'),
        (_custom_operator, 'no place'),
        (_loop, 'no place'),
        (_subgraph, 'graph of its own'),
        (_function, 'functions'),
        (_second_input, 'inputs are'),
        (_wider_input, 'metadata describes'),
        (_broken_graph, 'valid ONNX'),
        (_huge_tensor, '.'),
        (_no_metadata, 'metadata_props'),
        (_double_metadata, 'metadata_props'),
    ],
)
def test_hostile_graphs_are_refused(policy_path: Path, change, message: str) -> None:
    """Even when the hash was computed anew."""
    content = with_new_checksum(policy_path.read_bytes(), change)
    with pytest.raises(ArtifactError, match=message):
        OnnxPolicy(parse_artifact('p', content))


LONG = {'length': 5, 'every': 2, 'actions': 1, 'initialisation': 'repeat_first'}


@pytest.mark.parametrize(
    ('change', 'message'),
    [
        (lambda tree: tree.pop('rate_hz'), 'rate_hz: Field required'),
        (lambda tree: tree.update(rate_hz=0), 'must be positive'),
        (lambda tree: tree.update(rate_hz=True), 'rate_hz: Input should be a valid number'),
        (lambda tree: tree.update(rate_hz=10**400), 'finite'),
        (lambda tree: tree.update(schema='lsiq_policy/9'), 'lsiq_policy/9'),
        (lambda tree: tree.update(surprise=1), 'surprise'),
        (lambda tree: tree['joints'][0].update(surprise=1), r'joints.0.surprise'),
        (lambda tree: tree.pop('history'), 'a field is missing'),
        (lambda tree: tree['training'].update(x=float('nan')), 'not JSON'),
        (lambda tree: tree.update(golden=[]), 'no golden trace'),
        (lambda tree: tree['joints'][1].update(name='hip'), 'more than once'),
        (lambda tree: tree['joints'][0].update(effort_low_nm=900), 'must be smaller'),
        (lambda tree: tree['joints'][0].update(velocity_rad_s=-1), 'must be positive'),
        (lambda tree: tree['joints'][0].update(position_low_rad=9), 'position limits'),
        (lambda tree: tree['history'].update(length=5), 'a field is missing'),
        (lambda tree: tree['history'].update(length=0), 'history.length: Input should be greater'),
        (lambda tree: tree.update(history=LONG), 'expected 22 and 2'),
        (lambda tree: tree['training_bounds']['low'].pop(), 'lower'),
        (lambda tree: tree['golden'][0]['action'].append(1), 'golden trace 0'),
        (lambda tree: tree['observation'].pop(), '.'),
    ],
)
def test_contradictory_metadata_is_refused(policy_path: Path, change, message: str) -> None:
    """Each refusal says what was wrong."""
    content = with_metadata(policy_path.read_bytes(), change)
    with pytest.raises(ArtifactError, match=message):
        parse_artifact('p', content)


def test_deep_or_non_finite_json_is_refused() -> None:
    """The parser's own limits become our error."""
    for text in (
        '[' * 100_000,
        '{"rate_hz": NaN}',
        '{"rate_hz": Infinity}',
        '"' + 'x' * (9 << 20),
    ):
        with pytest.raises(ArtifactError):
            from_json('p', text)


def test_another_policy_than_the_expected_one_is_refused(policy_path: Path) -> None:
    """A robot may pin the one hash that it has seen work."""
    sha256 = read_artifact(policy_path).sha256
    assert read_artifact(policy_path, expected_sha256=sha256)
    with pytest.raises(ArtifactError, match='expected'):
        read_artifact(policy_path, expected_sha256='0' * 64)


def test_contracts_differ_in_what_a_robot_would_notice() -> None:
    """Training and golden traces may change in flight, rate and joints may not."""
    golden = (GoldenTrace((0.0,) * 4, (0.0,) * 2),)
    base = metadata(golden=golden)
    assert not contract_differences(base, metadata(algorithm='sqil', training={'steps': 7}))
    assert 'rate_hz' in contract_differences(base, metadata(rate_hz=50.0))[0]
    reordered = metadata(joints=base.joints[::-1])
    assert 'joints' in contract_differences(base, reordered)[0]


def test_the_runtime_needs_no_torch(policy_path: Path) -> None:
    """A process that cannot import torch verifies and runs the policy."""
    script = (
        'import sys\n'
        'for blocked in ("torch", "rclpy", "mujoco", "lsiq_core.policy.export"):\n'
        '    sys.modules[blocked] = None\n'
        'from lsiq_core.policy.artifact import verify\n'
        'verification = verify(sys.argv[1])\n'
        'print(verification.policy(verification.artifact.metadata.golden[0].observation))\n'
    )
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(
        [sys.executable, '-c', script, str(policy_path)], cwd=root, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
