# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
The hash at the end of a policy file.

A protobuf message may be followed by more fields of the same message, so the file is the
serialised model followed by one ``metadata_props`` entry of fixed length that holds the
SHA-256 of everything before it. The file stays plain ONNX for every reader, and the hash
is checked over the very bytes on disk, before any parser has seen them. It finds damage
and mix-ups; it is no signature, since whoever changes the file can compute it anew.
"""

from __future__ import annotations

import hashlib

from lsiq_core.errors import ArtifactError

CHECKSUM_KEY = 'lsiq_sha256'
_DIGITS = 64
# ModelProto.metadata_props is field 14, StringStringEntryProto.key 1 and .value 2.
_ENTRY_HEAD = (
    b'\x0a' + bytes([len(CHECKSUM_KEY)]) + CHECKSUM_KEY.encode() + b'\x12' + bytes([_DIGITS])
)
_CHECKSUM_HEAD = b'\x72' + bytes([len(_ENTRY_HEAD) + _DIGITS]) + _ENTRY_HEAD
CHECKSUM_LENGTH = len(_CHECKSUM_HEAD) + _DIGITS


def append_checksum(body: bytes) -> bytes:
    """Return the file: the serialised model and the hash over it."""
    return body + _CHECKSUM_HEAD + hashlib.sha256(body).hexdigest().encode()


def verify_checksum(where: str, content: bytes) -> str:
    """Return the hash that the file carries, or refuse a file that does not match it."""
    body_length = len(content) - CHECKSUM_LENGTH
    tail = content[max(body_length, 0) :]
    if body_length <= 0 or not tail.startswith(_CHECKSUM_HEAD):
        raise ArtifactError(
            f'{where}: does not end in a policy hash; the file is truncated, damaged in its '
            'last bytes or was not written by lsiq export'
        )
    written = tail[len(_CHECKSUM_HEAD) :]
    found = hashlib.sha256(content[:body_length]).hexdigest()
    if written != found.encode():
        raise ArtifactError(
            f'{where}: the content has hash {found[:12]}..., the file says '
            f'{written[:12].decode("ascii", "replace")}...; it was changed after its export'
        )
    return found
