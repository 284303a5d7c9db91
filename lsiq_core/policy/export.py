# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
Write a torch policy as one self-describing ONNX file.

The module maps raw observations [B, D] in SI units to torques [B, A] in N m, or to PD targets
in rad: normaliser, network, squashing and scaling are all inside. What is written is read back
and replayed with onnxruntime before it gets its name, so no file exists that would not verify.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
import platform
import tempfile
from typing import Any
import warnings

from lsiq_core.atomic import atomic_write
from lsiq_core.policy.artifact import (
    ArtifactError,
    Bounds,
    GoldenTrace,
    parse_artifact,
    PolicyMetadata,
    Verification,
    verify_artifact,
)
from lsiq_core.policy.artifact.checksum import append_checksum
from lsiq_core.policy.artifact.metadata import check, METADATA_KEY, OUTPUTS, to_json
from lsiq_core.policy.artifact.structure import INPUT_NAME
import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime
import torch

OPSET = 17  # the first with LayerNormalization; onnxruntime 1.17 knows up to 20
IR_VERSION = 8  # what opset 17 came with
Array = npt.NDArray[np.float64]
RawOf = Callable[[Sequence[str], Array], dict[str, Any]]


def bounds_of(states: npt.NDArray[Any]) -> Bounds:
    """Return the smallest and largest value of each column of states [N, D]."""
    low, high = np.min(states, axis=0), np.max(states, axis=0)
    return Bounds(
        low=tuple(float(value) for value in low),
        high=tuple(float(value) for value in high),
        samples=len(states),
    )


def export_policy(
    module: torch.nn.Module,
    metadata: PolicyMetadata,
    path: Path | str,
    *,
    golden_observations: Array,
    raw_of: RawOf | None = None,
) -> Verification:
    """
    Write the policy file and return it verified.

    :param module: raw inputs [B, I] to N m (or rad) [B, A], float32, deterministic.
    :param metadata: the contract; its ``golden`` and ``versions`` are filled in here.
    :param path: the file to write, whole or not at all.
    :param golden_observations: inputs [N, I] of real states to be replayed by ``verify``.
    :param raw_of: turns term names and an observation into raw readings, where there are topics.
    """
    path = Path(path)
    module = module.eval()
    rows = np.atleast_2d(np.asarray(golden_observations, np.float64))
    if rows.shape[1:] != (metadata.inputs,) or not len(rows):
        raise ArtifactError(
            f'{path}: golden observations have shape {rows.shape}, expected [N, {metadata.inputs}]'
        )
    with torch.no_grad():
        answers = module(torch.as_tensor(rows, dtype=torch.float32)).double().numpy()
    if answers.shape != (len(rows), len(metadata.joints)):
        raise ArtifactError(
            f'{path}: the module answers {answers.shape}, expected '
            f'{(len(rows), len(metadata.joints))}'
        )
    metadata = replace(
        metadata,
        golden=_golden(metadata, rows, answers, raw_of),
        versions=_versions() | metadata.versions,
    )
    check(str(path), metadata)
    model = _to_onnx(module, metadata.inputs, OUTPUTS[metadata.action])
    model.metadata_props.add(key=METADATA_KEY, value=to_json(metadata))
    content = append_checksum(model.SerializeToString(deterministic=True))
    verification = verify_artifact(parse_artifact(str(path), content))
    atomic_write(path, lambda temporary: temporary.write_bytes(content))
    return verification


def _golden(
    metadata: PolicyMetadata, rows: Array, answers: Array, raw_of: RawOf | None
) -> tuple[GoldenTrace, ...]:
    names = metadata.observation_names
    return tuple(
        GoldenTrace(
            observation=tuple(float(value) for value in row),
            action=tuple(float(value) for value in answer),
            raw=None if raw_of is None else raw_of(names, row[: len(names)]),
        )
        for row, answer in zip(rows, answers)
    )


def _to_onnx(module: torch.nn.Module, terms: int, output: str) -> onnx.ModelProto:
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        path = Path(folder) / 'graph.onnx'
        # The exporter that torch announces instead needs onnxscript and may write the
        # weights beside the file; this one writes a single graph (docs/adr/0020).
        warnings.simplefilter('ignore')
        torch.onnx.export(
            module,
            (torch.zeros(2, terms),),
            path,
            dynamo=False,
            opset_version=OPSET,
            input_names=[INPUT_NAME],
            output_names=[output],
            dynamic_axes={INPUT_NAME: {0: 'batch'}, output: {0: 'batch'}},
        )
        model = onnx.load_model_from_string(path.read_bytes())
    model.ir_version = IR_VERSION
    model.doc_string = ''
    for node in model.graph.node:
        node.doc_string = ''  # may hold source paths of the exporting machine
    return model


def _versions() -> dict[str, str]:
    return {
        'python': platform.python_version(),
        'torch': torch.__version__,
        'onnx': onnx.__version__,
        'onnxruntime': onnxruntime.__version__,
        'numpy': np.__version__,
    }
