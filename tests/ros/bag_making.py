# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Make bags for tests the way rosbag2 makes them, with signals known in closed form."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from lsiq_ros.bags.importer import import_samples, ImportOptions, ImportResult
from lsiq_ros.bags.message_types import jazzy_types, JOINT_STATE, ODOMETRY, WRENCH
from lsiq_ros.bags.npz_samples import read_recording
import numpy as np
from rosbags.rosbag2 import StoragePlugin, Writer

START_NS = 1_790_000_000_000_000_000
TYPES = jazzy_types()
JOINTS = ('hip', 'knee', 'ankle')
AMPLITUDES = np.array([0.4, 0.6, 0.3])
OFFSETS = np.array([0.0, -0.7, 0.1])
PHASES = np.array([0.0, 1.0, 2.0])
TURNS_HZ = 1.3


class Message(NamedTuple):
    topic: str
    type: str
    received_ns: int
    data: bytes


def import_demonstrations(path: Path, options: ImportOptions | None = None) -> ImportResult:
    return import_samples(read_recording(path), options or ImportOptions())


def angles(times, joints=slice(None)):
    """Return positions and velocities in closed form, [n, 3] each."""
    phase = 2 * np.pi * TURNS_HZ * np.atleast_1d(times)[:, None] + PHASES
    position = OFFSETS + AMPLITUDES * np.sin(phase)
    velocity = 2 * np.pi * TURNS_HZ * AMPLITUDES * np.cos(phase)
    return position[:, joints], velocity[:, joints]


def header(stamp_ns: int, frame: str = ''):
    time = TYPES.types['builtin_interfaces/msg/Time']
    stamp = time(int(stamp_ns // 10**9), int(stamp_ns % 10**9))
    return TYPES.types['std_msgs/msg/Header'](stamp, frame)


def joint_state(stamp_ns, names, position=(), velocity=(), effort=()) -> bytes:
    arrays = (np.array(values, np.float64) for values in (position, velocity, effort))
    message = TYPES.types[JOINT_STATE](header(stamp_ns), list(names), *arrays)
    return bytes(TYPES.serialize_cdr(message, JOINT_STATE))


def odometry(stamp_ns, pose, twist, child_frame='pelvis') -> bytes:
    vector = TYPES.types['geometry_msgs/msg/Vector3']
    point = TYPES.types['geometry_msgs/msg/Point']
    quaternion = TYPES.types['geometry_msgs/msg/Quaternion']
    place = TYPES.types['geometry_msgs/msg/Pose'](point(*pose[:3]), quaternion(*pose[3:]))
    motion = TYPES.types['geometry_msgs/msg/Twist'](vector(*twist[:3]), vector(*twist[3:]))
    message = TYPES.types[ODOMETRY](
        header(stamp_ns, 'odom'),
        child_frame,
        TYPES.types['geometry_msgs/msg/PoseWithCovariance'](place, np.zeros(36)),
        TYPES.types['geometry_msgs/msg/TwistWithCovariance'](motion, np.zeros(36)),
    )
    return bytes(TYPES.serialize_cdr(message, ODOMETRY))


def wrench(stamp_ns, force, torque=(0, 0, 0), frame='odom') -> bytes:
    vector = TYPES.types['geometry_msgs/msg/Vector3']
    both = TYPES.types['geometry_msgs/msg/Wrench'](
        vector(*map(float, force)), vector(*map(float, torque))
    )
    message = TYPES.types[WRENCH](header(stamp_ns, frame), both)
    return bytes(TYPES.serialize_cdr(message, WRENCH))


@dataclass
class Walk:
    """A recording of three joints; change a field to spoil it."""

    seconds: float = 3.0
    rate_hz: float = 200.0
    names: tuple[str, ...] = JOINTS
    position_scale: float = 1.0
    velocity_scale: float = 1.0
    with_velocity: bool = True
    with_effort: bool = False
    stamped: bool = True
    leave_out: frozenset[int] = field(default_factory=frozenset)
    start_ns: int = START_NS
    stamp_offset_ns: int = 0
    topic: str = '/joint_states'

    def messages(self) -> list[Message]:
        made = []
        for row in range(int(self.seconds * self.rate_hz) + 1):
            if row in self.leave_out:
                continue
            received = self.start_ns + round(row / self.rate_hz * 1e9)
            position, velocity = angles(row / self.rate_hz)
            order = [JOINTS.index(name) for name in self.names]
            position = position[0, order] * self.position_scale
            velocity = velocity[0, order] * self.velocity_scale
            stamp = received + self.stamp_offset_ns if self.stamped else 0
            data = joint_state(
                stamp,
                self.names,
                position,
                velocity if self.with_velocity else (),
                100 * position if self.with_effort else (),
            )
            made.append(Message(self.topic, JOINT_STATE, received, data))
        return made


def write_rosbag2(
    path: Path, messages: Iterable[Message], storage: str = 'mcap', version: int = 9
) -> Path:
    """Write a bag in rosbag2's own layout, by an independent writer."""
    plugin = StoragePlugin.MCAP if storage == 'mcap' else StoragePlugin.SQLITE3
    with Writer(path, version=version, storage_plugin=plugin) as writer:
        links = {}
        for message in messages:
            if message.topic not in links:
                links[message.topic] = writer.add_connection(
                    message.topic, message.type, typestore=TYPES
                )
            writer.write(links[message.topic], message.received_ns, message.data)
    return path
