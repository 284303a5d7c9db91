# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""The wire between a learner and one simulator: who is there, what was sent, what came back."""

from array import array
import time

from lsiq_ros.lockstep import protocol
from lsiq_ros.lockstep.protocol import (
    checksum,
    LockstepError,
    refusal_for,
    SimulatorLostError,
    SimulatorSetup,
    TaskDescription,
)
from lsiq_ros.lockstep.raw_topics import LATCHED, RawTopics, RELIABLE, UNACKNOWLEDGED
from lsiq_ros.wire.cdr import Array, CdrError, JointArrays, JointArraysReader, JointStateWriter
from rclpy.node import Node
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import String, UInt8MultiArray

_SLICE_S = 0.1  # how often a wait looks for refusals and lets Python handle signals


class SimulatorLink:
    """
    One simulator as a learner sees it.

    :param node: the node that publishes and subscribes; an executor may spin it meanwhile.
    :param namespace: where the simulator's topics are, relative to the node.
    :param setup: checksum of what it was told to run; what answers another is passed over.
    :param timeout_s: how long an answer may take before the simulator counts as lost.
    """

    def __init__(self, node: Node, namespace: str, setup: str, timeout_s: float) -> None:
        prefix = f'{namespace}/' if namespace else ''
        self._node, self._setup = node, setup
        self.timeout_s = timeout_s
        self._state_topic = prefix + protocol.STATE_TOPIC
        self._task_topic = prefix + protocol.TASK_TOPIC
        self._snapshot_topic = prefix + protocol.SNAPSHOT_TOPIC
        self._refusal_topic = prefix + protocol.REFUSAL_TOPIC
        self._command_topic = prefix + protocol.COMMAND_TOPIC
        self._topics = RawTopics(
            node,
            [
                (self._state_topic, JointState, UNACKNOWLEDGED),
                (self._task_topic, String, LATCHED),
                (self._snapshot_topic, UInt8MultiArray, RELIABLE),
                (self._refusal_topic, String, RELIABLE),
            ],
        )
        self._commands = node.create_publisher(JointState, self._command_topic, RELIABLE)
        restore_topic = prefix + protocol.RESTORE_TOPIC
        self._restores = node.create_publisher(UInt8MultiArray, restore_topic, RELIABLE)
        self._sent, self._recent = ('', 0), b''
        self.tick, self._ticks = 0, 1
        self._unanswered = False
        try:
            while (task := self._task_in(self._wait_on(self._task_topic))) is None:
                pass
            self._adopt(task)
            self.wait_for_return()
        except LockstepError:
            self.close()  # who tries again makes topics of his own
            raise

    def synchronise(self) -> None:
        """Know the simulator's last state; follow it into a new session if it came back."""
        self._drop(self._refusal_topic)
        if self._follow() or self._unanswered:
            self.wait_for_return()

    def wait_for_return(self) -> None:
        """
        Wait until the simulator answers, and take the stamp of its last state for the present.

        It may be one that was slow or one started anew, and the latter may tell of itself
        long before its other topics are connected to ours: both are asked until one answers.
        """
        self._drop(self._state_topic)
        self._ask_for_state()
        began_s = time.monotonic()
        while time.monotonic() - began_s < self.timeout_s:
            self._topics.wait((self._state_topic, self._task_topic), _SLICE_S)
            if not self._follow():
                raw = self._topics.take(self._state_topic)
                state = None if raw is None else self._state_in(raw)
                if state is not None:
                    self.tick = round(state.stamp_ns * self.task.rate_hz / 1e9)
                    self._unanswered = False
                    return
            self._ask_for_state()
        raise self._lost(self._state_topic)

    def send(self, frame: str, raw: bytes, *, ticks: int = 1) -> None:
        """
        Publish a command whose stamp is that of the last state.

        :param ticks: how far the answer's stamp lies ahead.
        """
        self._ticks = ticks
        self._sent, self._recent = (frame, self.stamp_ns), raw
        self._unanswered = True
        self._commands.publish(raw)

    def send_restore(self, data: bytes) -> None:
        """Publish an npz to continue from."""
        self._sent, self._recent = (protocol.RESTORE_TOPIC, 0), self._repeat_command()
        self._unanswered = True
        self._ticks = self.task.episode_gap
        message = UInt8MultiArray()
        message.data = data
        self._restores.publish(message)

    def wait_for_state(self) -> Array:
        """Return the values of the state that answers what was sent."""
        awaited = self.tick + self._ticks
        awaited_ns = self.task.stamp_ns(awaited)
        while True:
            state = self._state_in(self._wait_on(self._state_topic))
            if state is not None and state.stamp_ns == awaited_ns:
                self.tick = awaited
                self._unanswered = False
                return state.position

    def wait_for_snapshot(self) -> bytes:
        """Return the npz that answers the verb snapshot."""
        raw = self._wait_on(self._snapshot_topic)
        self._unanswered = False
        return bytes(deserialize_message(raw, UInt8MultiArray).data)

    def drop_old_snapshots(self) -> None:
        """Forget answers that came too late."""
        self._drop(self._snapshot_topic)

    @property
    def stamp_ns(self) -> int:
        """Return the simulated time of the last state."""
        return self.task.stamp_ns(self.tick)

    def close(self) -> None:
        """Give topics and publishers back; the simulator goes on waiting."""
        self._topics.close()
        self._node.destroy_publisher(self._commands)
        self._node.destroy_publisher(self._restores)

    def _wait_on(self, topic: str) -> bytes:
        began_s = time.monotonic()
        while time.monotonic() - began_s < self.timeout_s:  # which may be cut short meanwhile
            raw = self._topics.receive(topic, _SLICE_S)
            if raw is not None:
                return raw
            if topic != self._task_topic:
                # A restart first: a new simulator refuses what was meant for the old one.
                if self._follow():
                    raise SimulatorLostError(
                        f'the simulator behind {self._task_topic} was started anew'
                    )
                self._raise_if_refused()
                self._commands.publish(self._recent)
        raise self._lost(topic)

    def _lost(self, topic: str) -> SimulatorLostError:
        return SimulatorLostError(
            f'no answer on {topic} for {self.timeout_s:.1f} s; it has '
            f'{self._topics.publishers(topic)} publishers'
        )

    def _raise_if_refused(self) -> None:
        while (raw := self._topics.take(self._refusal_topic)) is not None:
            text = deserialize_message(raw, String).data
            ours = refusal_for(*self._sent)
            if text.startswith(ours):
                raise LockstepError(text.removeprefix(ours).strip())

    def _follow(self) -> bool:
        """Adopt the newest session that a simulator told of; return whether it is a new one."""
        newest = None
        while (raw := self._topics.take(self._task_topic)) is not None:
            newest = self._task_in(raw) or newest
        if newest is None or newest.session == self.task.session:
            return False
        self._adopt(newest)
        return True

    def _adopt(self, task: TaskDescription) -> None:
        self.task = task
        self.step_writer = task.step_writer()
        self._read_state = JointArraysReader()
        self._known_names: tuple[str, ...] | None = None
        self.tick = 0
        self._unanswered = True

    def _state_in(self, raw: bytes) -> JointArrays | None:
        """Return a state of this session, None for any other message."""
        try:
            state = self._read_state(raw)
        except CdrError:
            return None
        if state.names is not self._known_names:  # the very object: a layout that was checked
            fits = state.frame == self.task.session and state.names == self.task.state_names
            if not fits or len(state.position) != len(state.names):
                return None
            self._known_names = state.names
        return state

    def _ask_for_state(self) -> None:
        self.send(self.task.frame(protocol.REPEAT), self._repeat_command())

    def _repeat_command(self) -> bytes:
        return JointStateWriter(self.task.frame(protocol.REPEAT), ()).write(0)

    def _drop(self, topic: str) -> None:
        while self._topics.take(topic) is not None:
            pass

    def _task_in(self, raw: bytes) -> TaskDescription | None:
        """Return the task in a message, unless it answers another learner's setup."""
        text = deserialize_message(raw, String).data
        return TaskDescription.from_json(text) if self._setup in text else None


def tell(node: Node, namespace: str, setup: SimulatorSetup) -> str:
    """
    Tell a simulator what to run, now and whenever it is started anew while the node lives.

    :return: the setup's checksum.
    """
    topic = f'{namespace}/{protocol.SETUP_TOPIC}' if namespace else protocol.SETUP_TOPIC
    data = setup.pack()
    message = UInt8MultiArray()
    message.data = array('B', data)
    node.create_publisher(UInt8MultiArray, topic, LATCHED).publish(message)
    return checksum(data)
