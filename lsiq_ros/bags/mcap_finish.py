# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
Finish an MCAP file that was left unfinished, in place.

Whole records stay where they are; the cut-off rest goes and the summary is appended. If
this is interrupted the file is as unfinished as before and can be finished again.
"""

import os
from pathlib import Path
import struct
import zlib

from lsiq_ros.bags.errors import BagError
from lsiq_ros.bags.mcap_scan import ChunkSeen, MAGIC, McapContents, scan
from mcap.data_stream import RecordBuilder
from mcap.opcode import Opcode
from mcap.records import DataEnd, Footer, McapRecord, MessageIndex, Statistics, SummaryOffset


def finished(path: Path) -> McapContents:
    """Finish a file if it is unfinished and return what it then holds."""
    contents = scan(path)
    if not contents.finished:
        finish(contents)
    return contents


def finish(contents: McapContents) -> None:
    """Append a summary to what is whole, giving up chunks at the end while the disk is full."""
    if contents.data_end == len(MAGIC):
        raise BagError(f'{contents.path}: not even its first record is whole')
    while True:
        try:
            _append_ending(contents)
        except OSError:
            if not contents.chunks:
                raise
            _give_up_last_chunk(contents)
        else:
            contents.finished = True
            return


def _give_up_last_chunk(contents: McapContents) -> None:
    start = contents.chunks.pop().index.chunk_start_offset
    contents.notes = [note for note in contents.notes if note[0].offset < start]
    contents.last_messages = {}  # the indexes of the chunk before are whole
    contents.data_end = start


def _append_ending(contents: McapContents) -> None:
    with contents.path.open('r+b', buffering=0) as stream:
        stream.truncate(contents.data_end)
        stream.seek(contents.data_end)
        missing = _missing_indexes(contents)
        body = missing + _ending(contents, contents.data_end + len(missing))
        view = memoryview(body)
        while len(view):
            view = view[stream.write(view) or 0 :]
        os.fsync(stream.fileno())


def _missing_indexes(contents: McapContents) -> bytes:
    """Index the messages of a last chunk that was whole while its indexes were not."""
    if not contents.chunks or contents.data_end != contents.chunks[-1].indexes_end:
        return b''
    chunk = contents.chunks[-1]
    builder = RecordBuilder()
    for channel, messages in contents.last_messages.items():
        if channel not in chunk.index.message_index_offsets:
            chunk.index.message_index_offsets[channel] = contents.data_end + builder.count
            MessageIndex(channel_id=channel, records=messages).write(builder)
    end = contents.data_end + builder.count
    chunk.index.message_index_length = end - chunk.end
    contents.chunks[-1] = ChunkSeen(chunk.index, chunk.counts, end)
    return bytes(builder.end())


def _ending(contents: McapContents, at: int) -> bytes:
    builder = RecordBuilder()
    DataEnd(0).write(builder)
    summary_start = at + builder.count
    data_end = bytes(builder.end())
    groups: list[tuple[Opcode, list[McapRecord]]] = [
        (Opcode.SCHEMA, list(contents.schemas.values())),
        (Opcode.CHANNEL, list(contents.channels.values())),
        (Opcode.STATISTICS, [_statistics(contents)]),
        (Opcode.CHUNK_INDEX, [chunk.index for chunk in contents.chunks]),
        (Opcode.METADATA_INDEX, [index for index, _ in contents.notes]),
    ]
    summary = RecordBuilder()
    offsets = []
    for operation, records in groups:
        start = summary.count
        for record in records:
            record.write(summary)
        offsets.append(SummaryOffset(operation, summary_start + start, summary.count - start))
    offset_start = summary_start + summary.count
    for offset in offsets:
        if offset.group_length:
            offset.write(summary)
    text = bytes(summary.end())
    head = struct.pack('<BQQQ', Opcode.FOOTER, 20, summary_start, offset_start)
    checksum = zlib.crc32(head, zlib.crc32(text))
    Footer(
        summary_start=summary_start, summary_offset_start=offset_start, summary_crc=checksum
    ).write(summary)
    return data_end + text + bytes(summary.end()) + MAGIC


def _statistics(contents: McapContents) -> Statistics:
    counts = contents.counts()
    start_ns, end_ns = contents.time_range_ns()
    return Statistics(
        attachment_count=0,
        channel_count=len(contents.channels),
        channel_message_counts=dict(counts),
        chunk_count=len(contents.chunks),
        message_count=sum(counts.values()),
        message_end_time=end_ns,
        message_start_time=start_ns,
        metadata_count=len(contents.notes),
        schema_count=len(contents.schemas),
    )
