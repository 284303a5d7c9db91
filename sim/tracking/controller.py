# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""The trained expert as a controller, without torch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from lsiq_core.robot import load_robot, RobotSpec
from lsiq_core.types import names
import numpy as np
import numpy.typing as npt
import onnxruntime
from sim.gait import Gait
from sim.robot import kinematic_columns, observation_terms

Array = npt.NDArray[Any]

_PHASE_GRID = np.arange(400) / 400


class ExpertController:
    """
    Walks: kinematic states in, torques in N m out, at the rate of its file.

    The state does not say how far the gait has come, so the controller keeps a clock. It
    finds the phase once, at :meth:`reset`, by the nearest frame of the reference gait.
    """

    def __init__(self, path: Path | str, robot: RobotSpec | str = 'atlas') -> None:
        """
        Load the network.

        :param robot: its file, or its name or path.
        :param path: an expert.onnx as written by sim.tracking.export.
        """
        if not Path(path).is_file():
            raise FileNotFoundError(f'{path}: no expert here; train one: lsiq expert train')
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(
            str(path), options, providers=['CPUExecutionProvider']
        )
        facts = self._session.get_modelmeta().custom_metadata_map
        self.robot = load_robot(robot) if isinstance(robot, str) else robot
        self.gait = Gait(self.robot)
        wanted = self.state_names = names(observation_terms(self.robot, 'kinematic'))
        found = tuple(json.loads(facts.get('state_names', '[]')))
        if found != wanted:
            raise ValueError(f'{path}: state terms are {found}, expected {wanted}')
        self.rate_hz = float(facts['rate_hz'])
        self._phase_step = 1 / (self.rate_hz * float(facts['gait_period_s']))
        self.phase = 0.0

    def reset(self, kinematic: Array) -> None:
        """Set the clock to the phase that looks most like this state, [D]."""
        self.phase = nearest_phase(self.gait, kinematic)

    def act(self, kinematic: Array, lateral_m: float) -> Array:
        """
        Return the torques for one control period and let the clock run.

        :param kinematic: [D].
        :param lateral_m: how far left of its line the robot walks.
        :return: [A] N m.
        """
        torque, _ = self.torque(kinematic[None], np.array([self.phase]), np.array([lateral_m]))
        self.phase = (self.phase + self._phase_step) % 1.0
        return torque[0]

    def torque(self, state: Array, phase: Array, lateral_m: Array) -> tuple[Array, Array]:
        """
        Return the torques of many robots, without any clock.

        :param state: [B, D].
        :param phase: [B].
        :param lateral_m: [B].
        :return: torques [B, A] N m, and what one unit of residual is worth there.
        """
        inputs = {'state': state, 'phase': phase, 'lateral_m': lateral_m}
        torque, scale = self._session.run(
            None, {name: value.astype(np.float32) for name, value in inputs.items()}
        )
        return torque.astype(np.float64), scale.astype(np.float64)


def nearest_phase(gait: Gait, kinematic: Array) -> float:
    """Return the phase whose leg angles and velocities are nearest to those of the state."""
    at = kinematic_columns(len(kinematic))
    angles = (gait.joint_angles(_PHASE_GRID) - kinematic[at.positions]) / 0.1
    velocities = (gait.joint_velocities(_PHASE_GRID) - kinematic[at.velocities]) / 2.0
    # Ankles tell least: they are the lightest joints and the noisiest.
    weight = np.array([1, 1, 1, 1, 0.1] * 2)
    distance = (weight * (angles**2 + velocities**2)).sum(-1)
    return float(_PHASE_GRID[np.argmin(distance)])
