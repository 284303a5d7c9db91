# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""The other two processes of the loop's benchmark: a robot of golden states, a bare loop."""

from __future__ import annotations

from dataclasses import asdict
import json
from pathlib import Path
import sys
import threading
import time
from typing import Any

from geometry_msgs.msg import WrenchStamped
from lsiq_ros.gate.loop import LatenessRecord, run_until, take_priority
from lsiq_ros.gate.timing import Timing
from lsiq_ros.nodes.clean_end import init_without_handlers
from lsiq_ros.wire.base import BaseOdometry
from lsiq_ros.wire.cdr import JointStateWriter, OdometryWriter, WrenchWriter
from lsiq_ros.wire.messages import BASE_FRAME, ODOM_FRAME
from lsiq_ros.wire.topics import JOINT_STATES, ODOMETRY, wrench_topic
from nav_msgs.msg import Odometry
import rclpy
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import JointState


def be_robot(rate_hz: float, seconds: float, raws: list[dict[str, Any]]) -> None:
    """Publish the golden states over and over, stamped with the time of this machine."""
    stop = init_without_handlers(None)
    node = rclpy.create_node('bench_robot')
    sensors = qos_profile_sensor_data
    joints_topic = node.create_publisher(JointState, JOINT_STATES, sensors)
    pelvis_topic = node.create_publisher(Odometry, ODOMETRY, sensors)
    wrenches = {
        sole: node.create_publisher(WrenchStamped, wrench_topic(sole), sensors)
        for sole in raws[0]['forces_n']
    }
    names = list(raws[0]['positions_rad'])
    joints = JointStateWriter(BASE_FRAME, names, position=len(names), velocity=len(names))
    odometry, wrench = OdometryWriter(ODOM_FRAME, BASE_FRAME), WrenchWriter(ODOM_FRAME)
    record, end_s = LatenessRecord(), time.monotonic() + seconds

    def publish(now_s: float, lateness_s: float) -> None:
        raw = raws[record.ticks // 100 % len(raws)]
        stamp_ns = time.time_ns()
        joints.position[:] = [raw['positions_rad'][name] for name in names]
        joints.velocity[:] = [raw['velocities_rad_s'].get(name, 0.0) for name in names]
        if raw.get('pelvis'):
            pelvis = {name: tuple(values) for name, values in raw['pelvis'].items()}
            pelvis_topic.publish(odometry.write(stamp_ns, BaseOdometry(**pelvis)))
        for sole, topic in wrenches.items():
            topic.publish(wrench.write(stamp_ns, raw['forces_n'][sole]))
        joints_topic.publish(joints.write(stamp_ns))
        if now_s > end_s:
            stop.set()

    run_until(stop, 1 / rate_hz, publish, record)
    node.destroy_node()
    rclpy.try_shutdown()


def run_bare(rate_hz: float, seconds: float, realtime_priority: int) -> dict[str, object]:
    """Sleep until deadline after deadline and return how late that was."""
    take_priority(realtime_priority)
    record, stop = LatenessRecord(), threading.Event()
    end_s = time.monotonic() + seconds

    def tick(now_s: float, lateness_s: float) -> None:
        if now_s > end_s:
            stop.set()

    run_until(stop, 1 / rate_hz, tick, record)
    return {'lateness': asdict(Timing.of(record.latest())), 'misses': record.misses}


if __name__ == '__main__':
    role, rate, duration = sys.argv[1], float(sys.argv[2]), float(sys.argv[3])
    if role == 'bare':
        print(json.dumps(run_bare(rate, duration, int(sys.argv[4]))))
    else:
        be_robot(rate, duration, json.loads(Path(sys.argv[4]).read_text()))
