# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""What a policy graph may be made of; anything else is refused before it runs."""

from __future__ import annotations

from collections.abc import Iterator

from lsiq_core.errors import ArtifactError
import onnx

INPUT_NAME = 'observation'
OLDEST_OPSET = 13
NEWEST_OPSET = 20  # the newest that onnxruntime 1.17 knows
MAX_NODES = 2000

# Straight-line arithmetic on small tensors. Nothing that loops, branches, reads a file,
# or makes a large tensor out of a small one.
ALLOWED_OPERATORS = frozenset(
    'Abs Add Asin Atan Cast Clip Concat Cos Constant Div Elu Erf Exp Flatten Gather Gemm Identity '
    'LayerNormalization LeakyRelu MatMul Max Min Mul Neg Pow ReduceMean Relu Reshape Selu '
    'Shape Sigmoid Sin Slice Softplus Softsign Split Sqrt Squeeze Sub Tanh Transpose '
    'Unsqueeze'.split()
)


def check_structure(
    where: str, model: onnx.ModelProto, terms: int, joints: int, output: str
) -> None:
    """Refuse a graph that is not a plain function of one observation batch to actions."""
    _check_opsets(where, model)
    if model.functions or model.training_info or model.graph.sparse_initializer:
        raise ArtifactError(f'{where}: holds functions, training graphs or sparse tensors')
    if len(model.graph.node) > MAX_NODES:
        raise ArtifactError(f'{where}: {len(model.graph.node)} nodes, at most {MAX_NODES}')
    for node in model.graph.node:
        if node.domain not in ('', 'ai.onnx') or node.op_type not in ALLOWED_OPERATORS:
            raise ArtifactError(
                f'{where}: operator {node.domain or "ai.onnx"}.{node.op_type} has no place in '
                'a policy'
            )
        if any(attribute.HasField('g') or attribute.graphs for attribute in node.attribute):
            raise ArtifactError(f'{where}: {node.op_type} holds a graph of its own')
    for tensor in _tensors(model):
        if tensor.external_data or tensor.data_location != onnx.TensorProto.DEFAULT:
            raise ArtifactError(
                f'{where}: tensor {tensor.name!r} lies in another file; a policy is one file'
            )
    _check_side(where, 'input', model.graph.input, INPUT_NAME, terms)
    _check_side(where, 'output', model.graph.output, output, joints)
    try:
        onnx.checker.check_model(model)
    except (onnx.checker.ValidationError, ValueError, RuntimeError) as error:
        raise ArtifactError(f'{where}: not a valid ONNX graph ({_first_line(error)})') from error


def _check_opsets(where: str, model: onnx.ModelProto) -> None:
    found = {opset.domain or 'ai.onnx': opset.version for opset in model.opset_import}
    version = found.get('ai.onnx')
    if set(found) != {'ai.onnx'} or not OLDEST_OPSET <= (version or 0) <= NEWEST_OPSET:
        raise ArtifactError(
            f'{where}: uses opset {found}, this runtime knows ai.onnx '
            f'{OLDEST_OPSET} to {NEWEST_OPSET}'
        )


def _tensors(model: onnx.ModelProto) -> Iterator[onnx.TensorProto]:
    yield from model.graph.initializer
    for node in model.graph.node:
        for attribute in node.attribute:
            if attribute.HasField('t'):
                yield attribute.t
            yield from attribute.tensors
            if attribute.HasField('sparse_tensor'):
                yield attribute.sparse_tensor.values
                yield attribute.sparse_tensor.indices


def _check_side(where: str, side: str, values: object, name: str, width: int) -> None:
    entries = list(values)  # type: ignore[call-overload]
    if [entry.name for entry in entries] != [name]:
        raise ArtifactError(
            f'{where}: {side}s are {[entry.name for entry in entries]}, expected [{name!r}]'
        )
    tensor = entries[0].type.tensor_type
    shape = [dim.dim_value for dim in tensor.shape.dim]
    if tensor.elem_type != onnx.TensorProto.FLOAT or len(shape) != 2 or shape[1] != width:
        raise ArtifactError(
            f'{where}: {side} {name!r} has shape {shape} of type {tensor.elem_type}, the '
            f'metadata describes float32 [batch, {width}]'
        )


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
