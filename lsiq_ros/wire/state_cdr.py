# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
Read joint states and odometry straight from their CDR bytes.

rclpy builds a message object with all its covariances first, which costs more than policy
and gate together. A source sends the same names again and again: what stands around the
numbers is compared with the last message as bytes. Anything unusual goes the long way.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from lsiq_ros.wire.base import PelvisOdometry
from lsiq_ros.wire.messages import read_odometry
from nav_msgs.msg import Odometry
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState

LITTLE_ENDIAN = b'\x00\x01'
_BODY = 4  # after the encapsulation; alignment counts from here
_AFTER_STAMP = 12
_STAMP = struct.Struct('<iI')
_COUNT = struct.Struct('<I')
_POSE = struct.Struct('<7d')
_TWIST = struct.Struct('<6d')
_COVARIANCE_BYTES = 36 * 8


class JointValues(NamedTuple):
    """What the controller needs of a JointState."""

    stamp_s: float
    names: list[str]
    position_rad: tuple[float, ...]
    velocity_rad_s: tuple[float, ...]


class JointStateReader:
    """Read the joint states of one source; the layout of the last one is remembered."""

    def __init__(self) -> None:
        self._names: list[str] = []
        self._around: tuple[bytes, bytes] = (b'', b'')
        self._numbers = struct.Struct('')
        self._positions_at = self._velocities_at = self._length = 0

    def read(self, raw: bytes) -> JointValues:
        """Return the values of a serialised JointState."""
        if not self._fits(raw):
            return self._read_anew(raw)
        return JointValues(
            stamp_of(raw),
            self._names,
            self._numbers.unpack_from(raw, self._positions_at),
            self._numbers.unpack_from(raw, self._velocities_at),
        )

    def _fits(self, raw: bytes) -> bool:
        before, between = self._around
        count_at = self._velocities_at - len(between)
        return (
            len(raw) == self._length
            and raw[_AFTER_STAMP : self._positions_at] == before
            and raw[count_at : self._velocities_at] == between
            and raw[:2] == LITTLE_ENDIAN
        )

    def _read_anew(self, raw: bytes) -> JointValues:
        message = deserialize_message(raw, JointState)
        self._length = 0
        counts = {len(message.name), len(message.position), len(message.velocity)}
        if raw[:2] == LITTLE_ENDIAN and len(counts) == 1 and message.name:
            self._remember(raw, list(message.name))
        stamp = message.header.stamp
        return JointValues(
            stamp.sec + stamp.nanosec * 1e-9,
            list(message.name),
            tuple(message.position),
            tuple(message.velocity),
        )

    def _remember(self, raw: bytes, names: list[str]) -> None:
        at = _skip_string(raw, _AFTER_STAMP)
        at = _aligned(at, 4) + _COUNT.size
        for _ in names:
            at = _skip_string(raw, at)
        self._numbers = struct.Struct(f'<{len(names)}d')
        self._positions_at = _aligned(_aligned(at, 4) + _COUNT.size, 8)
        count_at = self._positions_at + self._numbers.size
        self._velocities_at = _aligned(count_at + _COUNT.size, 8)
        self._around = raw[_AFTER_STAMP : self._positions_at], raw[count_at : self._velocities_at]
        self._names, self._length = names, len(raw)


def read_pelvis(raw: bytes) -> tuple[float, PelvisOdometry]:
    """Return stamp and pelvis of a serialised Odometry."""
    if raw[:2] == LITTLE_ENDIAN:
        try:
            at = _aligned(_skip_string(raw, _skip_string(raw, _AFTER_STAMP)), 8)
            x, y, z, qx, qy, qz, qw = _POSE.unpack_from(raw, at)
            twist = _TWIST.unpack_from(raw, at + _POSE.size + _COVARIANCE_BYTES)
            return stamp_of(raw), PelvisOdometry((x, y, z), (qx, qy, qz, qw), twist[:3], twist[3:])
        except struct.error:
            pass  # too short for what it says; rclpy has the last word
    message = deserialize_message(raw, Odometry)
    stamp = message.header.stamp
    return stamp.sec + stamp.nanosec * 1e-9, read_odometry(message)


def stamp_of(raw: bytes) -> float:
    """Return the stamp of a little-endian message that begins with a header, in s."""
    seconds, nanoseconds = _STAMP.unpack_from(raw, _BODY)
    return float(seconds + nanoseconds * 1e-9)


def _aligned(at: int, alignment: int) -> int:
    return at + (_BODY - at) % alignment


def _skip_string(raw: bytes, at: int) -> int:
    at = _aligned(at, 4)
    (length,) = _COUNT.unpack_from(raw, at)
    return at + _COUNT.size + int(length)
