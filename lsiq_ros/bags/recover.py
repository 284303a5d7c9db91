# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Repair a bag whose recorder was killed: finish the MCAP file and write metadata.yaml."""

from dataclasses import dataclass
import json
from pathlib import Path
from typing import Any

from lsiq_ros.bags.errors import BagError
from lsiq_ros.bags.mcap_finish import finish
from lsiq_ros.bags.mcap_scan import McapContents, scan
from lsiq_ros.bags.metadata import BagMetadata, FILE_NAME, Topic
import yaml

EPISODE_NOTE = 'lsiq_episode'
RECORDING_NOTE = 'lsiq_recording'


@dataclass(frozen=True)
class Recovery:
    """What :func:`recover` found and did."""

    bag: str
    was_finished: bool
    messages: int
    duration_s: float
    bytes_cut_off: int
    topics: dict[str, int]


def recover(path: Path) -> Recovery:
    """
    Repair a bag directory, or the directory around an MCAP file.

    A bag that is whole is left as it is. Nothing whole is ever removed, and a recovery that
    is interrupted can be started again.
    """
    directory, file = _find(path)
    contents = scan(file)
    was_finished = contents.finished
    bytes_cut_off = 0 if was_finished else contents.size - contents.data_end
    try:
        if not was_finished:
            finish(contents)
    except OSError as error:
        raise BagError(f'{file}: cannot be repaired ({error.strerror})') from error
    metadata = metadata_of(contents, {})
    if not was_finished or not (directory / FILE_NAME).exists():
        metadata.write(directory)
    (directory / '.reserve').unlink(missing_ok=True)
    return Recovery(
        bag=str(directory),
        was_finished=was_finished,
        messages=metadata.message_count,
        duration_s=(metadata.end_ns - metadata.start_ns) / 1e9,
        bytes_cut_off=bytes_cut_off,
        topics={topic.name: topic.message_count for topic in metadata.topics},
    )


def metadata_of(contents: McapContents, custom_data: dict[str, str]) -> BagMetadata:
    """Describe a file from what it holds, including the notes the recorder left in it."""
    counts = contents.counts()
    start_ns, end_ns = contents.time_range_ns()
    topics = []
    for key, channel in contents.channels.items():
        schema = contents.schemas.get(channel.schema_id)
        if schema is None:
            raise BagError(f'{contents.path}: topic {channel.topic!r} has no message type')
        qos = _profiles(channel.metadata.get('offered_qos_profiles', ''))
        rihs01 = channel.metadata.get('topic_type_hash', '')
        topics.append(Topic(channel.topic, schema.name, rihs01, qos, counts[key]))
    notes: dict[str, str] = {}
    for note in contents.notes_named(RECORDING_NOTE):
        notes |= note
    marks = [json.loads(note['mark']) for note in contents.notes_named(EPISODE_NOTE)]
    if marks:
        notes['lsiq_episodes'] = json.dumps(marks)
    return BagMetadata(contents.path.name, tuple(topics), start_ns, end_ns, notes | custom_data)


def _profiles(text: str) -> tuple[dict[str, Any], ...]:
    profiles = yaml.safe_load(text) or []
    return tuple(profiles) if isinstance(profiles, list) else ()


def _find(path: Path) -> tuple[Path, Path]:
    if path.is_file():
        return path.parent, path
    if not path.is_dir():
        raise BagError(f'{path}: no such bag')
    files = sorted(path.glob('*.mcap'))
    if len(files) != 1:
        raise BagError(
            f'{path}: {len(files)} MCAP files, recovery needs exactly one; '
            'sqlite3 bags are repaired by sqlite itself'
        )
    return path, files[0]
