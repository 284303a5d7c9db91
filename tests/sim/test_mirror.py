# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""A mirrored motion is what a mirror shows."""

from pathlib import Path
import shutil

from lsiq_core.robot import load_robot, RobotError
import mujoco
import numpy as np
import pytest
from sim.mirror import mirror_of, names_on_the_other_side
from sim.robot import MujocoRobot

SHARED = Path(__file__).resolve().parents[3] / 'shared' / 'robots'
H1 = """
mjcf: h1_sole.xml
base: {body: pelvis, forward: x}
joints: {actuated: ['.*_hip_.*', '.*_knee', '.*_ankle', torso, '.*shoulder.*', '.*elbow']}
feet: {left_foot: left_ankle_link, right_foot: right_ankle_link}
control: {rate_hz: 50}
task: {speed_mps: 0.5, fall: {height_m: 0.6, tilt_rad: 0.8}}
"""
GO2 = """
mjcf: go2.xml
base: {body: base, forward: x}
joints: {actuated: ['.*_joint']}
feet: {FL_foot: FL_calf, FR_foot: FR_calf, RL_foot: RL_calf, RR_foot: RR_calf}
control: {rate_hz: 50, action: pd_target}
task: {speed_mps: 0.5, fall: {height_m: 0.15, tilt_rad: 0.8}}
"""


def robot_of(name, folder):
    if name in ('atlas', 'quad'):
        return MujocoRobot(load_robot(name), forces=False)
    text, model = {'h1': (H1, 'h1_sole.xml'), 'go2': (GO2, 'go2.xml')}[name]
    if not SHARED.exists():
        pytest.skip('the models of other makers are not beside this repository')
    shutil.copy(SHARED / model, folder)
    (folder / 'robot.yaml').write_text(text)
    return MujocoRobot(load_robot(str(folder / 'robot.yaml')), forces=False)


def bodies_at(robot, frame):
    """Return place and velocity of every body's centre of mass."""
    data = mujoco.MjData(robot.model)
    data.qpos[:], data.qvel[:] = robot.split(frame)
    mujoco.mj_forward(robot.model, data)
    velocity = np.zeros((robot.model.nbody, 6))
    for body in range(robot.model.nbody):
        kind = int(mujoco.mjtObj.mjOBJ_BODY)
        mujoco.mj_objectVelocity(robot.model, data, kind, body, velocity[body], 0)
    return data.xpos.copy(), velocity[:, 3:]


@pytest.mark.parametrize('name', ['atlas', 'quad', 'h1', 'go2'])
def test_bodies_are_where_the_mirror_shows_them(name, tmp_path):
    robot = robot_of(name, tmp_path)
    mirror, rng = mirror_of(robot), np.random.default_rng(0)
    feet = {foot.body for foot in robot.spec.feet.values()}
    for _ in range(5):
        frame = robot.nominal_frame()
        frame += 0.2 * rng.standard_normal(len(frame))
        places, speeds = bodies_at(robot, frame)
        found, moving = bodies_at(robot, mirror(frame))
        for foot in feet:
            (other,) = names_on_the_other_side(foot) & feet
            here, there = (robot.model.body(body).id for body in (foot, other))
            np.testing.assert_allclose(found[there], places[here] * (1, -1, 1), atol=1e-3)
            np.testing.assert_allclose(moving[there], speeds[here] * (1, -1, 1), atol=5e-3)
        np.testing.assert_allclose(mirror(mirror(frame)), frame, atol=1e-12)


def test_names_of_the_other_side():
    for name, other in (
        ('left_knee', 'right_knee'),
        ('knee_angle_r', 'knee_angle_l'),
        ('FL_hip_joint', 'FR_hip_joint'),
        ('RR_calf_joint', 'RL_calf_joint'),
        ('LeftHip', 'RightHip'),
        ('l_arm_shx', 'r_arm_shx'),
    ):
        assert other in names_on_the_other_side(name)


def test_a_joint_without_a_partner_is_named(tmp_path):
    spec = load_robot('quad')
    text = spec.mjcf_path.read_text().replace('"fl_hip"', '"the_hip"')
    (tmp_path / 'quad.xml').write_text(text)
    (tmp_path / 'robot.yaml').write_text(spec.path.read_text().replace('.*_hip', '.*hip'))
    robot = MujocoRobot(load_robot(str(tmp_path / 'robot.yaml')), forces=False)
    with pytest.raises(RobotError, match="'the_hip' is not in the sagittal plane"):
        mirror_of(robot)
