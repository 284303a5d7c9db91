# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Write an expert as one ONNX file that needs neither torch nor this package to run."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any
import warnings

from lsiq_core.robot import RobotSpec
from lsiq_core.types import names
import onnx
from sim.robot import MujocoRobot
from sim.tracking.policy import ExpertPolicy
import torch
from torch import nn, Tensor

OPSET = 17
INPUTS = ('state', 'phase', 'lateral_m')
OUTPUTS = ('torque_nm', 'residual_scale_nm')


class _Deployed(nn.Module):
    """The torques, and what one unit of the network's residual is worth at this phase."""

    def __init__(self, policy: ExpertPolicy) -> None:
        super().__init__()
        self.policy = policy

    def forward(self, state: Tensor, phase: Tensor, lateral_m: Tensor) -> tuple[Tensor, Tensor]:
        torque = self.policy(state, phase, lateral_m)
        return torque, self.policy.residual_scale(phase)


def export_onnx(policy: ExpertPolicy, robot: RobotSpec, path: Path | str, **facts: Any) -> None:
    """
    Write the expert.

    :param policy: the trained policy.
    :param robot: its file.
    :param path: of the .onnx file.
    :param facts: what else the file should say about itself (seed, commit, figures).
    """
    stream, compiled = io.BytesIO(), MujocoRobot(robot)
    example = (torch.zeros(2, compiled.kinematic_size), torch.zeros(2), torch.zeros(2))
    with warnings.catch_warnings():
        # The newer exporter needs one more package and writes weights beside the file.
        warnings.simplefilter('ignore')
        torch.onnx.export(
            _Deployed(policy).eval(),
            example,
            stream,  # type: ignore[arg-type]  # a stream serves as well
            input_names=list(INPUTS),
            output_names=list(OUTPUTS),
            dynamic_axes={name: {0: 'batch'} for name in (*INPUTS, *OUTPUTS)},
            opset_version=OPSET,
            dynamo=False,
        )
    model = onnx.load_model_from_string(stream.getvalue())
    onnx.helper.set_model_props(
        model,
        {
            'schema': 'lsiq_expert/1',
            'state_names': json.dumps(names(compiled.terms('kinematic'))),
            'action_names': json.dumps(names(compiled.action_terms)),
            'rate_hz': repr(robot.control.rate_hz),
            'gait_period_s': repr(policy.gait.period_s),
            **{name: json.dumps(value) for name, value in facts.items()},
        },
    )
    onnx.checker.check_model(model, full_check=True)
    Path(path).write_bytes(model.SerializeToString())
