# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
The sole right to command a robot's efforts.

DDS tells who publishes, but late, and so it is no lock. Two things together are:

1. A lease on this machine: an exclusive ``flock`` on a file whose name is a hash of ROS
   domain and topic. The kernel gives it to one process and takes it back when that dies.
2. A look at everybody else: the publisher is announced and stays silent until discovery
   must have brought both sides together. Of two nodes that do this on two machines, the
   later one always sees the earlier, so never do both go on.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from pathlib import Path
import stat
import time
from typing import Any

from lsiq_core.errors import LsiqError
from lsiq_ros.wire.topics import EFFORT_COMMANDS
from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.qos import QoSProfile
from std_msgs.msg import Float64MultiArray

_LAST_WORD_S = 0.2  # until the last command is received, where somebody listens
RELIABLE = QoSProfile(depth=1)
PARTICIPANTS_S = 3.0  # after its start a node has met every participant (Fast DDS: 3 s period)
LOOK_S = 0.02


class RivalError(LsiqError):
    """Somebody else commands the robot."""


def lease_directory() -> Path:
    """Return the first directory where every user of this machine may lock a file."""
    for place in ('/run/lock', '/var/lock', '/tmp'):
        if os.path.isdir(place) and os.stat(place).st_mode & stat.S_IWOTH:
            return Path(place)
    raise LsiqError('no lease: none of /run/lock, /var/lock and /tmp is writable for all')


class Lease:
    """
    An exclusive lock that dies with its process.

    :param key: what is locked; equal keys on one machine exclude each other.
    :param directory: where lock files lie, the same for all who may be rivals.
    """

    def __init__(self, key: str, directory: Path | None = None) -> None:
        name = hashlib.sha256(key.encode()).hexdigest()[:24]
        self.path = (directory or lease_directory()) / f'lsiq_effort_{name}.lock'
        self._file: int | None = None

    def take(self) -> None:
        """
        Take the lease, or say who has it.

        :raises RivalError: if another process holds it.
        """
        while True:
            file = _open(self.path)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                holder = _holder(os.fstat(file).st_ino)
                os.close(file)
                raise RivalError(f'{holder} holds the lease {self.path}') from error
            self._file = file
            if self.held:
                return
            self.release()  # somebody removed the file while we opened it

    @property
    def held(self) -> bool:
        """Return whether we hold the lock on the file that others would find."""
        if self._file is None:
            return False
        try:
            return os.path.samestat(os.fstat(self._file), os.stat(self.path))
        except OSError:
            return False

    def release(self) -> None:
        """Give it back; the file stays, or a third could lock another one of its name."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


def _open(path: Path) -> int:
    """Open without writing, so that the file of another user will do."""
    flags = os.O_RDONLY | os.O_NOFOLLOW
    try:
        try:
            return os.open(path, flags)
        except FileNotFoundError:
            return os.open(path, flags | os.O_CREAT, 0o644)
    except OSError as error:
        raise LsiqError(f'{path}: no lease, {error.strerror}') from error


def _holder(inode: int) -> str:
    """Return the process that has locked a file, as the kernel says."""
    try:
        for line in Path('/proc/locks').read_text().splitlines():
            fields = line.split()
            if len(fields) > 5 and fields[1] == 'FLOCK' and fields[5].endswith(f':{inode}'):
                return f'process {fields[4]}'
    except OSError:
        pass  # not Linux
    return 'another process'


class EffortClaim:
    """
    The publisher of efforts, held by one node at a time.

    :param node: who wants to command.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self.topic = node.resolve_topic_name(EFFORT_COMMANDS)
        self._lease = Lease(f'{node.context.get_domain_id()} {self.topic}')
        self._started_s = time.monotonic()
        self._own: bytes | None = None  # the publisher's identity in DDS
        self.publisher: Any = None  # exists while the claim is held and at no other time

    def take(self, wait_s: float) -> Any:
        """
        Return the publisher of efforts, as soon as it is sure to be the only one.

        :param wait_s: how long discovery may take between two machines.
        :raises RivalError: naming who else commands.
        """
        try:
            self._lease.take()
            self._refuse_rivals()
            self.publisher = self._node.create_publisher(
                Float64MultiArray, EFFORT_COMMANDS, RELIABLE
            )
            now_s = time.monotonic()
            until_s = max(now_s + wait_s, self._started_s + min(wait_s, 1) * PARTICIPANTS_S)
            while time.monotonic() < until_s:
                self._refuse_rivals()
                time.sleep(LOOK_S)
            self._refuse_rivals()
        except BaseException:
            self.release()
            raise
        return self.publisher

    def rivals(self) -> str:
        """Return who else may command efforts, or nothing."""
        if self.publisher is not None and not self._lease.held:
            return f'the lease {self._lease.path} was taken away'
        publishers = {
            bytes(info.endpoint_gid): f'{info.node_namespace.rstrip("/")}/{info.node_name}'
            for info in self._node.get_publishers_info_by_topic(self.topic)
        }
        if self.publisher is not None and self._own is None:
            self._own = self._recognise(publishers)
        others = [name for gid, name in publishers.items() if gid != self._own]
        if not others:
            return ''
        return f'{len(others)} other publishers on {self.topic}: {", ".join(sorted(others))}'

    def release(self) -> None:
        """Destroy the publisher, then give the lease back."""
        if self.publisher is not None:
            # The zero torque that was sent last must come before its publisher is gone.
            self.publisher.wait_for_all_acked(Duration(seconds=_LAST_WORD_S))
            self._node.destroy_publisher(self.publisher)
            self.publisher = self._own = None
        self._lease.release()

    def _recognise(self, publishers: dict[bytes, str]) -> bytes | None:
        """Return our own publisher, if there is one alone that bears our name."""
        own = self._node.get_fully_qualified_name()
        ours = [gid for gid, name in publishers.items() if name == own]
        return ours[0] if len(ours) == 1 else None

    def _refuse_rivals(self) -> None:
        found = self.rivals()
        if found:
            raise RivalError(found)
