# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
Record the state topics of a robot into a bag.

The node converts and calls; what is written and why is in lsiq_ros.bags.recording. Its
subscriptions stand in no executor: the main loop takes what has come every few
milliseconds, which costs a tenth of one wake-up for each message.
"""

from collections.abc import Iterator
import sys
import time
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from geometry_msgs.msg import WrenchStamped
from lsiq_core.errors import LsiqError
from lsiq_ros.bags.episodes import EVENTS, SPLIT
from lsiq_ros.bags.errors import BagError
from lsiq_ros.bags.message_types import JOINT_STATE, ODOMETRY, RawMessage, WRENCH
from lsiq_ros.bags.metadata import Qos
from lsiq_ros.bags.recording import Recording
from lsiq_ros.lockstep.raw_topics import never_called, NoExecutorGroup
from lsiq_ros.nodes.clean_end import init_without_handlers, leave_now
from lsiq_ros.nodes.recorder_parameters import declare_parameters, RecorderParameters
from lsiq_ros.wire.cdr import read_text
from lsiq_ros.wire.topics import DIAGNOSTICS
from nav_msgs.msg import Odometry
import rclpy
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.subscription import Subscription
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from std_srvs.srv import SetBool, Trigger

POLL_S = 0.005
SILENT_AFTER_S = 3.0
EFFORT = 'std_msgs/msg/Float64MultiArray'
EVENT = 'std_msgs/msg/String'


class RecorderNode(Node):
    """Services and topics around a :class:`Recording`."""

    def __init__(self) -> None:
        super().__init__('recorder')
        self.parameters: RecorderParameters = declare_parameters(self)
        self.recording: Recording | None = None
        self.failure = ''
        self._began_s = 0.0
        self._reported_s = 0.0
        self._silent: set[str] = set()
        self._kinds: dict[str, str] = {}
        self._inputs: list[Subscription] = []
        self.create_service(Trigger, '~/start', self._on_start)
        self.create_service(Trigger, '~/stop', self._on_stop)
        self.create_service(Trigger, '~/split', self._on_split)
        self.create_service(SetBool, '~/record', self._on_record)
        self._diagnostics = self.create_publisher(DiagnosticArray, DIAGNOSTICS, 10)
        if self.parameters.record_on_start:
            self.start()
        # Who waits for a listener begins now: on a busy machine all that came before a later
        # start, a second and more, would be dropped.
        self._subscribe_states()

    def _subscribe_states(self) -> None:
        chosen = self.parameters
        efforts = chosen.effort_topics if chosen.record_effort else ()
        depth = chosen.queue_depth
        sensor = QoSProfile(depth=depth, reliability=ReliabilityPolicy.BEST_EFFORT)
        surely = QoSProfile(depth=depth, reliability=ReliabilityPolicy.RELIABLE)
        group = NoExecutorGroup()
        for kind, message, topics, qos in (
            (JOINT_STATE, JointState, chosen.joint_state_topics, sensor),
            (ODOMETRY, Odometry, chosen.odometry_topics, sensor),
            (WRENCH, WrenchStamped, chosen.wrench_topics, sensor),
            (EFFORT, Float64MultiArray, efforts, sensor),
            (EVENT, String, (chosen.event_topic,), surely),
        ):
            for topic in topics:
                subscription = self.create_subscription(
                    message, topic, never_called, qos, callback_group=group, raw=True
                )
                self._kinds[subscription.topic_name] = kind
                self._inputs.append(subscription)

    def start(self) -> tuple[bool, str]:
        """Begin a recording."""
        if self.recording is not None:
            return False, f'already recording {self.recording.directory}'
        self._take_all(None)  # what came before the start does not belong to it
        try:
            self.recording = Recording(self.parameters.settings, time.time_ns())
        except LsiqError as error:
            self._fail(error)
            return False, str(error)
        self.failure = ''
        self._silent = set()
        self._began_s = time.monotonic()
        text = f'recording {self.recording.directory}'
        self.get_logger().info(text)
        return True, text

    def stop(self) -> tuple[bool, str]:
        """Finish the recording."""
        self.poll()
        if self.recording is None:
            return False, self.failure or 'not recording'
        recording, self.recording = self.recording, None
        try:
            metadata = recording.stop(time.time_ns())
        except LsiqError as error:
            self._fail(error)
            return False, str(error)
        text = (
            f'{recording.directory}: {metadata.message_count} messages, '
            f'{recording.episodes} episode(s), {recording.drops.total()} drops'
        )
        self.get_logger().info(text)
        return True, text

    def poll(self) -> None:
        """Take what has come, write it, and once a second say how it goes."""
        recording = self.recording
        try:
            self._take_all(recording)
            if recording is not None:
                recording.flush_if_due(time.monotonic_ns())
        except LsiqError as error:
            self.recording = None
            self._fail(error)
        if time.monotonic() - self._reported_s >= self.parameters.diagnostics_period_s:
            self._reported_s = time.monotonic()
            self._look_around()
            self._diagnostics.publish(self._diagnose())

    def _take_all(self, recording: Recording | None) -> None:
        """Take all that has come on all topics, and write it in the order of receipt."""
        taken = [message for topic in self._inputs for message in self._take(topic)]
        if recording is None:
            return
        for message in sorted(taken, key=lambda one: one.received_ns):
            if message.type == EVENT:
                self._note_event(recording, message)
            else:
                recording.take(message, self._offered_qos)

    def _take(self, subscription: Subscription) -> Iterator[RawMessage]:
        topic = subscription.topic_name
        with subscription.handle:
            while (found := subscription.handle.take_message(subscription.msg_type, True)) is not (
                None
            ):
                data, info = found
                yield RawMessage(
                    topic,
                    self._kinds[topic],
                    info['received_timestamp'] or time.time_ns(),
                    data,
                    info['source_timestamp'] or 0,
                    info['publication_sequence_number'] or 0,
                )

    def _note_event(self, recording: Recording, message: RawMessage) -> None:
        try:
            reason = read_text(message.data)
            if reason not in EVENTS:
                raise BagError(f'event {reason!r} is unknown, known are {list(EVENTS)}')
        except LsiqError as error:
            self.get_logger().warning(str(error))
            return
        recording.event(reason, message.received_ns)

    def _offered_qos(self, topic: str) -> list[Qos]:
        profiles = [info.qos_profile for info in self.get_publishers_info_by_topic(topic)]
        return [_describe(profile) for profile in profiles]

    def _look_around(self) -> None:
        """Notice topics that are silent or have several publishers."""
        if self.recording is None:
            return
        for topic, kind in self._kinds.items():
            if kind == EVENT:
                continue
            if self.count_publishers(topic) > 1:
                self.recording.do_not_count_drops(topic)
            waited = time.monotonic() - self._began_s
            silent = not self.recording.counts[topic] and waited > SILENT_AFTER_S
            if silent and topic not in self._silent:
                self._silent.add(topic)
                self.get_logger().warning(f'no message on {topic} yet')

    def _diagnose(self) -> DiagnosticArray:
        status = DiagnosticStatus(name=f'{self.get_fully_qualified_name()}: recording')
        values: dict[str, Any] = {'recording': self.recording is not None}
        status.level, status.message = DiagnosticStatus.OK, 'not recording'
        if self.failure:
            status.level, status.message = DiagnosticStatus.ERROR, self.failure
        if self.recording is not None:
            drops = self.recording.drops.total()
            status.message = f'recording, {drops} drops'
            if drops or not self.recording.counts:
                status.level = DiagnosticStatus.WARN
            values |= {
                'bag': self.recording.directory,
                'episodes': self.recording.episodes,
                'drops': drops,
            }
            for topic, kind in self._kinds.items():
                if kind != EVENT:
                    values[f'messages {topic}'] = self.recording.counts[topic]
        status.values = [KeyValue(key=key, value=str(value)) for key, value in values.items()]
        array = DiagnosticArray(status=[status])
        array.header.stamp = self.get_clock().now().to_msg()
        return array

    def _fail(self, error: LsiqError) -> None:
        self.failure = str(error)
        self.get_logger().error(self.failure)

    def _on_start(self, request: Any, response: Any) -> Any:
        response.success, response.message = self.start()
        return response

    def _on_stop(self, request: Any, response: Any) -> Any:
        response.success, response.message = self.stop()
        return response

    def _on_record(self, request: Any, response: Any) -> Any:
        response.success, response.message = self.start() if request.data else self.stop()
        return response

    def _on_split(self, request: Any, response: Any) -> Any:
        response.success, response.message = self._mark(SPLIT)
        return response

    def _mark(self, reason: str) -> tuple[bool, str]:
        self.poll()  # what came before belongs to the episode before
        if self.recording is None:
            return False, self.failure or 'not recording'
        try:
            self.recording.event(reason, time.time_ns())
        except LsiqError as error:
            self.recording = None
            self._fail(error)
            return False, str(error)
        return True, f'{reason}: episode {self.recording.episodes}'


def _describe(profile: QoSProfile) -> Qos:
    return Qos(
        history=profile.history.name.lower(),
        depth=profile.depth,
        reliability=profile.reliability.name.lower(),
        durability=profile.durability.name.lower(),
        deadline_ns=profile.deadline.nanoseconds,
        lifespan_ns=profile.lifespan.nanoseconds,
        liveliness=profile.liveliness.name.lower(),
        lease_ns=profile.liveliness_lease_duration.nanoseconds,
    )


def main(args: list[str] | None = None) -> None:
    """Run the node until SIGINT or SIGTERM, then finish the bag."""
    stop = init_without_handlers(args)
    node = None
    try:
        node = RecorderNode()
        executor = SingleThreadedExecutor()
        executor.add_node(node)
        while not stop.is_set():
            executor.spin_once(timeout_sec=POLL_S)
            node.poll()
        if node.recording is not None:
            node.stop()
    except ExternalShutdownException:
        pass
    except LsiqError as error:
        print(f'recorder: {error}', file=sys.stderr)
        raise SystemExit(2) from error
    finally:
        if node is not None:
            node.destroy_node()
        rclpy.try_shutdown()
    leave_now()


if __name__ == '__main__':
    main()
