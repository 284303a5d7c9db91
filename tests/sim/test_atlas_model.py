# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
The model against an independent computation.

From the facts (../shared/facts, where present) numpy alone builds the tree, the mass matrix
from geometric Jacobians, and the bias forces from Lagrange's equations by finite differences.
Where the facts are absent, figures that this computation gave stand in for it.
"""

import json
from pathlib import Path

from lsiq_core.robot import load_robot
import mujoco
import numpy as np
import pytest
from sim.mjcf import compile_robot

FACTS = Path(__file__).resolve().parents[3] / 'shared' / 'facts' / 'atlas_facts.json'
GRAVITY = 9.81


def pose(joints):
    """Return a fixed position and velocity of every joint by name, within its range."""
    rng = np.random.default_rng(7)
    positions = {name: float(rng.uniform(-0.2, 0.15)) for name in joints}
    velocities = {name: float(rng.normal()) for name in joints}
    return positions, velocities


class Tree:
    """The robot of the facts, in numpy."""

    def __init__(self, facts, joints):
        self.bodies = facts['bodies']
        self.joints = joints

    def masses_and_height(self, q):
        """Return the mass matrix without armature, and sum of m z."""
        order = {name: column for column, name in enumerate(self.joints)}
        frames = {'world': (np.zeros(3), np.eye(3), [])}
        matrix, moment = np.zeros((len(order), len(order))), 0.0
        for body in self.bodies:
            place, turn, chain = frames[body['parent']]
            place = place + turn @ np.array(body['pos'])
            turn = turn @ rotation_of(body['quat_wxyz'])
            chain = list(chain)
            for joint in body['joints']:
                if joint['name'] not in order:
                    continue
                column, axis = order[joint['name']], np.array(joint['axis'])
                if joint['type'] == 'slide':
                    place = place + turn @ axis * q[column]
                    chain.append((column, 'slide', turn @ axis, None))
                else:
                    chain.append((column, 'hinge', turn @ axis, place))
                    turn = turn @ rodrigues(axis, q[column])
            frames[body['name']] = (place, turn, chain)
            com = place + turn @ np.array(body['com'])
            linear, angular = np.zeros((3, len(order))), np.zeros((3, len(order)))
            for column, kind, axis, origin in chain:
                if kind == 'slide':
                    linear[:, column] = axis
                else:
                    linear[:, column] = np.cross(axis, com - origin)
                    angular[:, column] = axis
            i = body['inertia_body_axes']
            inertia = np.array(
                [
                    [i['ixx'], i['ixy'], i['ixz']],
                    [i['ixy'], i['iyy'], i['iyz']],
                    [i['ixz'], i['iyz'], i['izz']],
                ]
            )
            matrix += body['mass'] * linear.T @ linear
            matrix += angular.T @ turn @ inertia @ turn.T @ angular
            moment += body['mass'] * com[2]
        return matrix, moment

    def mass_matrix(self, q):
        armature = [0.0 if name.startswith('pelvis') else 0.01 for name in self.joints]
        return self.masses_and_height(q)[0] + np.diag(armature)

    def bias(self, q, dq, step=1e-5):
        """Return dM/dt dq - d(dq M dq / 2)/dq + dV/dq."""
        total = np.zeros(len(q))
        for k in range(len(q)):
            shift = np.zeros(len(q))
            shift[k] = step
            ahead, moment_ahead = self.masses_and_height(q + shift)
            behind, moment_behind = self.masses_and_height(q - shift)
            slope = (ahead - behind) / (2 * step)
            total += slope @ dq * dq[k]
            total[k] -= 0.5 * dq @ slope @ dq
            total[k] += GRAVITY * (moment_ahead - moment_behind) / (2 * step)
        return total


def rotation_of(quaternion):
    """Return the matrix of a quaternion w x y z."""
    matrix = np.empty(9)
    mujoco.mju_quat2Mat(matrix, np.array(quaternion) / np.linalg.norm(quaternion))
    return matrix.reshape(3, 3)


def rodrigues(axis, angle):
    """Return the rotation about an axis."""
    x, y, z = axis
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross


def build_model(upper_body=False):
    """Return the model of Atlas."""
    robot = load_robot('atlas_upper_body' if upper_body else 'atlas')
    return compile_robot(robot, forces=False).model


def from_mujoco(upper_body=False, still=()):
    """Return joints, position, velocity, mass matrix and bias forces of our model."""
    model = build_model(upper_body)
    data = mujoco.MjData(model)
    names = [model.joint(i).name for i in range(model.njnt)]
    positions, velocities = pose(names)
    for i, name in enumerate(names):
        moves = name not in still
        data.qpos[i] = positions[name] * moves + (0.94 if name == 'pelvis_ty' else 0.0)
        data.qvel[i] = velocities[name] * moves
    mujoco.mj_forward(model, data)
    matrix = np.zeros((model.nv, model.nv))
    for i in range(model.nv):  # column by column, whatever the storage
        unit = np.zeros(model.nv)
        unit[i] = 1
        mujoco.mj_mulM(model, data, matrix[i], unit)
    q = data.qpos - [0.94 if name == 'pelvis_ty' else 0.0 for name in names]
    return names, q, data.qvel.copy(), matrix, data.qfrc_bias.copy()


@pytest.mark.parametrize('upper_body', [False, True])
def test_dynamics_agree_with_the_facts(upper_body):
    if not FACTS.exists():
        pytest.skip('the facts are not beside this repository')
    wrists = ('l_arm_wry2', 'r_arm_wry2')  # the facts have no hand behind them
    names, q, dq, matrix, bias = from_mujoco(upper_body, still=wrists)
    known = [i for i, name in enumerate(names) if name not in wrists]
    tree = Tree(json.loads(FACTS.read_text()), [names[i] for i in known])
    expected = tree.mass_matrix(q[known])
    np.testing.assert_allclose(matrix[np.ix_(known, known)], expected, atol=1e-9)
    np.testing.assert_allclose(bias[known], tree.bias(q[known], dq[known]), atol=1e-5, rtol=1e-7)


def test_dynamics_agree_with_stored_figures():
    # Printed by Tree.mass_matrix and Tree.bias above for the pose of this file.
    diagonal = [
        171.663,
        171.663,
        171.663,
        41.5662,
        44.8112,
        6.24944,
        4.78799,
        4.77395,
        0.0681648,
        0.855748,
        0.0295838,
        4.69056,
        4.76326,
        0.0644285,
        0.851539,
        0.0295838,
    ]
    forces = [
        -16.672,
        10.936,
        1552.8,
        47.672,
        18.896,
        21.135,
        -23.591,
        7.5892,
        -0.6664,
        -7.8738,
        0.30531,
        -5.1677,
        -18.508,
        0.59559,
        -2.0849,
        1.0211,
    ]
    *_, matrix, bias = from_mujoco()
    np.testing.assert_allclose(np.diag(matrix), diagonal, rtol=1e-4)
    np.testing.assert_allclose(bias, forces, rtol=1e-3, atol=2e-2)


def test_locked_upper_body_weighs_what_the_facts_say():
    model = build_model()
    assert mujoco.mj_getTotalmass(model) == pytest.approx(171.6626, abs=1e-4)
    pelvis = model.body('pelvis')
    assert pelvis.mass[0] == pytest.approx(135.4406, abs=1e-4)
    np.testing.assert_allclose(pelvis.ipos, [-0.00989795, 0.00132678, 0.423075], atol=1e-6)
    turn = rotation_of(pelvis.iquat)
    inertia = turn @ np.diag(pelvis.inertia) @ turn.T
    np.testing.assert_allclose(np.diag(inertia), [10.79328, 8.31189, 5.39214], atol=1e-4)
    np.testing.assert_allclose(inertia[0, 2], 1.30277, atol=1e-4)


def test_only_the_soles_touch_the_floor():
    model = build_model()
    floor = model.geom('floor').id
    touching = {
        model.geom(i).name
        for i in range(model.ngeom)
        if i != floor and (model.geom_conaffinity[i] or model.geom_contype[i])
    }
    assert touching == {
        'left_foot_front',
        'left_foot_back',
        'right_foot_front',
        'right_foot_back',
    }
    assert model.nmesh == 0


def test_motors_follow_the_joints_and_their_limits():
    model = build_model(upper_body=True)
    gears = {'hip_flexion_l': 840, 'knee_angle_r': 890, 'back_bky': 445, 'l_arm_wry2': 25}
    motors = [model.actuator(i).name for i in range(model.nu)]
    assert len(motors) == 27
    assert motors == [model.joint(6 + i).name for i in range(27)]
    for name, gear in gears.items():
        assert model.actuator(name).ctrlrange[1] == pytest.approx(0.95 * gear)
    assert (model.actuator_gear[:, 0] == 1.0).all()
