# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""The topics of lock-step on the simulator's side: take a command, answer it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
import threading
import time
from typing import Any

from lsiq_core.errors import LsiqError
from lsiq_ros.lockstep.protocol import (
    COMMAND_TOPIC,
    refusal_for,
    REFUSAL_TOPIC,
    REPEAT,
    RESTORE_TOPIC,
    SNAPSHOT,
    SNAPSHOT_TOPIC,
    STATE_TOPIC,
    TASK_TOPIC,
)
from lsiq_ros.lockstep.raw_topics import LATCHED, RawTopics, RELIABLE, UNACKNOWLEDGED
from lsiq_ros.lockstep.server import LockstepServer
from lsiq_ros.wire.joint_state_cdr import CdrError, parse
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import String, UInt8MultiArray

_SLICE_S = 0.1  # how often a stop is looked for
_FAREWELL_S = 1.0  # how long a learner that was stopped with us may still save our state


class RobotTopics:
    """
    The answers of one robot.

    :param node: the node they belong to.
    :param prefix: empty, or ``robot_0/`` and the like.
    :param server: carries out the commands.
    :param after: called with the verb once the answer is on its way.
    :param refused: called with the reason when a command was not carried out.
    """

    def __init__(
        self,
        node: Node,
        prefix: str,
        server: LockstepServer,
        *,
        after: Callable[[str], None],
        refused: Callable[[str], None],
    ) -> None:
        self._server, self._after, self._refused = server, after, refused
        self._state = node.create_publisher(JointState, prefix + STATE_TOPIC, RELIABLE)
        self._snapshot = node.create_publisher(UInt8MultiArray, prefix + SNAPSHOT_TOPIC, RELIABLE)
        self._refusal = node.create_publisher(String, prefix + REFUSAL_TOPIC, RELIABLE)
        self._task = node.create_publisher(String, prefix + TASK_TOPIC, LATCHED)

    def open(self) -> None:
        """Say that the robot is there."""
        self._task.publish(String(data=self._server.task.to_json()))

    def command(self, raw: bytes) -> None:
        """Carry out a command and answer it."""
        try:
            verb, answer = self._server.handle(raw)
        except LsiqError as error:
            self._refuse(self._sender(raw), str(error))
            return
        if verb == SNAPSHOT:
            message = UInt8MultiArray()
            message.data = answer
            self._snapshot.publish(message)
            return
        self._state.publish(answer)
        if verb != REPEAT:
            self._after(verb)

    def restore(self, raw: bytes) -> None:
        """Continue from the npz in a message."""
        data = bytes(deserialize_message(raw, UInt8MultiArray).data)
        try:
            self._state.publish(self._server.restore(data))
        except LsiqError as error:
            self._refuse(refusal_for(RESTORE_TOPIC, 0), str(error))
            return
        self._after('restore')

    def _refuse(self, sender: str, reason: str) -> None:
        self._refusal.publish(String(data=f'{sender} {reason}'))
        self._refused(reason)

    def _sender(self, raw: bytes) -> str:
        """Return whom to tell; a learner of an earlier session did no wrong, it will follow."""
        try:
            command = parse(raw)
        except CdrError:
            return refusal_for('', 0)
        if not command.frame_id.startswith(self._server.task.frame('')):
            return refusal_for('', 0)
        return refusal_for(command.frame_id, command.stamp_ns)


class LockstepTopics:
    """
    Serve the commands of all robots of a node in one thread.

    :param node: the node they belong to.
    :param robots: by the prefix of their topics.
    """

    def __init__(self, node: Node, robots: Mapping[str, RobotTopics]) -> None:
        self._robots = robots
        topics: list[tuple[str, Any, QoSProfile]] = []
        self._handlers: dict[str, Callable[[bytes], None]] = {}
        for prefix, robot in robots.items():
            topics.append((prefix + COMMAND_TOPIC, JointState, UNACKNOWLEDGED))
            topics.append((prefix + RESTORE_TOPIC, UInt8MultiArray, RELIABLE))
            self._handlers[prefix + COMMAND_TOPIC] = robot.command
            self._handlers[prefix + RESTORE_TOPIC] = robot.restore
        self._commands = [prefix + COMMAND_TOPIC for prefix in robots]
        self._topics = tuple(self._handlers)
        self._in = RawTopics(node, topics)

    def run(self, stop: threading.Event, paused: threading.Event) -> None:
        """Answer commands until ``stop`` is set; leave them waiting while paused."""
        for robot in self._robots.values():
            robot.open()
        while not stop.is_set():
            if paused.is_set():
                stop.wait(_SLICE_S)
            else:
                self._serve()
        # ros2 launch stops all nodes at once, and a learner needs our state to save its own.
        deadline_s = time.monotonic() + _FAREWELL_S
        while time.monotonic() < deadline_s and any(map(self._in.publishers, self._commands)):
            self._serve()

    def close(self) -> None:
        """Give the subscriptions back."""
        self._in.close()

    def _serve(self) -> None:
        for topic in self._in.wait(self._topics, _SLICE_S):
            raw = self._in.take(topic)
            if raw is not None:
                self._handlers[topic](raw)
