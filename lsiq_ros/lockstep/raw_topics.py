# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
Wait for raw bytes on topics without an executor.

An executor's ``spin_once`` costs about 100 us, a persistent WaitSet some 10. The two
live side by side: subscriptions made here stand in a callback group that no executor runs.
"""

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from rclpy.callback_groups import CallbackGroup
from rclpy.impl.implementation_singleton import rclpy_implementation as _rclpy
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.subscription import Subscription

RELIABLE = QoSProfile(depth=10, reliability=ReliabilityPolicy.RELIABLE)
# For a subscription of the hot path: without acknowledgements an exchange takes 12 to 19 % less
# time, and lock-step asks again by itself for what was lost.
UNACKNOWLEDGED = QoSProfile(depth=10, reliability=ReliabilityPolicy.BEST_EFFORT)
LATCHED = QoSProfile(
    depth=1,
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.TRANSIENT_LOCAL,
)


class NoExecutorGroup(CallbackGroup):
    """Entities that their owner takes from; executors leave them alone."""

    def can_execute(self, entity: Any) -> bool:
        """Keep the entity out of every executor's wait set."""
        return False

    def beginning_execution(self, entity: Any) -> bool:
        """Refuse execution."""
        return False

    def ending_execution(self, entity: Any) -> None:
        """Do nothing: no execution has begun."""


class RawTopics:
    """
    Subscriptions whose owner waits for their bytes.

    :param topics: name, message type and QoS of each.
    """

    def __init__(self, node: Node, topics: Sequence[tuple[str, Any, QoSProfile]]) -> None:
        self._node = node
        group = NoExecutorGroup()
        self._subscriptions: dict[str, Subscription] = {
            topic: node.create_subscription(
                kind, topic, never_called, qos, callback_group=group, raw=True
            )
            for topic, kind, qos in topics
        }
        self._held = ExitStack()
        self._handles = {topic: sub.handle for topic, sub in self._subscriptions.items()}
        for handle in (node.context.handle, *self._handles.values()):
            self._held.enter_context(handle)  # nobody may destroy it while we wait on it
        count = len(self._handles)
        self._wait_set = _rclpy.WaitSet(count, 0, 0, 0, 0, 0, node.context.handle)

    def wait(self, topics: Sequence[str], timeout_s: float) -> list[str]:
        """Wait until one of the topics has something; return those that have."""
        self._wait_set.clear_entities()
        for topic in topics:
            self._wait_set.add_subscription(self._handles[topic])
        self._wait_set.wait(int(timeout_s * 1e9))
        ready = self._wait_set.get_ready_entities('subscription')
        return [topic for topic in topics if self._handles[topic].pointer in ready]

    def receive(self, topic: str, timeout_s: float) -> bytes | None:
        """Wait for the next message on a topic; return None if none comes."""
        wait_set = self._wait_set
        wait_set.clear_entities()
        wait_set.add_subscription(self._handles[topic])
        wait_set.wait(int(timeout_s * 1e9))
        return self.take(topic)

    def take(self, topic: str) -> bytes | None:
        """Return the oldest message not yet taken, or None."""
        taken = self._handles[topic].take_message(self._subscriptions[topic].msg_type, True)
        return None if taken is None else taken[0]

    def publishers(self, topic: str) -> int:
        """Return how many publishers feed the topic."""
        return int(self._node.count_publishers(self._subscriptions[topic].topic_name))

    def close(self) -> None:
        """Give the subscriptions back."""
        self._held.close()
        for subscription in self._subscriptions.values():
            self._node.destroy_subscription(subscription)
        self._subscriptions = {}


def never_called(_raw: bytes) -> None:
    """Stand in for a callback where the owner takes the messages itself."""
    raise AssertionError('an executor ran a raw subscription')
