# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
The policy file: one self-describing ONNX, read and run without torch.

``read_artifact`` trusts nothing, ``verify`` replays the golden traces, ``OnnxPolicy`` runs it.
"""

from lsiq_core.errors import ArtifactError
from lsiq_core.policy.artifact.metadata import (
    Bounds,
    contract_differences,
    GoldenTrace,
    History,
    Joint,
    ObservationTerm,
    PdTarget,
    PolicyMetadata,
)
from lsiq_core.policy.artifact.reading import Artifact, parse_artifact, read_artifact
from lsiq_core.policy.artifact.runtime import OnnxPolicy
from lsiq_core.policy.artifact.verification import card, Verification, verify, verify_artifact

__all__ = [
    'Artifact',
    'ArtifactError',
    'Bounds',
    'card',
    'contract_differences',
    'GoldenTrace',
    'History',
    'Joint',
    'ObservationTerm',
    'OnnxPolicy',
    'parse_artifact',
    'PdTarget',
    'PolicyMetadata',
    'read_artifact',
    'Verification',
    'verify',
    'verify_artifact',
]
