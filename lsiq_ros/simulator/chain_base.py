# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""The base of a clip that gives the slides and hinges of its base as joints."""

from dataclasses import replace

from lsiq_core.robot import RobotSpec
from lsiq_ros.bags.samples import BagSamples, Samples
import mujoco
import numpy as np
from sim.robot import MujocoRobot


def with_chain_base(samples: BagSamples, spec: RobotSpec) -> BagSamples:
    """
    Add the odometry of the base, where joints of the recording are those of the robot's base.

    Positions of the slides count from the MJCF's own pose.
    """
    if samples.odometry or len(samples.joints) != 1:
        return samples
    robot = MujocoRobot(spec, forces=False)
    (group,) = samples.joints
    chain = robot.compiled.base_joints
    if robot.free or any(name not in group.columns for name in chain):
        return samples
    at = [group.columns.index(name) for name in chain]
    position, velocity = (group.values[key][:, at] for key in ('position', 'velocity'))
    data = mujoco.MjData(robot.model)
    pose, twist = np.zeros((len(position), 7)), np.zeros((len(position), 6))
    qpos, qvel = robot.base_qpos, robot.base_qvel
    for row in range(len(position)):
        data.qpos[qpos : qpos + 6] = position[row]
        data.qpos[qpos + 2] += robot.model.qpos0[qpos + 2]
        data.qvel[qvel : qvel + 6] = np.nan_to_num(velocity[row])
        base = robot.base_state(data)
        pose[row] = (*base.position_m, *base.orientation_xyzw)
        twist[row] = (*base.linear_m_s, *base.angular_rad_s)
    values = {'pose': pose, 'twist': twist}
    odometry = Samples('/odom', (), group.stamp_ns, group.received_ns, values, 'odom', 'base_link')
    return replace(samples, odometry=(odometry,))
