# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
Publish the states of a walking robot at a steady rate: the other process of recorder tests.

Prints one JSON line: how many were published, and the last stamp. Runs until its time is
over or SIGINT comes; SIGUSR1 lets the robot fall.
"""

import argparse
import json
import math
import signal
import time

from nav_msgs.msg import Odometry
import rclpy
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState

JOINTS = [f'{part}_{side}' for side in 'lr' for part in ('hip', 'add', 'rot', 'knee', 'ankle')]


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument('--rate-hz', type=float, default=1000)
    parser.add_argument('--seconds', type=float, default=3)
    parser.add_argument('--odometry', action='store_true')
    parser.add_argument('--wait-for', type=int, default=1, help='subscribers to wait for')
    return parser.parse_args()


def stamp(message, nanoseconds):
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(nanoseconds, 10**9)


def main():
    options = parse()
    stopping, fallen = [], []
    signal.signal(signal.SIGUSR1, lambda *_: fallen.append(time.perf_counter()))
    signal.signal(signal.SIGINT, lambda *_: stopping.append(1))
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    node = rclpy.create_node('publish_states')
    qos = QoSProfile(depth=100, reliability=ReliabilityPolicy.BEST_EFFORT)
    joints = node.create_publisher(JointState, 'joint_states', qos)
    odometry = node.create_publisher(Odometry, 'odom', qos) if options.odometry else None
    deadline = time.monotonic() + 20
    while joints.get_subscription_count() < options.wait_for and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(0.3)
    message, pelvis = JointState(name=JOINTS), Odometry(child_frame_id='pelvis')
    message.header.frame_id, pelvis.header.frame_id = 'base_link', 'odom'
    pelvis.pose.pose.orientation.w = 1.0
    published, late, now_ns = 0, 0, 0
    begin, began_ns = time.perf_counter(), time.time_ns()
    while published < options.seconds * options.rate_hz and not stopping:
        due = begin + published / options.rate_hz
        ahead = due - time.perf_counter()
        if ahead > 0:
            time.sleep(ahead)
        late = max(late, time.perf_counter() - due)
        seconds = time.perf_counter() - begin
        now_ns = began_ns + round(seconds * 1e9)
        turn = 2 * math.pi * 1.1
        message.position = [0.4 * math.sin(turn * seconds + k) for k in range(len(JOINTS))]
        message.velocity = [0.4 * turn * math.cos(turn * seconds + k) for k in range(len(JOINTS))]
        message.effort = [7.0] * len(JOINTS)
        stamp(message, now_ns)
        joints.publish(message)
        if odometry is not None:
            stamp(pelvis, now_ns)
            sunk_m = 2 * (time.perf_counter() - fallen[0]) if fallen else 0.0
            pelvis.pose.pose.position.z = max(0.3, 0.9 - sunk_m)
            pelvis.twist.twist.linear.z = -2.0 if 0 < sunk_m < 0.6 else 0.0
            odometry.publish(pelvis)
        published += 1
    wall = time.perf_counter() - begin
    print(
        json.dumps(
            {
                'published': published,
                'last_stamp_ns': now_ns,
                'achieved_hz': published / wall,
                'latest_ms': 1e3 * late,
            }
        ),
        flush=True,
    )
    time.sleep(0.2)
    node.destroy_node()
    rclpy.shutdown()


if __name__ == '__main__':
    main()
