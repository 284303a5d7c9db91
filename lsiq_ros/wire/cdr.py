# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
The messages of a robot as CDR bytes: one reader and one writer for each type.

rclpy builds a message object with all its covariances, which costs more than policy and
gate together. Here only what is used is read. A source sends the same names and lengths
again and again: its layout is worked out once, and then one ``struct`` call reads a
message, after what stands around the numbers was compared as bytes. Anything else is
walked through field by field, and every length is checked against the bytes that are left.

CDR: four bytes of encapsulation, then the fields, each aligned to its size counted from
there. Both byte orders are read, little-endian is written. Stamps are integer nanoseconds.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from operator import itemgetter
import struct
from typing import Any, Generic, NamedTuple, TypeVar

from lsiq_core.errors import LsiqError
from lsiq_ros.wire.base import BaseOdometry
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Numbers = tuple[float, ...]
NS_PER_S = 1_000_000_000
_ENCAPSULATION = b'\x00\x01\x00\x00'  # of what is written: little-endian, no options
_ORDERS = {b'\x00\x01': '<', b'\x00\x00': '>'}
_BODY = 4  # after the encapsulation; alignment counts from here
_STAMP = struct.Struct('<iI')
_LENGTH = struct.Struct('<I')
_COVARIANCE_BYTES = 36 * 8
_ODOMETRY = struct.Struct(f'<7d{_COVARIANCE_BYTES}x6d{_COVARIANCE_BYTES}x')
_WRENCH = struct.Struct('<6d')
_MOST_LAYOUTS = 16  # of one topic; a source of ever new lengths fills no memory


MessageT = TypeVar('MessageT')
Values = tuple[Any, ...]  # the stamp's two parts are always at 1 and 2
_Unpack = Callable[[bytes], Values]
# How to unpack a message, which of its values are fixed and what they are (encapsulation,
# texts, lengths), how to make a message of the others, and where the last length stands.
_Layout = tuple[_Unpack, Callable[[Values], Any], Any, Callable[[Values], MessageT], int]
_EMPTY: Array = np.empty(0)
_array: Any = np.frombuffer
_new: Any = tuple.__new__  # a NamedTuple's own is a Python function around it


class CdrError(LsiqError):
    """The bytes are not the message that they should be."""


class JointState(NamedTuple):
    """A sensor_msgs/JointState; absent quantities are empty."""

    stamp_ns: int
    frame: str
    names: tuple[str, ...]
    position: Numbers
    velocity: Numbers
    effort: Numbers


class JointArrays(NamedTuple):
    """The same with read-only arrays."""

    stamp_ns: int
    frame: str
    names: tuple[str, ...]
    position: Array
    velocity: Array
    effort: Array


class Odometry(NamedTuple):
    """A nav_msgs/Odometry without its covariances."""

    stamp_ns: int
    frame: str
    child_frame: str
    base: BaseOdometry


class Wrench(NamedTuple):
    """A geometry_msgs/WrenchStamped."""

    stamp_ns: int
    frame: str
    force_n: tuple[float, float, float]
    torque_nm: tuple[float, float, float]


