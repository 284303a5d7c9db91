# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Write an expert as one ONNX file that holds its reference, too."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any
import warnings

from lsiq_core.robot import RobotSpec
from lsiq_core.types import names
import numpy as np
import onnx
from onnx import numpy_helper
from sim.robot import MujocoRobot
from sim.tracking.controller import OUTPUTS, REFERENCE, SCHEMA
from sim.tracking.reference import Reference
from sim.tracking.tracker import Tracker
from sim.tracking.tracking_env import Inputs
import torch
from torch import nn, Tensor

OPSET = 17


class _Deployed(nn.Module):
    """The commands, the corrections in them, and what one unit of correction is worth."""

    def __init__(self, policy: Tracker) -> None:
        super().__init__()
        self.policy = policy

    def forward(
        self, state: Tensor, row: Tensor, offset_m: Tensor, last: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        command, residual = self.policy(state, row, offset_m, last)
        return command, residual, self.policy.residual_scale[row]


def export_onnx(
    policy: Tracker, robot: RobotSpec, reference: Reference, path: Path | str, **facts: Any
) -> None:
    """
    Write the expert.

    :param policy: the trained tracker.
    :param robot: its file.
    :param reference: what it follows.
    :param path: of the .onnx file.
    :param facts: what else the file should say about itself (seed, commit, figures).
    """
    stream, compiled = io.BytesIO(), MujocoRobot(robot)
    example = (
        torch.zeros(2, compiled.kinematic_size),
        torch.zeros(2, dtype=torch.int64),
        torch.zeros(2, 2),
        torch.zeros(2, policy.num_actions),
    )
    names_in = list(Inputs._fields)
    with warnings.catch_warnings():
        # The newer exporter needs one more package and writes weights beside the file.
        warnings.simplefilter('ignore')
        torch.onnx.export(
            _Deployed(policy).eval(),
            example,
            stream,  # type: ignore[arg-type]  # a stream serves as well
            input_names=names_in,
            output_names=list(OUTPUTS),
            dynamic_axes={name: {0: 'batch'} for name in (*names_in, *OUTPUTS)},
            opset_version=OPSET,
            dynamo=False,
        )
    model = onnx.load_model_from_string(stream.getvalue())
    for name in REFERENCE:
        array = np.asarray(getattr(reference, name))
        array = array.astype(np.float32 if array.dtype.kind == 'f' else np.int64)
        model.graph.initializer.append(numpy_helper.from_array(array, f'reference/{name}'))
    onnx.helper.set_model_props(
        model,
        {
            'schema': SCHEMA,
            'state_names': json.dumps(names(compiled.terms('kinematic'))),
            'action_names': json.dumps(names(compiled.action_terms)),
            'rate_hz': repr(reference.rate_hz),
            'cyclic': json.dumps(reference.cyclic),
            'stride_m': json.dumps(reference.stride_m),
            'leash_m': repr(reference.leash_m),
            **{name: json.dumps(value) for name, value in facts.items()},
        },
    )
    onnx.checker.check_model(model, full_check=True)
    Path(path).write_bytes(model.SerializeToString())
