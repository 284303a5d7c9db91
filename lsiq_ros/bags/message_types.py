# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Messages as bytes, and the message types of ROS 2 Jazzy: definitions and hashes."""

from functools import cache, lru_cache
from typing import NamedTuple

from lsiq_ros.bags.errors import BagError
from rosbags.typesys import get_typestore, Stores
from rosbags.typesys.store import Typestore

JOINT_STATE = 'sensor_msgs/msg/JointState'
ODOMETRY = 'nav_msgs/msg/Odometry'
WRENCH = 'geometry_msgs/msg/WrenchStamped'


class RawMessage(NamedTuple):
    """One message as it came from the wire."""

    topic: str
    type: str
    received_ns: int
    data: bytes
    published_ns: int = 0  # zero if unknown, like the next
    sequence: int = 0  # the publisher's count


class MessageType(NamedTuple):
    """What a bag has to say about a type so that others can read it."""

    name: str
    definition: str  # ros2msg: the type and all it consists of
    rihs01: str  # the hash that nodes of the same type announce


@lru_cache(maxsize=1)
def jazzy_types() -> Typestore:
    """Return the standard types of ROS 2 Jazzy."""
    return get_typestore(Stores.ROS2_JAZZY)


@cache
def message_type(name: str) -> MessageType:
    """Describe a type by its full name, ``sensor_msgs/msg/JointState``."""
    types = jazzy_types()
    if name not in types.fielddefs:
        raise BagError(f'message type {name!r} is none of the standard types of ROS 2 Jazzy')
    definition, _ = types.generate_msgdef(name, ros_version=2)
    return MessageType(name, definition, types.hash_rihs01(name))