class _Walk:
    """Walk through one message with every check, and note how to read the next at once."""

    def __init__(self, raw: bytes) -> None:
        self._raw, self._at = raw, _BODY
        order = _ORDERS.get(bytes(raw[:2]))
        if order is None:
            raise CdrError(f'encapsulation {bytes(raw[:2]).hex()!r} is not CDR (0000 or 0001)')
        self.order, self._format = order, f'{order}2s2x'
        self._count = struct.Struct(f'{order}I')
        self._described = _BODY  # so far by the format
        self._values = 1  # that the format unpacks
        self._fixed = [0]  # which of them are fixed
        self.last_length_at = 0  # the byte where the last length stands

    def count(self, smallest: int) -> int:
        """Return a length, after making sure that so many elements can follow."""
        self._align(4)
        self.last_length_at = self._take(4)
        (count,) = self._count.unpack_from(self._raw, self.last_length_at)
        if count * smallest > len(self._raw) - self._at:
            left = len(self._raw) - self._at
            raise CdrError(f'{count} elements are announced, {left} bytes are left')
        return int(count)

    def string(self) -> str:
        """Return a text."""
        length = self.count(1)
        if length == 0:
            raise CdrError('a text of 0 bytes, which lacks its terminating zero')
        first = self._take(length)
        return bytes(self._raw[first : self._at - 1]).decode('utf-8', 'replace')

    def strings(self) -> tuple[str, ...]:
        """Return a sequence of texts."""
        return tuple(self.string() for _ in range(self.count(5)))

    def stamp(self) -> None:
        """Pass over the stamp that a header begins with."""
        self._vary(self._take(8), 'iI', 2)

    def doubles(self, count: int | None = None) -> slice:
        """Pass a sequence, or so many doubles without a length; return where they will be."""
        count = self.count(8) if count is None else count
        if count:
            self._align(8)
            self._vary(self._take(8 * count), f'{count}d', count)
        return slice(self._values - count, self._values)

    def packed_doubles(self) -> int | None:
        """Pass a sequence that is left as bytes; return where they will be, None if empty."""
        count = self.count(8)
        if not count:
            return None
        self._align(8)
        self._vary(self._take(8 * count), f'{8 * count}s', 1)
        return self._values - 1

    def skip(self, size: int) -> None:
        """Pass over bytes that may be anything."""
        self._vary(self._take(size), f'{size}x', 0)

    def layout(self) -> tuple[_Unpack, Callable[[Values], Any]]:
        """Return how to unpack messages of this shape, and which values must stay the same."""
        rest = len(self._raw) - self._at
        self._vary(self._take(rest), f'{rest}x', 0)
        return struct.Struct(self._format).unpack, itemgetter(*self._fixed)

    def _align(self, size: int) -> None:
        self._at += (_BODY - self._at) % size

    def _take(self, size: int) -> int:
        first = self._at
        self._at += size
        if self._at > len(self._raw):
            raise CdrError(
                f'{size} bytes are expected at {first}, the message has {len(self._raw)}'
            )
        return first

    def _vary(self, first: int, code: str, values: int) -> None:
        """Describe the bytes from here on as varying, and those before as fixed."""
        if first > self._described:
            self._format += f'{first - self._described}s'
            self._fixed.append(self._values)
            self._values += 1
        self._format += code
        self._values += values
        self._described = self._at


class _Reader(ABC, Generic[MessageT]):
    """Read the messages of one source; layouts are remembered by the length of a message."""

    def __init__(self) -> None:
        self._layouts: dict[int, _Layout[MessageT]] = {}

    def __call__(self, raw: bytes) -> MessageT:
        """
        Read one message.

        :raises CdrError: if the bytes are no such message.
        """
        layout = self._layouts.get(len(raw))
        if layout is not None:
            unpack, fixed_of, fixed, make, _ = layout
            values = unpack(raw)
            if fixed_of(values) == fixed:
                return make(values)
        walk = _Walk(raw)
        make = self._walk(walk)
        last_length_at = walk.last_length_at
        unpack, fixed_of = walk.layout()
        values = unpack(raw)
        if len(self._layouts) >= _MOST_LAYOUTS:
            self._layouts.clear()
        self._layouts[len(raw)] = unpack, fixed_of, fixed_of(values), make, last_length_at
        return make(values)

    @abstractmethod
    def _walk(self, walk: _Walk) -> Callable[[Values], MessageT]:
        """Walk through the fields in order; return what makes a message of their values."""


class JointStateReader(_Reader[JointState]):
    """Read sensor_msgs/JointState."""

    def _walk(self, walk: _Walk) -> Callable[[Values], JointState]:
        walk.stamp()
        frame, names = walk.string(), walk.strings()
        position, velocity, effort = walk.doubles(), walk.doubles(), walk.doubles()

        def make(v: Values) -> JointState:
            stamp_ns = v[1] * NS_PER_S + v[2]
            return _new(JointState, (stamp_ns, frame, names, v[position], v[velocity], v[effort]))

        return make

    def without_effort(self, raw: bytes) -> bytes:
        """Return the message with an empty effort, which is its last field."""
        if not self(raw).effort:
            return raw
        *_, last_length_at = self._layouts[len(raw)]
        return raw[:last_length_at] + bytes(_LENGTH.size)


class JointArraysReader(_Reader[JointArrays]):
    """Read sensor_msgs/JointState of many numbers that are used as arrays."""

    def _walk(self, walk: _Walk) -> Callable[[Values], JointArrays]:
        walk.stamp()
        frame, names = walk.string(), walk.strings()
        places = [walk.packed_doubles() for _ in range(3)]
        number = np.dtype(f'{walk.order}f8')

        def make(v: Values) -> JointArrays:
            arrays = [_EMPTY if at is None else _array(v[at], number) for at in places]
            return _new(JointArrays, (v[1] * NS_PER_S + v[2], frame, names, *arrays))

        return make


