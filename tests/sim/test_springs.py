# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Springs under load: a leg whose shank is on a spring that nobody observes."""

from lsiq_core.robot import load_robot
import numpy as np
import pytest
from sim.feet import Feet
from sim.robot import kinematic_columns, MujocoRobot
from sim.walking import Walking, WalkingConfig
from two_legs import SIDES, write_two_legs

STIFFNESS = 2000.0  # N/m
LEG = """<body name="SIDE_thigh" pos="0 Y 0">
  <joint name="SIDE_hip" axis="0 1 0" range="-80 80" armature="0.01"/>
  <geom type="capsule" fromto="0 0 0 0 0 -0.2" size="0.02" mass="0.2" contype="0" conaffinity="0"/>
  <body name="SIDE_foot" pos="0 0 -0.3">
    <joint name="SIDE_spring" type="slide" axis="0 0 1" stiffness="2000" damping="5"/>
    <geom type="sphere" size="0.02" mass="0.5" solref="0.004 1"/>
  </body>
</body>"""


@pytest.fixture
def robot(tmp_path):
    write_two_legs(tmp_path, LEG, mass_kg=4.0)
    return MujocoRobot(load_robot(tmp_path), forces=False)


def springs(robot, qpos):
    return [qpos[robot.model.joint(f'{side}_spring').qposadr[0]] for side, _ in SIDES]


def test_springs_give_way_by_as_much_as_the_base_was_recorded_lower(robot):
    frame = robot.nominal_frame()
    frame[0] = 0.32 - 0.015
    qpos, _ = robot.split(frame)
    assert springs(robot, qpos) == pytest.approx([0.015, 0.015], abs=1e-3)


def test_a_foot_in_the_air_hangs_on_its_spring(robot):
    frame = robot.nominal_frame()
    frame[0] = 0.32 - 0.01
    first = kinematic_columns(len(frame)).positions.start
    frame[first] = 0.8  # the left leg is lifted
    left, right = springs(robot, robot.split(frame)[0])
    assert left == pytest.approx(-0.5 * 9.81 * np.cos(0.8) / STIFFNESS, abs=2e-4)
    assert right == pytest.approx(0.01, abs=1e-3)


def test_an_episode_begins_where_the_springs_carry_the_robot(robot):
    # Half of trunk and thighs on each spring: 4.4 kg, two springs.
    rests = 4.4 * 9.81 / 2 / STIFFNESS
    frame = robot.nominal_frame()
    frame[0] = 0.32 - rests
    env = Walking(robot.spec, WalkingConfig(start='stand'))
    env.reset_to(frame)
    assert list(Feet(robot).clearance_m(env.data).values()) == pytest.approx([0, 0], abs=1e-3)
    for _ in range(5):
        env.step(env.robot.rest)
    assert env.kinematic()[0] == pytest.approx(frame[0], abs=2e-3)  # it neither falls nor jumps
