# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Publish what a simulated robot reads: joints, pelvis, soles, time and frames."""

from typing import Any

from geometry_msgs.msg import WrenchStamped
from lsiq_ros.simulator.tasks import RobotReadings, SimTask
from lsiq_ros.wire.cdr import JointStateWriter, OdometryWriter, WrenchWriter
from lsiq_ros.wire.messages import BASE_FRAME, base_frame, ODOM_FRAME, transform, write_time
from lsiq_ros.wire.topics import (
    CLOCK,
    EPISODE_EVENTS,
    FRAMES,
    JOINT_STATES,
    ODOMETRY,
    wrench_topic,
)
from nav_msgs.msg import Odometry
from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data, QoSProfile
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import String

try:  # a ROS installation has it, PyPI does not
    from tf2_msgs.msg import TFMessage
except ImportError:
    TFMessage = None

_FRAMES_HZ = 25  # a viewer needs no more transforms


class StatePublisher:
    """The state topics of one robot."""

    def __init__(self, node: Node, task: SimTask) -> None:
        self._node, self._task = node, task
        count = len(task.joints)
        self._joints = JointStateWriter(
            BASE_FRAME, task.joints, position=count, velocity=count, effort=count
        )
        sensor = qos_profile_sensor_data
        self._joint_topic = node.create_publisher(JointState, JOINT_STATES, sensor)
        self._odometry = OdometryWriter(ODOM_FRAME, BASE_FRAME)
        self._odometry_topic = node.create_publisher(Odometry, ODOMETRY, sensor)
        self._wrench = WrenchWriter(ODOM_FRAME)
        self._wrench_topics = [
            node.create_publisher(WrenchStamped, wrench_topic(sole), sensor) for sole in task.soles
        ]
        self._clock = Clock()
        self._clock_topic = node.create_publisher(Clock, CLOCK, QoSProfile(depth=1))
        self._event_topic = node.create_publisher(String, EPISODE_EVENTS, QoSProfile(depth=10))
        self._frame_topic: Any = None
        if TFMessage is not None:
            self._frame_topic = node.create_publisher(TFMessage, FRAMES, QoSProfile(depth=100))
        self._published = 0
        self._frames_every = max(1, round(task.env.rate_hz / _FRAMES_HZ))

    @property
    def has_frames(self) -> bool:
        """Return whether this installation can publish TF."""
        return self._frame_topic is not None

    def publish(self, stamp_ns: int) -> None:
        """Publish the present readings; the clock goes last, when all else is on its way."""
        if self._task.read is not None:
            self._publish_robot(self._task.read(), stamp_ns)
        write_time(self._clock.clock, stamp_ns)
        self._clock_topic.publish(self._clock)
        self._published += 1

    def _publish_robot(self, readings: RobotReadings, stamp_ns: int) -> None:
        joints = self._joints
        joints.position[:] = readings.positions_rad
        joints.velocity[:] = readings.velocities_rad_s
        joints.effort[:] = readings.efforts_nm
        self._joint_topic.publish(joints.write(stamp_ns))
        self._odometry_topic.publish(self._odometry.write(stamp_ns, readings.base))
        for topic, force in zip(self._wrench_topics, readings.forces_n.tolist()):
            topic.publish(self._wrench.write(stamp_ns, force))
        if self._frame_topic is not None and self._published % self._frames_every == 0:
            self._publish_frames(readings, stamp_ns)

    def close(self) -> None:
        """Give the topics back."""
        for topic in (self._joint_topic, self._odometry_topic, *self._wrench_topics):
            self._node.destroy_publisher(topic)
        for topic in (self._clock_topic, self._event_topic, self._frame_topic):
            if topic is not None:
                self._node.destroy_publisher(topic)

    def announce(self, event: str) -> None:
        """Say ``fall`` after the state that shows it, ``reset`` before the first state."""
        self._event_topic.publish(String(data=event))

    def _publish_frames(self, readings: RobotReadings, stamp_ns: int) -> None:
        frames = [base_frame(readings.base), *self._task.frames()]
        self._frame_topic.publish(TFMessage(transforms=[transform(f, stamp_ns) for f in frames]))
