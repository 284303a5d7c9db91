# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""The robot's topics, polled by the control loop itself; no executor stands in between."""

from __future__ import annotations

from collections import Counter
import time
from typing import Any

from geometry_msgs.msg import WrenchStamped
from lsiq_ros.control.robot_view import RobotView
from lsiq_ros.gate.black_box import BlackBox
from lsiq_ros.gate.checks import Check
from lsiq_ros.lockstep.raw_topics import RawTopics
from lsiq_ros.wire.cdr import CdrError, JointStateReader, OdometryReader, WrenchReader
from lsiq_ros.wire.topics import JOINT_STATES, ODOMETRY, wrench_topic
from nav_msgs.msg import Odometry
from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import JointState

MAX_MESSAGE_BYTES = 1 << 16  # a thousand joints; more would keep the loop from its deadlines


class StateTopics:
    """
    Subscribe to what a policy needs and feed it into a view.

    :param node: the node that the subscriptions belong to.
    :param view: receives the readings.
    :param black_box: remembers the raw messages.
    """

    def __init__(self, node: Node, view: RobotView, black_box: BlackBox) -> None:
        self._view, self._black_box = view, black_box
        self.counts: Counter[Check] = Counter()
        self._read_joints, self._read_odometry = JointStateReader(), OdometryReader()
        self.kinds: dict[str, Any] = {JOINT_STATES: JointState, ODOMETRY: Odometry}
        self._soles = {wrench_topic(sole): sole for sole in view.spec.soles}
        self._read_wrench = {topic: WrenchReader() for topic in self._soles}
        self.kinds |= dict.fromkeys(self._soles, WrenchStamped)
        self._resolved = {topic: node.resolve_topic_name(topic) for topic in self.kinds}
        self._raw = RawTopics(
            node, [(topic, kind, qos_profile_sensor_data) for topic, kind in self.kinds.items()]
        )

    def poll(self, now_s: float) -> int:
        """
        Take what has come; return how many new joint states there were.

        No more than a queue holds: who sends faster than we read would keep the loop here.
        """
        new = 0
        for topic in self.kinds:
            for _ in range(qos_profile_sensor_data.depth):
                raw = self._raw.take(topic)
                if raw is None:
                    break
                if len(raw) > MAX_MESSAGE_BYTES:
                    self.counts[Check.STATE_MALFORMED] += 1
                    continue
                self._black_box.add(self._resolved[topic], time.time_ns(), raw)
                try:
                    new += self._feed(topic, raw, now_s)
                except CdrError:  # who sends rubbish is no robot
                    self.counts[Check.STATE_MALFORMED] += 1
        return new

    def close(self) -> None:
        """Give the subscriptions back."""
        self._raw.close()

    def _feed(self, topic: str, raw: bytes, now_s: float) -> bool:
        if topic == JOINT_STATES:
            return self._view.take_joints(self._read_joints(raw), now_s)
        if topic == ODOMETRY:
            self._view.take_odometry(self._read_odometry(raw), now_s)
        else:
            self._view.take_wrench(self._soles[topic], self._read_wrench[topic](raw), now_s)
        return False
