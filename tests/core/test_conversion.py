# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Files of version 0.1: the base as it was read then, from today's readings."""

import math

from lsiq_core.conversion import new_states, old_states, OLD_TERMS, put_in_front
import mujoco
import numpy as np
import onnx
from onnx import helper, TensorProto
import onnxruntime

TERMS = ('knee/position', *OLD_TERMS, 'knee/velocity')


def upright_states(number):
    states = np.random.default_rng(0).normal(size=(number, len(TERMS)))
    states[:, 2:5] *= 0.3  # tilt, list, rotation
    return states


def test_new_readings_are_those_of_the_same_rotation():
    # tilt about -y, list about x, rotation about z, each axis turned by those before it.
    for row in upright_states(20):
        parts = []
        for angle, axis in zip(row[2:5], ((0, -1, 0), (1, 0, 0), (0, 0, 1))):
            parts.append(np.zeros(4))
            mujoco.mju_axisAngle2Quat(parts[-1], np.array(axis, float), angle)
        turned, both, matrix = np.zeros(4), np.zeros(4), np.zeros(9)
        mujoco.mju_mulQuat(both, parts[0], parts[1])
        mujoco.mju_mulQuat(turned, both, parts[2])
        mujoco.mju_quat2Mat(matrix, turned)
        roll, pitch, yaw = new_states(row[None], TERMS)[0, 2:5]
        np.testing.assert_allclose(roll, math.atan2(matrix[7], matrix[8]), atol=1e-12)
        np.testing.assert_allclose(pitch, -math.asin(matrix[6]), atol=1e-12)
        np.testing.assert_allclose(yaw, math.atan2(matrix[3], matrix[0]), atol=1e-12)


def test_a_graph_of_0_1_reads_what_it_read():
    size = len(TERMS)
    graph = helper.make_graph(
        [helper.make_node('Identity', ['observation'], ['seen'])],
        'policy',
        [helper.make_tensor_value_info('observation', TensorProto.FLOAT, ['batch', size])],
        [helper.make_tensor_value_info('seen', TensorProto.FLOAT, ['batch', size])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 17)], ir_version=8)
    put_in_front(model, TERMS, 'observation')
    onnx.checker.check_model(model)
    assert len(model.graph.node) < 20  # each costs a microsecond of a control step
    session = onnxruntime.InferenceSession(model.SerializeToString())
    old = upright_states(500)
    new = new_states(old, TERMS)
    assert np.abs(new - old).max() > 0.1
    (seen,) = session.run(None, {'observation': new.astype(np.float32)})
    np.testing.assert_allclose(seen, old, rtol=2e-6, atol=2e-6)
    np.testing.assert_allclose(old_states(new, TERMS), old, atol=1e-12)
