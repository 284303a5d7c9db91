# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
Look through an MCAP file record by record, finished or not, and say what it holds.

A file whose writer was killed ends in the middle of a record and has no summary. All
records before that point are whole, because they were written one after the other.
"""

from collections import Counter
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
import struct
from typing import BinaryIO
import zlib

from lsiq_ros.bags.errors import BagError
from mcap.data_stream import ReadDataStream
from mcap.exceptions import McapError
from mcap.opcode import Opcode
from mcap.records import Channel, Chunk, ChunkIndex, Metadata, MetadataIndex, Schema
from mcap.stream_reader import get_chunk_data_stream
import zstandard

MAGIC = b'\x89MCAP0\r\n'
HEAD_BYTES = 9  # of every record: operation code and length
MAX_RECORD_BYTES = 256 * 2**20
MAX_CHUNK_BYTES = 256 * 2**20  # once decompressed

MessageIndexes = dict[int, list[tuple[int, int]]]  # channel -> (log time, offset in the chunk)


@dataclass(frozen=True)
class ChunkSeen:
    """A whole chunk, and where the message indexes that belong to it end."""

    index: ChunkIndex
    counts: dict[int, int]  # messages of each channel
    indexes_end: int

    @property
    def end(self) -> int:
        """Return where the chunk itself ends in the file."""
        return self.index.chunk_start_offset + self.index.chunk_length


@dataclass
class McapContents:
    """What the whole records of a file hold."""

    path: Path
    size: int
    schemas: dict[int, Schema] = field(default_factory=dict)
    channels: dict[int, Channel] = field(default_factory=dict)
    chunks: list[ChunkSeen] = field(default_factory=list)
    loose_counts: Counter[int] = field(default_factory=Counter)  # messages outside of chunks
    loose_times_ns: list[int] = field(default_factory=list)  # earliest and latest of those
    last_messages: MessageIndexes = field(default_factory=dict)  # of the last chunk read
    notes: list[tuple[MetadataIndex, dict[str, str]]] = field(default_factory=list)
    data_end: int = 0  # behind the last whole record of the data section
    finished: bool = False

    def counts(self) -> Counter[int]:
        """Return the number of messages of each channel."""
        counts = Counter(self.loose_counts)
        for chunk in self.chunks:
            counts.update(chunk.counts)
        return counts

    def time_range_ns(self) -> tuple[int, int]:
        """Return the log times of the first and the last message, or zeros."""
        times = list(self.loose_times_ns)
        for chunk in self.chunks:
            if chunk.counts:
                times += [chunk.index.message_start_time, chunk.index.message_end_time]
        return (min(times), max(times)) if times else (0, 0)

    def notes_named(self, name: str) -> list[dict[str, str]]:
        """Return the metadata records of a name, in the order they were written."""
        return [content for index, content in self.notes if index.name == name]


def scan(path: Path) -> McapContents:
    """Read all whole records of a file; stop at the first that is cut off or damaged."""
    contents = McapContents(path, path.stat().st_size)
    with path.open('rb') as stream:
        if stream.read(len(MAGIC)) != MAGIC:
            raise BagError(f'{path}: does not begin like an MCAP file')
        contents.data_end = len(MAGIC)
        while True:
            start = stream.tell()
            head = stream.read(HEAD_BYTES)
            if len(head) < HEAD_BYTES:
                return contents
            operation, length = struct.unpack('<BQ', head)
            end = start + HEAD_BYTES + length
            if end > contents.size or length > MAX_RECORD_BYTES:
                return contents
            if operation == Opcode.DATA_END:
                stream.seek(-len(MAGIC), 2)
                contents.finished = stream.read() == MAGIC
                return contents
            try:
                _take(contents, operation, start, stream.read(length))
            except (struct.error, McapError, ValueError, zstandard.ZstdError):
                return contents
            contents.data_end = end
            stream.seek(end)


def _take(contents: McapContents, operation: int, start: int, body: bytes) -> None:
    end = start + HEAD_BYTES + len(body)
    if operation == Opcode.CHUNK:
        contents.chunks.append(_read_chunk(contents, start, body))
    elif operation == Opcode.MESSAGE_INDEX and contents.chunks:
        chunk = contents.chunks[-1]
        (channel,) = struct.unpack_from('<H', body)
        chunk.index.message_index_offsets[channel] = start
        chunk.index.message_index_length = end - chunk.end
        contents.chunks[-1] = ChunkSeen(chunk.index, chunk.counts, end)
    elif operation == Opcode.METADATA:
        record = Metadata.read(ReadDataStream(BytesIO(body)))
        index = MetadataIndex(offset=start, length=HEAD_BYTES + len(body), name=record.name)
        contents.notes.append((index, record.metadata))
    elif operation == Opcode.MESSAGE:
        channel, _, log_time = struct.unpack_from('<HIQ', body)
        contents.loose_counts[channel] += 1
        times = [*contents.loose_times_ns, log_time]
        contents.loose_times_ns = [min(times), max(times)]
    else:
        _take_description(contents, operation, body)


def _take_description(contents: McapContents, operation: int, body: bytes) -> None:
    if operation == Opcode.SCHEMA:
        schema = Schema.read(ReadDataStream(BytesIO(body)))
        contents.schemas[schema.id] = schema
    elif operation == Opcode.CHANNEL:
        channel = Channel.read(ReadDataStream(BytesIO(body)))
        contents.channels[channel.id] = channel


def _read_chunk(contents: McapContents, start: int, body: bytes) -> ChunkSeen:
    chunk = Chunk.read(ReadDataStream(BytesIO(body)))
    data = unpack_chunk(chunk)
    messages: MessageIndexes = {}
    at = 0
    while at < len(data):
        operation, length = struct.unpack_from('<BQ', data, at)
        first = at + HEAD_BYTES
        if operation == Opcode.MESSAGE:
            channel, _, log_time = struct.unpack_from('<HIQ', data, first)
            messages.setdefault(channel, []).append((log_time, at))
        else:
            _take_description(contents, operation, data[first : first + length])
        at = first + length
    index = ChunkIndex(
        chunk_length=HEAD_BYTES + len(body),
        chunk_start_offset=start,
        compression=chunk.compression,
        compressed_size=len(chunk.data),
        message_end_time=chunk.message_end_time,
        message_index_length=0,
        message_index_offsets={},
        message_start_time=chunk.message_start_time,
        uncompressed_size=chunk.uncompressed_size,
    )
    contents.last_messages = messages
    counts = {channel: len(entries) for channel, entries in messages.items()}
    return ChunkSeen(index, counts, start + HEAD_BYTES + len(body))


def unpack_chunk(chunk: Chunk) -> bytes:
    """Decompress a chunk, but not beyond what is sane."""
    size = declared_size(chunk.compression, chunk.data, chunk.uncompressed_size)
    if size > MAX_CHUNK_BYTES:
        raise ValueError(f'a chunk of {size} bytes, at most {MAX_CHUNK_BYTES} are read')
    stream, length = get_chunk_data_stream(chunk)
    data = stream.read(length)
    if chunk.uncompressed_crc and zlib.crc32(data) != chunk.uncompressed_crc:
        raise ValueError('a chunk with a wrong checksum')
    return data


def declared_size(compression: str, compressed: bytes, uncompressed_size: int) -> int:
    """Return the larger of what a chunk and the data in it claim to unpack to."""
    if compression != 'zstd':
        return uncompressed_size
    claimed = zstandard.get_frame_parameters(compressed).content_size
    if claimed == zstandard.CONTENTSIZE_UNKNOWN:
        return uncompressed_size
    return max(uncompressed_size, int(claimed))


def check_record_sizes(path: Path) -> None:
    """Refuse a file whose records reach beyond its end or unpack to more than is sane."""
    size = path.stat().st_size
    with path.open('rb') as stream:
        if stream.read(len(MAGIC)) != MAGIC:
            raise BagError(f'{path}: does not begin like an MCAP file')
        while len(head := stream.read(HEAD_BYTES)) == HEAD_BYTES:
            start = stream.tell()
            operation, length = struct.unpack('<BQ', head)
            if operation == Opcode.CHUNK:
                _check_chunk_head(path, stream)
            if operation == Opcode.FOOTER:
                return
            if start + length > size:
                raise BagError(
                    f'{path}: a record at byte {start} is cut off; `lsiq demos recover` repairs '
                    'a bag whose recorder was killed'
                )
            stream.seek(start + length)


def _check_chunk_head(path: Path, stream: BinaryIO) -> None:
    head = stream.read(64)  # times, sizes, the compression's name, the frame's own head
    try:
        uncompressed_size, _, name_length = struct.unpack_from('<QII', head, 16)
        compression = head[32 : 32 + name_length].decode()
        size = declared_size(compression, head[40 + name_length :], uncompressed_size)
    except (struct.error, UnicodeDecodeError, zstandard.ZstdError) as error:
        raise BagError(f'{path}: a chunk cannot be read ({error})') from error
    if size > MAX_CHUNK_BYTES:
        raise BagError(
            f'{path}: a chunk claims {size} bytes unpacked, at most {MAX_CHUNK_BYTES} are read'
        )
