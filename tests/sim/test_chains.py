# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Closed chains: a leg that is a parallelogram, so that its passive joints are known."""

from lsiq_core.robot import load_robot
import mujoco
import numpy as np
import pytest
from sim.feet import Feet, mobility
from sim.robot import kinematic_columns, MujocoRobot
from sim.tracking.feed_forward import feed_forward
from sim.tracking.reference import Reference
from sim.walking import Walking, WalkingConfig
from two_legs import write_two_legs

LEG = """<body name="SIDE_thigh" pos="0 Y 0">
  <joint name="SIDE_hip" axis="0 1 0" range="-80 80" armature="0.01"/>
  <geom type="capsule" fromto="0 0 0 0 0 -0.3" size="0.02" mass="0.2" contype="0" conaffinity="0"/>
  <body name="SIDE_foot" pos="0 0 -0.3">
    <joint name="SIDE_ankle" axis="0 1 0"/>
    <geom type="box" size="0.15 0.05 0.02" mass="0.2"/>
  </body>
</body>
<body name="SIDE_rod" pos="0.1 Y 0">
  <joint name="SIDE_rod" axis="0 1 0"/>
  <geom type="capsule" fromto="0 0 0 0 0 -0.3" size="0.01" mass="0.1" contype="0" conaffinity="0"/>
</body>"""
RODS = """<equality>
  <connect body1="left_rod" body2="left_foot" anchor="0 0 -0.3"/>
  <connect body1="right_rod" body2="right_foot" anchor="0 0 -0.3"/>
</equality>"""


@pytest.fixture
def robot(tmp_path):
    write_two_legs(tmp_path, LEG, more=RODS)
    return MujocoRobot(load_robot(tmp_path), forces=False)


def lunge(robot, angle=0.6, speed=0.0):
    """Return a frame with both hips forward, the feet on the floor."""
    frame = robot.nominal_frame()
    columns = kinematic_columns(len(frame))
    frame[columns.positions], frame[columns.velocities] = angle, speed
    frame[0] = 0.3 * np.cos(angle) + 0.02
    return frame


def test_what_is_not_observed_closes_the_chain(robot):
    qpos, qvel = robot.split(np.stack([lunge(robot, 0.6, 1.5), lunge(robot, -0.3, -1.0)]))
    for row, (angle, speed) in enumerate(((0.6, 1.5), (-0.3, -1.0))):
        for joint, sign in (('hip', 1), ('ankle', -1), ('rod', 1)):
            place = robot.model.joint(f'left_{joint}')
            assert qpos[row, place.qposadr[0]] == pytest.approx(sign * angle, abs=1e-4)
            assert qvel[row, place.dofadr[0]] == pytest.approx(sign * speed, abs=1e-3)


def test_an_episode_begins_with_the_soles_flat_on_a_floor_of_any_name(robot):
    env = Walking(robot.spec, WalkingConfig(start='stand'))
    env.reset_to(lunge(robot))
    assert list(Feet(robot).clearance_m(env.data).values()) == pytest.approx([0, 0], abs=1e-4)


def test_chains_carry_what_joints_without_motor_cannot(robot):
    # Half of the weight of trunk, thighs, rods hangs on each hip with a lever of 0.3 sin 0.6.
    # By virtual work: feet stay, trunk falls by 0.3 sin q dq, thigh and rod by half of that.
    reference = Reference.of([np.tile(lunge(robot), (10, 1))], 50.0)
    torque = feed_forward(robot, reference)[5]
    lever = 9.81 * 0.3 * np.sin(0.6)
    assert torque == pytest.approx([-lever * (3 / 2 + 0.3 / 2)] * 2, rel=1e-3)


def test_a_chain_moves_as_a_whole(robot):
    data = mujoco.MjData(robot.model)
    data.qpos[:] = robot.split(lunge(robot))[0]
    mujoco.mj_forward(robot.model, data)
    moved = mobility(robot.model, data, [])
    hip, ankle, rod = (robot.model.joint(f'left_{x}').dofadr[0] for x in ('hip', 'ankle', 'rod'))
    assert moved[hip, rod] == pytest.approx(moved[hip, hip], rel=1e-3)
    assert moved[hip, ankle] == pytest.approx(-moved[hip, hip], rel=1e-3)
