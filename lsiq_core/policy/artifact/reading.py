# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Read a policy file without trusting it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from google.protobuf.message import DecodeError
from lsiq_core.errors import ArtifactError
from lsiq_core.policy.artifact.checksum import CHECKSUM_KEY, verify_checksum
from lsiq_core.policy.artifact.metadata import from_json, METADATA_KEY, OUTPUTS, PolicyMetadata
from lsiq_core.policy.artifact.structure import check_structure
import onnx

MAX_FILE_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True)
class Artifact:
    """A policy file whose hash, metadata and structure are in order."""

    source: str
    content: bytes
    sha256: str
    metadata: PolicyMetadata


def read_artifact(path: Path | str, *, expected_sha256: str = '') -> Artifact:
    """
    Read a policy file: size, hash, structure and metadata, in this order.

    :param path: the ``.onnx`` file.
    :param expected_sha256: refuse any other policy than this one.
    """
    content = _read_bytes(Path(path))
    return parse_artifact(str(path), content, expected_sha256=expected_sha256)


def parse_artifact(where: str, content: bytes, *, expected_sha256: str = '') -> Artifact:
    """Check the bytes of a policy file."""
    if len(content) > MAX_FILE_BYTES:
        raise ArtifactError(f'{where}: {len(content)} bytes, at most {MAX_FILE_BYTES} are read')
    sha256 = verify_checksum(where, content)
    if expected_sha256 and expected_sha256 != sha256:
        raise ArtifactError(f'{where}: has hash {sha256}, expected {expected_sha256}')
    model = onnx.ModelProto()
    try:
        model.ParseFromString(content)
    except DecodeError as error:
        raise ArtifactError(f'{where}: not an ONNX file ({error})') from error
    metadata = from_json(f'{where}: metadata', _metadata_text(where, model))
    joints = len(metadata.joints)
    check_structure(where, model, metadata.inputs, joints, OUTPUTS[metadata.action])
    return Artifact(where, content, sha256, metadata)


def _read_bytes(path: Path) -> bytes:
    if not path.is_file():
        other = ', something else has this name' if path.exists() else ''
        raise ArtifactError(f'{path}: no such file{other}')
    size = path.stat().st_size
    if size > MAX_FILE_BYTES:
        raise ArtifactError(f'{path}: {size} bytes, at most {MAX_FILE_BYTES} are read')
    try:
        return path.read_bytes()
    except OSError as error:
        raise ArtifactError(f'{path}: cannot be read ({error.strerror})') from error


def _metadata_text(where: str, model: onnx.ModelProto) -> str:
    keys = [entry.key for entry in model.metadata_props]
    if sorted(keys) != sorted([METADATA_KEY, CHECKSUM_KEY]):
        raise ArtifactError(
            f'{where}: metadata_props are {keys}, expected one {METADATA_KEY!r} and one '
            f'{CHECKSUM_KEY!r}; export the policy again'
        )
    texts = [entry.value for entry in model.metadata_props if entry.key == METADATA_KEY]
    return str(texts[0])
