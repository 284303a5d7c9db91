# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Policies and robots that do not fit are refused over real services, with the reason."""

from __future__ import annotations

from pathlib import Path
import time

from control_harness import ACTIVATE, CONFIGURE, Harness
from lsiq_core.policy.artifact.checksum import append_checksum, CHECKSUM_LENGTH
import onnx
import pytest
from spring_policy import RATE_HZ, write_policy


def test_arming_without_configure_is_refused(harness: Harness) -> None:
    answer = harness.arm()
    assert not answer.success and 'configure first' in answer.message
    assert not harness.transition(ACTIVATE)
    assert harness.lifecycle == 'unconfigured'


def damaged(harness: Harness, change) -> Path:
    content = (harness.folder / 'policy.onnx').read_bytes()
    path = harness.folder / 'damaged.onnx'
    path.write_bytes(change(content))
    return path


def unknown_opset(content: bytes) -> bytes:
    model = onnx.ModelProto()
    model.ParseFromString(content[:-CHECKSUM_LENGTH])
    model.opset_import[0].version = 99
    return append_checksum(model.SerializeToString())


def without_metadata(content: bytes) -> bytes:
    model = onnx.ModelProto()
    model.ParseFromString(content[:-CHECKSUM_LENGTH])
    del model.metadata_props[:]
    return append_checksum(model.SerializeToString())


def one_byte_changed(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


@pytest.mark.parametrize(
    ('change', 'reason'),
    [
        (lambda content: content[: len(content) // 2], 'truncated'),
        (one_byte_changed, 'changed after its export'),
        (unknown_opset, 'opset'),
        (without_metadata, 'metadata_props'),
        (lambda content: b'', 'truncated'),
    ],
)
def test_damaged_policies_are_refused(harness: Harness, change, reason: str) -> None:
    harness.set_text(policy=str(damaged(harness, change)))
    assert not harness.transition(CONFIGURE)
    harness.until(lambda: reason in harness.refusal(), reason)
    assert harness.lifecycle == 'unconfigured'


@pytest.mark.parametrize(
    ('pinned', 'reason'),
    [
        ({'robot': 'spot'}, "made for robot 'two_joints'"),
        ({'robot_model_sha256': 'ab' * 32}, 'made for robot_model_sha256'),
        ({'policy_sha256': 'ab' * 32}, 'abab'),
        ({'policy': '/nowhere/policy.onnx'}, '/nowhere/policy.onnx'),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else '',
)
def test_what_is_pinned_and_is_not_so_is_refused(harness: Harness, pinned, reason: str) -> None:
    harness.set_text(**pinned)
    assert not harness.transition(CONFIGURE)
    harness.until(lambda: reason in harness.refusal(), reason)
    assert harness.lifecycle == 'unconfigured'


@pytest.mark.parametrize(
    ('names', 'reason'),
    [
        (['hip'], "missing: ['knee']"),
        (['hip', 'knee', 'extra'], "not in the policy: ['extra']"),
        (['hip', 'knee', 'hip'], "named twice: ['hip']"),
    ],
)
def test_other_joints_are_refused(harness: Harness, names: list[str], reason: str) -> None:
    harness.names = names
    time.sleep(0.1)
    assert not harness.transition(CONFIGURE)
    harness.until(lambda: reason in harness.refusal(), reason)


def test_the_wrong_rate_is_refused(harness: Harness) -> None:
    harness.rate_hz = RATE_HZ / 2
    time.sleep(0.2)
    assert not harness.transition(CONFIGURE)
    harness.until(lambda: 'sends states at' in harness.refusal(), 'the reason')
    harness.calm()
    fast = write_policy(harness.folder / 'fast.onnx', rate_hz=COMMAND_MISMATCH_HZ)
    harness.set_text(policy=str(fast))
    assert not harness.transition(CONFIGURE)
    harness.until(lambda: 'whole multiple' in harness.refusal(), 'the reason')


COMMAND_MISMATCH_HZ = 30.0


def test_hot_swap_takes_only_the_same_contract(harness: Harness) -> None:
    softer = write_policy(harness.folder / 'softer.onnx', stiffness=100.0)
    other = write_policy(harness.folder / 'other.onnx', robot='three_joints')
    harness.drive()
    harness.set_text(policy=str(other))
    answer = harness.swap()
    assert not answer.success and 'another contract' in answer.message
    harness.set_text(policy=str(damaged(harness, one_byte_changed)))
    assert not harness.swap().success
    assert harness.efforts[-1][1] == pytest.approx([20, 20], abs=1e-3)
    harness.set_text(policy=str(softer))
    assert harness.swap().success
    harness.until(lambda: harness.efforts[-1][1] == pytest.approx([10, 10], abs=1e-3), 'softer')
    assert not harness.seen_errors
