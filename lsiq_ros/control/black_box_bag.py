# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Write what the black box remembers as a bag that rosbag2 and `lsiq` can read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
import os
from pathlib import Path

from lsiq_ros.bags.writer import BagWriter
from lsiq_ros.gate.black_box import Entry


def default_directory() -> Path:
    """Return where ROS keeps what nodes write."""
    home = os.environ.get('ROS_HOME') or Path.home() / '.ros'
    return Path(home) / 'lsiq' / 'black_box'


def write_bag(
    directory: Path, entries: Sequence[Entry], type_names: Mapping[str, str], notes: dict[str, str]
) -> Path:
    """
    Write the entries, oldest first, into a new bag.

    :param directory: where the bag's own directory is made.
    :param entries: raw CDR messages.
    :param type_names: the type of each topic, ``sensor_msgs/msg/JointState``.
    :param notes: goes into metadata.yaml: what tripped, which policy.
    :return: the bag's directory.
    """
    moment = datetime.now(timezone.utc).strftime('%Y%m%dT%H%M%S_%f')
    path = directory / f'trip_{moment}'
    writer = BagWriter(path, custom_data=notes)
    for topic in dict.fromkeys(entry.topic for entry in entries):
        writer.add_topic(topic, type_names[topic])
    for entry in entries:
        writer.write(entry.topic, entry.stamp_ns, entry.message)
    writer.close()
    return path
