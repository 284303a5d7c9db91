# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
r"""
Hold a simulated robot by PD targets, or let a four-legged one trot by a formula.

It drives the topics of ``lsiq up sim`` as any controller would, with the gains and the nominal
pose of the robot's file. It begins with a reset and ends with exit code 1 if the robot falls.

    python docs/examples/pd_controller.py robots/go2 --seconds 10
    python docs/examples/pd_controller.py robots/go2 --seconds 60 --stiffness 80 --damping 2 \
        --swing '.*thigh.*' --lift '.*calf.*'
"""

from __future__ import annotations

import argparse
import math
import re

from lsiq_core.robot import load_robot
from nav_msgs.msg import Odometry
import numpy as np
import rclpy
from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import JointState
from sim.robot import MujocoRobot
from std_msgs.msg import Float64MultiArray, String
from std_srvs.srv import Trigger

DIAGONAL = ('fl', 'rr')  # these legs move together; the other two half a cycle later


class PdController(Node):
    """Answers every joint state with torques."""

    def __init__(self, chosen: argparse.Namespace) -> None:
        super().__init__('pd_controller')
        spec = load_robot(chosen.robot)
        robot = MujocoRobot(spec, action='pd_target')
        self.chosen, self.joints = chosen, robot.joints
        self.rest, self.stiffness, self.damping, self.low, self.high = (
            np.array([joint[key] for joint in robot.pd_targets])
            for key in ('nominal', 'stiffness', 'damping', 'effort_low', 'effort_high')
        )
        self.stiffness = chosen.stiffness or self.stiffness
        self.damping = chosen.damping or self.damping
        self.began_s: float | None = None
        self.time_s, self.height_m, self.start_m, self.x_m = 0.0, math.inf, math.nan, 0.0
        self.fell = False
        self.reset()  # what it hears from here on is its own doing
        topics = spec.topics
        self.efforts = self.create_publisher(Float64MultiArray, topics.effort, 1)
        quality = qos_profile_sensor_data
        self.create_subscription(JointState, topics.joint_states, self.on_joints, quality)
        self.create_subscription(Odometry, topics.odometry, self.on_base, quality)
        self.create_subscription(String, 'episode_events', self.on_event, 10)

    def reset(self) -> None:
        """Let the simulation begin anew: nobody held the robot until now, it may be falling."""
        client = self.create_client(Trigger, 'sim_node/reset')
        client.wait_for_service()
        answer = None
        while answer is None or not answer.done():  # a first answer can be lost in discovery
            answer = client.call_async(Trigger.Request())
            rclpy.spin_until_future_complete(self, answer, timeout_sec=2)

    def on_base(self, message: Odometry) -> None:
        """Remember where the robot is."""
        place = message.pose.pose.position
        self.height_m, self.x_m = place.z, place.x
        if math.isnan(self.start_m):
            self.start_m = place.x

    def on_event(self, message: String) -> None:
        """Remember that the simulation saw a fall: it puts the robot up again at once."""
        self.fell |= message.data == 'fall'

    def on_joints(self, message: JointState) -> None:
        """Send the torques that lead to the targets; joints are found by name."""
        stamp_s = message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec
        self.began_s = stamp_s if self.began_s is None else self.began_s
        self.time_s = stamp_s - self.began_s  # the robot's time: it may run slower than ours
        where = [message.name.index(joint) for joint in self.joints]
        position, velocity = np.array(message.position)[where], np.array(message.velocity)[where]
        torque = self.stiffness * (self.targets() - position) - self.damping * velocity
        self.efforts.publish(Float64MultiArray(data=np.clip(torque, self.low, self.high).tolist()))

    def targets(self) -> np.ndarray:
        """Return the nominal pose, or the trot around it."""
        chosen, targets = self.chosen, self.rest.copy()
        share = min(1.0, max(0.0, self.time_s - 1.0))  # it stands for a second, then fades in
        for index, joint in enumerate(self.joints):
            later = 0.0 if joint.lower().startswith(DIAGONAL) else 0.5
            angle = 2 * math.pi * (self.time_s / chosen.period_s + later)
            if chosen.swing and re.fullmatch(chosen.swing, joint):
                targets[index] -= share * chosen.swing_rad * math.sin(angle)
            elif chosen.lift and re.fullmatch(chosen.lift, joint):  # while it swings forward
                targets[index] -= share * chosen.lift_rad * max(0.0, math.cos(angle))
        return targets


def main() -> None:
    """Drive until the time is over or the robot lies."""
    words = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    words.add_argument('robot', help='by name or path')
    words.add_argument('--seconds', type=float, default=10.0, help='of simulated time')
    words.add_argument('--stiffness', type=float, help="N m/rad; without it the file's")
    words.add_argument('--damping', type=float, help="N m s/rad; without it the file's")
    words.add_argument('--swing', help='joints whose positive angle moves the foot back')
    words.add_argument('--lift', help='joints whose negative angle lifts the foot')
    words.add_argument('--swing-rad', type=float, default=0.3)
    words.add_argument('--lift-rad', type=float, default=0.5)
    words.add_argument('--period-s', type=float, default=0.4)
    chosen = words.parse_args()
    rclpy.init()
    node = PdController(chosen)
    while node.time_s < chosen.seconds and not node.fell:
        rclpy.spin_once(node)
    print(
        f'{node.time_s:.1f} s, {node.x_m - node.start_m:.2f} m, base at {node.height_m:.2f} m: '
        + ('it fell' if node.fell else 'no fall')
    )
    raise SystemExit(int(node.fell))


if __name__ == '__main__':
    main()
