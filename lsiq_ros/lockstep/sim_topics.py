# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""The topics of lock-step on the simulator's side: take a command, answer, publish."""

from __future__ import annotations

from collections.abc import Callable
import threading

from lsiq_core.errors import LsiqError
from lsiq_ros.lockstep.joint_state_cdr import CdrError, parse
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
from lsiq_ros.lockstep.raw_topics import LATCHED, RawTopics, RELIABLE
from lsiq_ros.lockstep.server import LockstepServer
from rclpy.node import Node
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import String, UInt8MultiArray

_SLICE_S = 0.1  # how often a stop is looked for


class LockstepTopics:
    """
    Serve one learner.

    :param node: the node they belong to.
    :param server: carries out the commands.
    :param after: called with the verb once the answer is on its way.
    :param refused: called with the reason when a command was not carried out.
    """

    def __init__(
        self,
        node: Node,
        server: LockstepServer,
        *,
        after: Callable[[str], None],
        refused: Callable[[str], None],
    ) -> None:
        self._server, self._after, self._refused = server, after, refused
        self._in = RawTopics(
            node,
            [
                (COMMAND_TOPIC, JointState, RELIABLE),
                (RESTORE_TOPIC, UInt8MultiArray, RELIABLE),
            ],
        )
        self._state = node.create_publisher(JointState, STATE_TOPIC, RELIABLE)
        self._snapshot = node.create_publisher(UInt8MultiArray, SNAPSHOT_TOPIC, RELIABLE)
        self._refusal = node.create_publisher(String, REFUSAL_TOPIC, RELIABLE)
        self._task = node.create_publisher(String, TASK_TOPIC, LATCHED)

    def open(self) -> None:
        """Say that the simulator is there."""
        self._task.publish(String(data=self._server.task.to_json()))

    def run(self, stop: threading.Event, paused: threading.Event) -> None:
        """Answer commands until ``stop`` is set; leave them waiting while paused."""
        wanted = (COMMAND_TOPIC, RESTORE_TOPIC)
        while not stop.is_set():
            if paused.is_set():
                stop.wait(_SLICE_S)
            elif self._in.wait(wanted, _SLICE_S):
                while (raw := self._in.take(COMMAND_TOPIC)) is not None:
                    self._answer(raw)
                while (raw := self._in.take(RESTORE_TOPIC)) is not None:
                    self._continue_from(raw)

    def close(self) -> None:
        """Give the subscriptions back."""
        self._in.close()

    def _answer(self, raw: bytes) -> None:
        try:
            verb, answer = self._server.handle(raw)
        except LsiqError as error:
            self._refuse(_sender(raw), str(error))
            return
        if verb == SNAPSHOT:
            message = UInt8MultiArray()
            message.data = answer
            self._snapshot.publish(message)
            return
        self._state.publish(answer)
        if verb != REPEAT:
            self._after(verb)

    def _continue_from(self, raw: bytes) -> None:
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


def _sender(raw: bytes) -> str:
    try:
        command = parse(raw)
    except CdrError:
        return refusal_for('', 0)
    return refusal_for(command.frame_id, command.stamp_ns)
