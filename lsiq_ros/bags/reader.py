# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Read bags in MCAP or sqlite3, ours or those of ``ros2 bag record``, within limits."""

from collections.abc import Collection, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
import sqlite3
from typing import Any

from lsiq_ros.bags.errors import BagError
from lsiq_ros.bags.mcap_scan import check_record_sizes
from lsiq_ros.bags.message_types import RawMessage
from lsiq_ros.bags.metadata import FILE_NAME
from rosbags.rosbag2 import Reader
import yaml
import zstandard

SUFFIXES = ('.mcap', '.db3', '.mcap.zstd', '.db3.zstd')


@dataclass(frozen=True)
class Limits:
    """What is refused before anything is parsed; the defaults hold hours of joint states."""

    total_bytes: int = 16 * 2**30
    metadata_bytes: int = 4 * 2**20
    message_bytes: int = 2**20  # of the topics that are read
    messages: int = 50_000_000


DEFAULT_LIMITS = Limits()


class OpenBag:
    """A bag that passed the limits."""

    def __init__(self, path: Path, reader: Reader, limits: Limits) -> None:
        self.path = path
        self._reader = reader
        self._limits = limits

    @property
    def types(self) -> dict[str, str]:
        """Return the type of every topic."""
        return {link.topic: link.msgtype for link in self._reader.connections}

    @property
    def custom_data(self) -> dict[str, str]:
        """Return the recorder's own texts."""
        custom = self._reader.storage.metadata.custom
        return {str(key): str(value) for key, value in custom.items()} if custom else {}

    def messages(self, topics: Collection[str]) -> Iterator[RawMessage]:
        """Yield the messages of some topics in the order they were received."""
        links = [link for link in self._reader.connections if link.topic in topics]
        if not links:
            return
        try:
            for number, (link, received_ns, data) in enumerate(self._reader.messages(links)):
                if len(data) > self._limits.message_bytes or number >= self._limits.messages:
                    raise BagError(
                        f'{self.path}: message {number} on {link.topic} has {len(data)} bytes; '
                        f'at most {self._limits.messages} messages of '
                        f'{self._limits.message_bytes} bytes are read'
                    )
                yield RawMessage(link.topic, link.msgtype, received_ns, bytes(data))
        except BagError:
            raise
        except Exception as error:  # damaged bytes surface as anything from inside the parser
            raise BagError(
                f'{self.path}: is damaged ({str(error) or type(error).__name__})'
            ) from error


@contextmanager
def open_bag(path: Path, limits: Limits = DEFAULT_LIMITS) -> Iterator[OpenBag]:
    """Open a bag directory, or an .mcap or .db3 file alone."""
    path = Path(path)
    check_limits(path, limits)
    try:
        reader = Reader(path)
        reader.open()
    except Exception as error:  # damaged bytes surface as anything from inside the parser
        text = str(error) or type(error).__name__
        raise BagError(f'{path}: cannot be read as a bag ({text})') from error
    try:
        yield OpenBag(path, reader, limits)
    finally:
        reader.close()


def check_limits(path: Path, limits: Limits) -> None:
    """Refuse what is too large, cut off, or no bag at all."""
    files = _files(path, limits)
    total = sum(file.stat().st_size for file in files)
    if total > limits.total_bytes:
        raise BagError(f'{path}: {total} bytes, at most {limits.total_bytes} are read')
    for file in files:
        if file.suffix == '.mcap':
            check_record_sizes(file)
        elif file.suffix == '.db3':
            _check_sqlite(file)
        elif file.suffix == '.zstd':
            total += _unpacked_size(file, limits.total_bytes - total)


def _files(path: Path, limits: Limits) -> list[Path]:
    if path.is_file() and path.suffix in ('.mcap', '.db3'):
        return [path]
    if not path.is_dir():
        raise BagError(f'{path}: no bag directory and no .mcap or .db3 file')
    files = [file for file in sorted(path.iterdir()) if file.name.endswith(SUFFIXES)]
    metadata = path / FILE_NAME
    if not metadata.is_file():
        repair = f'; `lsiq demos recover {path}` repairs it' if files else ''
        raise BagError(f'{path}: no {FILE_NAME}, the recorder did not end properly{repair}')
    size = metadata.stat().st_size
    if size > limits.metadata_bytes:
        raise BagError(f'{metadata}: {size} bytes, at most {limits.metadata_bytes} are read')
    named = _named_files(metadata)
    missing = [name for name in named if not (path / name).is_file()]
    if missing:
        raise BagError(f'{path}: {FILE_NAME} names {missing}, which are not there')
    return [path / name for name in named]


def _named_files(metadata: Path) -> list[str]:
    try:
        content: Any = yaml.load(metadata.read_bytes(), Loader=_NoAliasLoader)
        return [
            Path(name).name
            for name in content['rosbag2_bagfile_information']['relative_file_paths']
        ]
    except (yaml.YAMLError, KeyError, TypeError, UnicodeDecodeError) as error:
        raise BagError(f'{metadata}: is not the metadata of a rosbag2 bag ({error})') from error


class _NoAliasLoader(yaml.SafeLoader):
    """Refuse aliases, by which a small file becomes a large one."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.events.AliasEvent):
            raise yaml.YAMLError('aliases are not read')
        return super().compose_node(parent, index)


def _check_sqlite(file: Path) -> None:
    """Ask the database whether it is whole enough to be read."""
    try:
        where = f'{file.resolve().as_uri()}?mode=ro&immutable=1'
        with closing(sqlite3.connect(where, uri=True)) as database:
            database.execute('SELECT id, topic_id, timestamp FROM messages LIMIT 1').fetchall()
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise BagError(f'{file}: is not a rosbag2 database ({error})') from error


def _unpacked_size(file: Path, most: int) -> int:
    size = 0
    try:
        with file.open('rb') as packed, zstandard.ZstdDecompressor().stream_reader(packed) as data:
            while block := data.read(2**20):
                size += len(block)
                if size > most:
                    raise BagError(f'{file}: unpacks to more than {most} bytes')
    except zstandard.ZstdError as error:
        raise BagError(f'{file}: is damaged ({error})') from error
    return size
