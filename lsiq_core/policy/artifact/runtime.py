# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Run a policy with onnxruntime: raw SI observation in, N m (or rad) out. No torch anywhere."""

from __future__ import annotations

from lsiq_core.errors import ArtifactError
from lsiq_core.history import Memory
from lsiq_core.policy.artifact.metadata import OUTPUTS
from lsiq_core.policy.artifact.reading import Artifact
from lsiq_core.policy.artifact.structure import INPUT_NAME
import numpy as np
import numpy.typing as npt
import onnxruntime

Array = npt.NDArray[np.float64]


class OnnxPolicy:
    """A deterministic policy of one input at a time, on one thread."""

    def __init__(self, artifact: Artifact) -> None:
        self.artifact = artifact
        self.metadata = artifact.metadata
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
        options.log_severity_level = 3
        try:
            self._session = onnxruntime.InferenceSession(
                artifact.content, options, providers=['CPUExecutionProvider']
            )
        except Exception as error:  # onnxruntime has no public root of its errors
            raise ArtifactError(
                f'{artifact.source}: onnxruntime {onnxruntime.__version__} refuses it ({error})'
            ) from error
        # Bound once to memory of our own: handing arrays over took a third of a call.
        self._row = np.zeros((1, self.metadata.inputs), np.float32)
        self._answer = np.zeros((1, len(self.metadata.joints)), np.float32)
        self._binding = self._session.io_binding()
        self._output_name = OUTPUTS[self.metadata.action]
        for bind, name, array in (
            (self._binding.bind_input, INPUT_NAME, self._row),
            (self._binding.bind_output, self._output_name, self._answer),
        ):
            bind(name, 'cpu', 0, array.dtype, array.shape, array.ctypes.data)

    def memory(self) -> Memory:
        """Return an empty memory of one robot; it makes the input of each observation."""
        metadata = self.metadata
        actions = [f'{name}/{OUTPUTS[metadata.action]}' for name in metadata.joint_names]
        return Memory.of(metadata.history, metadata.observation_names, actions)

    def __call__(self, inputs: Array) -> Array:
        """Return the torques or PD targets [A] for one input [I] of :meth:`memory`."""
        self._row[0] = inputs
        self._session.run_with_iobinding(self._binding)
        answer: Array = self._answer[0].astype(np.float64)
        return answer

    def batch(self, inputs: Array) -> Array:
        """Return the answers [B, A] to inputs [B, I]."""
        rows = np.ascontiguousarray(inputs, np.float32)
        answers: Array = self._session.run([self._output_name], {INPUT_NAME: rows})[0]
        return answers.astype(np.float64)
