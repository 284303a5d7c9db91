# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""The metadata.yaml of a rosbag2 directory, version 9."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lsiq_core.atomic import write_text
import yaml

VERSION = 9
FILE_NAME = 'metadata.yaml'
ROS_DISTRO = 'jazzy'
INFINITE_NS = 2**63 - 1


@dataclass(frozen=True)
class Qos:
    """What a publisher offered, in the words of metadata.yaml."""

    history: str = 'keep_last'
    depth: int = 10
    reliability: str = 'reliable'
    durability: str = 'volatile'
    deadline_ns: int = INFINITE_NS
    lifespan_ns: int = INFINITE_NS
    liveliness: str = 'automatic'
    lease_ns: int = INFINITE_NS

    def as_dict(self) -> dict[str, Any]:
        """Return the entry of ``offered_qos_profiles``."""
        return {
            'history': self.history,
            'depth': self.depth,
            'reliability': self.reliability,
            'durability': self.durability,
            'deadline': _duration(self.deadline_ns),
            'lifespan': _duration(self.lifespan_ns),
            'liveliness': self.liveliness,
            'liveliness_lease_duration': _duration(self.lease_ns),
            'avoid_ros_namespace_conventions': False,
        }


@dataclass(frozen=True)
class Topic:
    """A topic of a bag."""

    name: str
    type: str
    rihs01: str
    qos: tuple[dict[str, Any], ...] = ()
    message_count: int = 0

    def as_dict(self) -> dict[str, Any]:
        """Return the entry of ``topics_with_message_count``."""
        return {
            'topic_metadata': {
                'name': self.name,
                'type': self.type,
                'serialization_format': 'cdr',
                'offered_qos_profiles': list(self.qos),
                'type_description_hash': self.rihs01,
            },
            'message_count': self.message_count,
        }


@dataclass(frozen=True)
class BagMetadata:
    """All that metadata.yaml says about a bag of one MCAP file."""

    file_name: str
    topics: tuple[Topic, ...]
    start_ns: int = 0
    end_ns: int = 0
    custom_data: dict[str, str] = field(default_factory=dict)

    @property
    def message_count(self) -> int:
        """Return how many messages the bag holds."""
        return sum(topic.message_count for topic in self.topics)

    def as_dict(self) -> dict[str, Any]:
        """Return what stands under ``rosbag2_bagfile_information``."""
        start = {'nanoseconds_since_epoch': self.start_ns}
        duration = {'nanoseconds': self.end_ns - self.start_ns}
        return {
            'version': VERSION,
            'storage_identifier': 'mcap',
            'duration': duration,
            'starting_time': start,
            'message_count': self.message_count,
            'topics_with_message_count': [topic.as_dict() for topic in self.topics],
            'compression_format': '',
            'compression_mode': '',
            'relative_file_paths': [self.file_name],
            'files': [
                {
                    'path': self.file_name,
                    'starting_time': dict(start),
                    'duration': dict(duration),
                    'message_count': self.message_count,
                }
            ],
            'custom_data': dict(self.custom_data),
            'ros_distro': ROS_DISTRO,
        }

    def write(self, directory: Path) -> None:
        """Write metadata.yaml into the bag's directory, whole or not at all."""
        text = to_yaml({'rosbag2_bagfile_information': self.as_dict()})
        write_text(directory / FILE_NAME, text)


def to_yaml(value: Any) -> str:
    """Dump plain YAML without aliases, which yaml-cpp reads but people do not."""
    return str(yaml.dump(value, Dumper=_PlainDumper, sort_keys=False, default_flow_style=False))


class _PlainDumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


def _duration(nanoseconds: int) -> dict[str, int]:
    seconds, rest = divmod(nanoseconds, 1_000_000_000)
    return {'sec': seconds, 'nsec': rest}
