# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
Write raw CDR bytes into a rosbag2 directory with one MCAP file.

Chunks are small and are handed to the operating system several times a second, so that a
killed process loses little. When the disk is full the file is finished with what it has.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
import errno
from pathlib import Path
import shutil

from lsiq_core.errors import LsiqError
from lsiq_ros.bags.errors import BagError, DiskFullError
from lsiq_ros.bags.mcap_finish import finished
from lsiq_ros.bags.message_types import message_type
from lsiq_ros.bags.metadata import BagMetadata, Qos, to_yaml, Topic
from lsiq_ros.bags.recover import metadata_of, RECORDING_NOTE
from mcap.writer import CompressionType, Writer

CHUNK_BYTES = 64 * 1024
FLUSH_PERIOD_NS = 100_000_000
RESERVE_BYTES = 256 * 1024  # given back when the disk is full, for summary and metadata.yaml
MIN_FREE_BYTES = 64 * 2**20
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class BagWriter:
    """A bag that is being written."""

    def __init__(
        self,
        directory: Path,
        *,
        custom_data: dict[str, str] | None = None,
        min_free_bytes: int = MIN_FREE_BYTES,
        compress: bool = True,
    ) -> None:
        """
        Create the directory and begin the file.

        :param directory: must not exist yet.
        :param custom_data: texts for metadata.yaml; also kept in the MCAP file from the
            start, so that a killed recording still has them.
        :param min_free_bytes: stop when the disk has less left than this.
        """
        self.directory = directory
        self.path = directory / f'{directory.name}_0.mcap'
        self.counts: Counter[str] = Counter()
        self.is_open = True
        self._topics: dict[str, Topic] = {}
        self._channels: dict[str, int] = {}
        self._schemas: dict[str, int] = {}
        self._start_ns = 0
        self._end_ns = 0
        self._flushed_ns = 0
        self._min_free_bytes = min_free_bytes
        self._reserve = directory / '.reserve'
        self._custom_data = dict(custom_data or {})
        try:
            directory.mkdir(parents=True)
            self._reserve.write_bytes(bytes(RESERVE_BYTES))
            self._file = _WholeWrites(self.path)
        except FileExistsError as error:
            raise BagError(f'{directory}: exists already, a recording needs a new name') from error
        except OSError as error:
            shutil.rmtree(directory, ignore_errors=True)
            raise BagError(f'{directory}: cannot be created ({error.strerror})') from error
        compression = CompressionType.ZSTD if compress else CompressionType.NONE
        self._mcap = Writer(self._file, CHUNK_BYTES, compression)  # type: ignore[arg-type]
        self._mcap.start(profile='ros2', library='lsiq_ros')
        self.note(RECORDING_NOTE, self._custom_data)

    def add_topic(self, name: str, type_name: str, qos: Sequence[Qos] = (Qos(),)) -> None:
        """Announce a topic before its first message."""
        self._check_open()
        described = message_type(type_name)
        profiles = tuple(profile.as_dict() for profile in qos)
        if type_name not in self._schemas:
            self._schemas[type_name] = self._mcap.register_schema(
                type_name, 'ros2msg', described.definition.encode()
            )
        self._topics[name] = Topic(name, type_name, described.rihs01, profiles)
        self._channels[name] = self._mcap.register_channel(
            name,
            'cdr',
            self._schemas[type_name],
            {
                'offered_qos_profiles': to_yaml(list(profiles)),
                'topic_type_hash': described.rihs01,
            },
        )

    def has_topic(self, name: str) -> bool:
        """Return whether the topic was announced."""
        return name in self._channels

    def write(
        self, topic: str, log_ns: int, data: bytes, *, publish_ns: int = 0, sequence: int = 0
    ) -> None:
        """
        Write one message as it came from the wire.

        :param publish_ns: when it was sent; zero if unknown.
        :param sequence: the publisher's count; zero if unknown.
        """
        self._check_open()
        try:
            self._mcap.add_message(
                self._channels[topic], log_ns, data, publish_ns or log_ns, sequence & 0xFFFFFFFF
            )
        except OSError as error:
            self._end_early(error)
        self._start_ns = min(self._start_ns or log_ns, log_ns)
        self._end_ns = max(self._end_ns, log_ns)
        self.counts[topic] += 1

    def note(self, name: str, content: dict[str, str]) -> None:
        """Write a metadata record into the file at once, for those who recover it."""
        self._check_open()
        try:
            self._mcap.add_metadata(name, content)
        except OSError as error:
            self._end_early(error)

    def flush_if_due(self, now_ns: int) -> bool:
        """Hand everything to the operating system, a few times a second."""
        self._check_open()
        if now_ns - self._flushed_ns < FLUSH_PERIOD_NS:
            return False
        self._flushed_ns = now_ns
        try:
            self._mcap.flush()
            free = shutil.disk_usage(self.directory).free
            if free < self._min_free_bytes:
                raise OSError(errno.ENOSPC, f'{free} bytes free, {self._min_free_bytes} wanted')
        except OSError as error:
            self._end_early(error)
        return True

    def close(self, custom_data: dict[str, str] | None = None) -> BagMetadata:
        """Finish the file and write metadata.yaml."""
        self._check_open()
        self._custom_data |= custom_data or {}
        metadata = BagMetadata(
            file_name=self.path.name,
            topics=tuple(
                replace(topic, message_count=self.counts[topic.name])
                for topic in self._topics.values()
            ),
            start_ns=self._start_ns,
            end_ns=self._end_ns,
            custom_data=self._custom_data,
        )
        try:
            self._mcap.flush()
            self._mcap.add_metadata(
                'rosbag2', {'serialized_metadata': to_yaml(metadata.as_dict())}
            )
            self._mcap.finish()
        except OSError as error:
            self._end_early(error)
        self._release()
        metadata.write(self.directory)
        return metadata

    def _end_early(self, error: OSError) -> None:
        """Keep what is whole, make it readable, and say why there is no more."""
        self._release()
        why = 'the disk is full' if error.errno in FULL else 'cannot be written'
        try:
            metadata = metadata_of(finished(self.path), self._custom_data | {'lsiq_end': why})
            metadata.write(self.directory)
        except (OSError, LsiqError) as second:
            raise BagError(
                f'{self.directory}: {why} ({error.strerror}) and the bag could not be finished '
                f'({second}); make room, then `lsiq demos recover {self.directory}`'
            ) from error
        kind = DiskFullError if error.errno in FULL else BagError
        raise kind(
            f'{self.directory}: {why} ({error.strerror}); the recording ended and the bag is '
            f'readable with {metadata.message_count} of {self.counts.total()} messages'
        ) from error

    def _release(self) -> None:
        self.is_open = False
        self._file.close()
        self._reserve.unlink(missing_ok=True)

    def _check_open(self) -> None:
        if not self.is_open:
            raise BagError(f'{self.directory}: the recording has ended')


class _WholeWrites:
    """A file without a buffer of its own, so that a full disk is noticed where it happens."""

    def __init__(self, path: Path) -> None:
        self._file = path.open('xb', buffering=0)

    def write(self, data: bytes) -> int:
        view = memoryview(data)
        while len(view):
            view = view[self._file.write(view) or 0 :]
        return len(data)

    def tell(self) -> int:
        return self._file.tell()

    def flush(self) -> None:
        """Do nothing: there is no buffer."""

    def close(self) -> None:
        self._file.close()
