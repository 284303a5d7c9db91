# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Bags whose metadata wants to run code or to read what lies elsewhere."""

from __future__ import annotations

from pathlib import Path

from bag_making import Walk, write_rosbag2
from lsiq_ros.bags.errors import BagError
from lsiq_ros.bags.samples import read_samples
import pytest


def test_tags_in_metadata_build_no_objects(tmp_path: Path) -> None:
    bag = write_rosbag2(tmp_path / 'bag', Walk(seconds=1).messages())
    mark = tmp_path / 'bomb_went_off'
    call = f'!!python/object/apply:os.system ["touch {mark}"]'
    (bag / 'metadata.yaml').write_text(f'rosbag2_bagfile_information: {call}\n')
    with pytest.raises(BagError, match='not the metadata'):
        read_samples(bag)
    assert not mark.exists()


@pytest.mark.parametrize('place', ['../secret.mcap', '{folder}/secret.mcap'])
def test_a_bag_names_no_files_of_others(tmp_path: Path, place: str) -> None:
    bag = write_rosbag2(tmp_path / 'bag', Walk(seconds=1).messages())
    secret = write_rosbag2(tmp_path / 'other', Walk(seconds=1).messages())
    next(secret.glob('*.mcap')).rename(tmp_path / 'secret.mcap')
    named = place.format(folder=tmp_path)
    (bag / 'metadata.yaml').write_text(
        f'rosbag2_bagfile_information: {{relative_file_paths: ["{named}"]}}\n'
    )
    with pytest.raises(BagError, match='not there'):
        read_samples(bag)