class OdometryReader(_Reader[Odometry]):
    """Read nav_msgs/Odometry."""

    def _walk(self, walk: _Walk) -> Callable[[Values], Odometry]:
        walk.stamp()
        frame, child_frame = walk.string(), walk.string()
        place, turn = walk.doubles(3), walk.doubles(4)
        walk.skip(_COVARIANCE_BYTES)
        linear, angular = walk.doubles(3), walk.doubles(3)
        walk.skip(_COVARIANCE_BYTES)

        def make(v: Values) -> Odometry:
            base = _new(BaseOdometry, (v[place], v[turn], v[linear], v[angular]))
            return _new(Odometry, (v[1] * NS_PER_S + v[2], frame, child_frame, base))

        return make


class WrenchReader(_Reader[Wrench]):
    """Read geometry_msgs/WrenchStamped."""

    def _walk(self, walk: _Walk) -> Callable[[Values], Wrench]:
        walk.stamp()
        frame = walk.string()
        force, torque = walk.doubles(3), walk.doubles(3)
        return lambda v: Wrench(v[1] * NS_PER_S + v[2], frame, v[force], v[torque])


def read_text(raw: bytes) -> str:
    """Read a std_msgs/String."""
    return _Walk(raw).string()


class JointStateWriter:
    """
    Write sensor_msgs/JointState with the same frame, names and lengths again and again.

    :param position: how many positions it carries; velocity and effort alike.
    """

    def __init__(
        self,
        frame: str,
        names: Sequence[str],
        *,
        position: int = 0,
        velocity: int = 0,
        effort: int = 0,
    ) -> None:
        buffer = _with_header(frame)
        _append_length(buffer, len(names))
        for name in names:
            _append_string(buffer, name)
        counts = position, velocity, effort
        starts = [_append_doubles(buffer, count) for count in counts]
        self._buffer = buffer
        self.position, self.velocity, self.effort = (
            np.frombuffer(buffer, '<f8', count, start) if count else np.empty(0)
            for count, start in zip(counts, starts)
        )

    def write(self, stamp_ns: int) -> bytes:
        """Return the message with this stamp and what the three views hold."""
        _STAMP.pack_into(self._buffer, _BODY, *divmod(stamp_ns, NS_PER_S))
        return bytes(self._buffer)


class OdometryWriter:
    """Write nav_msgs/Odometry: pose in ``frame``, twist in ``child_frame``."""

    def __init__(self, frame: str, child_frame: str) -> None:
        self._buffer = _with_header(frame)
        _append_string(self._buffer, child_frame)
        _pad(self._buffer, 8)
        self._at = len(self._buffer)
        self._buffer += bytes(_ODOMETRY.size)

    def write(self, stamp_ns: int, base: BaseOdometry) -> bytes:
        """Return the message; its covariances are zero, which says unknown."""
        _STAMP.pack_into(self._buffer, _BODY, *divmod(stamp_ns, NS_PER_S))
        place, turn, linear, angular = base
        _ODOMETRY.pack_into(self._buffer, self._at, *place, *turn, *linear, *angular)
        return bytes(self._buffer)


class WrenchWriter:
    """Write geometry_msgs/WrenchStamped along the axes of ``frame``."""

    def __init__(self, frame: str) -> None:
        self._buffer = _with_header(frame)
        _pad(self._buffer, 8)
        self._at = len(self._buffer)
        self._buffer += bytes(_WRENCH.size)

    def write(self, stamp_ns: int, force_n: Sequence[float]) -> bytes:
        """Return the message with a force and no torque."""
        _STAMP.pack_into(self._buffer, _BODY, *divmod(stamp_ns, NS_PER_S))
        _WRENCH.pack_into(self._buffer, self._at, *force_n, 0.0, 0.0, 0.0)
        return bytes(self._buffer)


def write_float64_array(values: Array) -> bytes:
    """Write std_msgs/Float64MultiArray: no dimensions, no offset, then the doubles."""
    head = struct.pack('<III4x', 0, 0, len(values))
    return _ENCAPSULATION + head + values.astype('<f8').tobytes()


def _with_header(frame: str) -> bytearray:
    buffer = bytearray(_ENCAPSULATION + bytes(_STAMP.size))
    _append_string(buffer, frame)
    return buffer


def _pad(buffer: bytearray, alignment: int) -> None:
    buffer += bytes((_BODY - len(buffer)) % alignment)


def _append_length(buffer: bytearray, length: int) -> None:
    _pad(buffer, _LENGTH.size)
    buffer += _LENGTH.pack(length)


def _append_string(buffer: bytearray, text: str) -> None:
    encoded = text.encode() + b'\0'
    _append_length(buffer, len(encoded))
    buffer += encoded


def _append_doubles(buffer: bytearray, count: int) -> int:
    """Append room for so many doubles and return where they start."""
    _append_length(buffer, count)
    if count:
        _pad(buffer, 8)
    start = len(buffer)
    buffer += bytes(8 * count)
    return start
