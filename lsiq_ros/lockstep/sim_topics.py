# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""The topics of lock-step on the simulator's side: take a command, answer it."""

from collections.abc import Callable, Mapping
import json
import threading
import time
from typing import Any

from lsiq_core.errors import LsiqError
from lsiq_ros.lockstep import protocol
from lsiq_ros.lockstep.protocol import checksum, refusal_for, SimulatorSetup
from lsiq_ros.lockstep.raw_topics import LATCHED, RawTopics, RELIABLE, UNACKNOWLEDGED
from lsiq_ros.lockstep.server import LockstepServer
from lsiq_ros.wire.cdr import CdrError, JointStateReader
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

    :param prefix: empty, or ``robot_0/`` and the like.
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
        self._node, self._server, self._after, self._refused = node, server, after, refused
        self._state = node.create_publisher(JointState, prefix + protocol.STATE_TOPIC, RELIABLE)
        self._snapshot = node.create_publisher(
            UInt8MultiArray, prefix + protocol.SNAPSHOT_TOPIC, RELIABLE
        )
        self._refusal = node.create_publisher(String, prefix + protocol.REFUSAL_TOPIC, RELIABLE)
        self._task = node.create_publisher(String, prefix + protocol.TASK_TOPIC, LATCHED)

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
        if verb == protocol.SNAPSHOT:
            message = UInt8MultiArray()
            message.data = answer
            self._snapshot.publish(message)
            return
        self._state.publish(answer)
        if verb != protocol.REPEAT:
            self._after(verb)

    def restore(self, raw: bytes) -> None:
        """Continue from the npz in a message."""
        data = bytes(deserialize_message(raw, UInt8MultiArray).data)
        try:
            self._state.publish(self._server.restore(data))
        except LsiqError as error:
            self._refuse(refusal_for(protocol.RESTORE_TOPIC, 0), str(error))
            return
        self._after('restore')

    def _refuse(self, sender: str, reason: str) -> None:
        self._refusal.publish(String(data=f'{sender} {reason}'))
        self._refused(reason)

    def _sender(self, raw: bytes) -> str:
        """Return whom to tell; a learner of an earlier session did no wrong, it will follow."""
        try:
            command = JointStateReader()(raw)
        except CdrError:
            return refusal_for('', 0)
        if not command.frame.startswith(self._server.task.frame('')):
            return refusal_for('', 0)
        return refusal_for(command.frame, command.stamp_ns)

    def close(self) -> None:
        """Give the publishers back."""
        for publisher in (self._state, self._snapshot, self._refusal, self._task):
            self._node.destroy_publisher(publisher)


class LockstepTopics:
    """
    Run what a learner says, and serve the commands of all robots of a node in one thread.

    :param make: makes the robots of a setup, by the prefix of their topics; it also gets the
        setup's checksum.
    """

    def __init__(
        self, node: Node, make: Callable[[SimulatorSetup, str], Mapping[str, RobotTopics]]
    ) -> None:
        self._node, self._make = node, make
        self._setups = RawTopics(node, [(protocol.SETUP_TOPIC, UInt8MultiArray, LATCHED)])
        self._told = b''
        self._refusals: list[Any] = []
        self._robots: Mapping[str, RobotTopics] = {}
        self._handlers: dict[str, Callable[[bytes], None]] = {}
        self._in: RawTopics | None = None

    def run(self, stop: threading.Event, paused: threading.Event) -> None:
        """Answer commands until ``stop`` is set; leave them waiting while paused."""
        while not stop.is_set():
            if self._in is None:
                self._hear(_SLICE_S)
            elif paused.is_set():
                stop.wait(_SLICE_S)
            elif not self._serve(self._in):
                self._hear(0.0)  # nobody steps us: another learner may have come
        # ros2 launch stops all nodes at once, and a learner needs our state to save its own.
        deadline_s = time.monotonic() + _FAREWELL_S
        commands = [prefix + protocol.COMMAND_TOPIC for prefix in self._robots]
        while self._in and time.monotonic() < deadline_s:
            if not any(map(self._in.publishers, commands)):
                break
            self._serve(self._in)

    def close(self) -> None:
        """Give subscriptions and publishers back."""
        self._end_robots()
        self._setups.close()

    def _hear(self, wait_s: float) -> None:
        """Take the newest setup; one that is new ends what runs."""
        raw = self._setups.receive(protocol.SETUP_TOPIC, wait_s)
        while (newer := self._setups.take(protocol.SETUP_TOPIC)) is not None:
            raw = newer
        if raw is None or raw == self._told:
            return
        self._told = raw
        self._end_robots()
        data = bytes(deserialize_message(raw, UInt8MultiArray).data)
        setup = SimulatorSetup('')
        try:
            setup = SimulatorSetup.unpack(data)
            self._robots = self._make(setup, checksum(data))
        except LsiqError as error:
            self._refuse(setup, checksum(data), str(error))
            return
        topics: list[tuple[str, Any, QoSProfile]] = []
        for prefix, robot in self._robots.items():
            topics.append((prefix + protocol.COMMAND_TOPIC, JointState, UNACKNOWLEDGED))
            topics.append((prefix + protocol.RESTORE_TOPIC, UInt8MultiArray, RELIABLE))
            self._handlers[prefix + protocol.COMMAND_TOPIC] = robot.command
            self._handlers[prefix + protocol.RESTORE_TOPIC] = robot.restore
        self._in = RawTopics(self._node, topics)
        for robot in self._robots.values():
            robot.open()

    def _refuse(self, setup: SimulatorSetup, told: str, reason: str) -> None:
        self._node.get_logger().error(f'setup refused: {reason}')
        for prefix in setup.prefixes:
            topic = self._node.create_publisher(String, prefix + protocol.TASK_TOPIC, LATCHED)
            topic.publish(String(data=json.dumps({protocol.REFUSED: reason, 'setup': told})))
            self._refusals.append(topic)

    def _end_robots(self) -> None:
        for robot in self._robots.values():
            robot.close()
        for topic in self._refusals:
            self._node.destroy_publisher(topic)
        if self._in is not None:
            self._in.close()
        self._in, self._robots, self._handlers, self._refusals = None, {}, {}, []

    def _serve(self, commands: RawTopics) -> bool:
        """Carry out what has come; return whether anything has."""
        ready = commands.wait(tuple(self._handlers), _SLICE_S)
        for topic in ready:
            raw = commands.take(topic)
            if raw is not None:
                self._handlers[topic](raw)
        return bool(ready)
