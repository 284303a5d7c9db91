# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""A trained expert as a controller, without torch."""

from __future__ import annotations

import json
from pathlib import Path

from lsiq_core.robot import load_robot, RobotSpec
from lsiq_core.types import Array, names
import numpy as np
import onnx
from onnx import numpy_helper
import onnxruntime
from sim.robot import observation_terms
from sim.tracking.reference import Reference
from sim.tracking.tracking_env import Answer, Inputs

SCHEMA = 'lsiq_expert/2'
OUTPUTS = Answer._fields
REFERENCE = ('frames', 'path_m', 'first', 'last')  # of sim.tracking.reference.Reference


class ExpertController:
    """
    Follows its reference: kinematic states in, commands out, at the rate of its file.

    The state does not say how far the motion has come, so the controller keeps a clock. It
    finds the place in the reference once, at :meth:`reset`, and again where a recording ends.
    """

    def __init__(self, path: Path | str, robot: RobotSpec | str = 'atlas') -> None:
        """
        Load the network.

        :param path: an expert.onnx as written by sim.tracking.export.
        :param robot: its file, or its name or path.
        """
        if not Path(path).is_file():
            raise FileNotFoundError(f'{path}: no expert here; train one: lsiq expert train')
        model = onnx.load(str(path))
        facts = {item.key: item.value for item in model.metadata_props}
        if facts.get('schema') != SCHEMA:
            raise ValueError(
                f'{path}: schema is {facts.get("schema")!r}, expected {SCHEMA!r}; '
                'train the expert anew: lsiq expert train'
            )
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 3  # the reference in the file is no input of the network
        self._session = onnxruntime.InferenceSession(
            model.SerializeToString(), options, providers=['CPUExecutionProvider']
        )
        self.robot = load_robot(robot) if isinstance(robot, str) else robot
        wanted = self.state_names = names(observation_terms(self.robot, 'kinematic'))
        found = tuple(json.loads(facts.get('state_names', '[]')))
        if found != wanted:
            raise ValueError(f'{path}: state terms are {found}, expected {wanted}')
        self.reference = _reference(model, facts)
        self._row, self._laps = 0, 0
        self._origin = np.zeros(2)
        self._last = np.zeros((1, len(json.loads(facts['action_names']))))

    def reset(self, kinematic: Array, place_m: Array | None = None) -> None:
        """
        Set the clock to the frame that looks most like a state.

        :param kinematic: [D].
        :param place_m: [2] where the base is on the floor.
        """
        self._last[:] = 0.0
        self._jump(kinematic, np.zeros(2) if place_m is None else place_m)

    def act(self, kinematic: Array, place_m: Array) -> Answer:
        """
        Return the commands for one control period, [A], and let the clock run.

        :param kinematic: [D].
        :param place_m: [2] where the base is on the floor.
        """
        reference = self.reference
        if not reference.remaining(np.array([self._row]))[0]:
            self._jump(kinematic, place_m)
        path = reference.path_m[self._row] + self._laps * np.array(reference.stride_m)
        offset = place_m - self._origin - path
        excess = reference.beyond_leash(offset)
        self._origin, offset = self._origin + excess, offset - excess
        inputs = Inputs(kinematic[None], np.array([self._row]), offset[None], self._last)
        answer = self.answer(inputs)
        self._last = answer.residual
        later = int(reference.after(np.array([self._row]), 1)[0])
        self._laps += later < self._row
        self._row = later
        return Answer(*(part[0] for part in answer))

    def answer(self, inputs: Inputs) -> Answer:
        """Return the commands of many robots, without any clock."""
        feed = {name: value.astype(np.float32) for name, value in inputs._asdict().items()}
        found = self._session.run(None, {**feed, 'row': inputs.row.astype(np.int64)})
        return Answer(*(part.astype(np.float64) for part in found))

    def _jump(self, kinematic: Array, place_m: Array) -> None:
        self._row, self._laps = self.reference.nearest(kinematic, ahead_s=1.0), 0
        self._origin = np.asarray(place_m, np.float64) - self.reference.path_m[self._row]


def _reference(model: onnx.ModelProto, facts: dict[str, str]) -> Reference:
    arrays = {item.name: item for item in model.graph.initializer}
    parts = {name: numpy_helper.to_array(arrays[f'reference/{name}']) for name in REFERENCE}
    stride = json.loads(facts['stride_m'])
    return Reference(
        **parts,
        rate_hz=float(facts['rate_hz']),
        cyclic=json.loads(facts['cyclic']),
        stride_m=(stride[0], stride[1]),
        leash_m=float(facts.get('leash_m', Reference.leash_m)),
    )
