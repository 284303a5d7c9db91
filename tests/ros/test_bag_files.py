# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Bags as files: what is written, what is read, what survives a kill or a full disk."""

from contextlib import contextmanager, suppress
import errno
import random
import shutil
import struct
import subprocess

from bag_making import joint_state, JOINTS, START_NS, TYPES, Walk, write_rosbag2
from hypothesis import given, settings
from hypothesis import strategies as st
from lsiq_ros.bags import writer as writer_module
from lsiq_ros.bags.errors import BagError, DiskFullError
from lsiq_ros.bags.message_types import JOINT_STATE, message_type, ODOMETRY, WRENCH
from lsiq_ros.bags.metadata import Qos
from lsiq_ros.bags.reader import Limits, open_bag
from lsiq_ros.bags.recover import recover
from lsiq_ros.bags.samples import read_samples
from lsiq_ros.bags.writer import BagWriter
from lsiq_ros.wire.cdr import CdrError, JointStateReader, OdometryReader, WrenchReader
from mcap.reader import make_reader
import numpy as np
import pytest
from rosbags.rosbag2 import Reader
from rosbags.typesys import get_types_from_msg, get_typestore, Stores
import yaml


def write_ours(path, messages, **options):
    writer = BagWriter(path, min_free_bytes=0, **options)
    writer.add_topic('/joint_states', JOINT_STATE, [Qos(reliability='best_effort')])
    for message in messages:
        writer.write(message.topic, message.received_ns, message.data)
        writer.flush_if_due(message.received_ns)
    return writer


def test_our_bag_is_read_by_rosbags_and_by_mcap(tmp_path):
    messages = Walk().messages()
    write_ours(tmp_path / 'bag', messages, custom_data={'lsiq_source': 'test'}).close()
    with Reader(tmp_path / 'bag') as reader:
        found = [(time, bytes(data)) for _, time, data in reader.messages()]
        assert found == [(m.received_ns, m.data) for m in messages]
        (link,) = reader.connections
        assert (link.topic, link.msgtype) == ('/joint_states', JOINT_STATE)
        assert link.digest == message_type(JOINT_STATE).rihs01
        assert link.ext.offered_qos_profiles[0].reliability.name == 'BEST_EFFORT'
        assert reader.ros_distro == 'jazzy'
    with (tmp_path / 'bag' / 'bag_0.mcap').open('rb') as stream:
        reader = make_reader(stream, validate_crcs=True)
        assert reader.get_header().profile == 'ros2'
        summary = reader.get_summary()
        assert summary.statistics.message_count == len(messages)
        assert sum(1 for _ in reader.iter_messages()) == len(messages)
        notes = {note.name: note.metadata for note in reader.iter_metadata()}
    assert notes['lsiq_recording'] == {'lsiq_source': 'test'}
    inside = yaml.safe_load(notes['rosbag2']['serialized_metadata'])
    outside = yaml.safe_load((tmp_path / 'bag' / 'metadata.yaml').read_text())
    assert inside == outside['rosbag2_bagfile_information']
    assert inside['version'] == 9
    assert inside['duration']['nanoseconds'] == 3_000_000_000
    assert inside['starting_time']['nanoseconds_since_epoch'] == START_NS
    assert not (tmp_path / 'bag' / '.reserve').exists()


@pytest.mark.parametrize('name', [JOINT_STATE, ODOMETRY, WRENCH, 'std_msgs/msg/Float64MultiArray'])
def test_schemas_describe_the_type_completely(name):
    """Rebuild the type from the schema's text alone; its hash must come out the same."""
    described = message_type(name)
    store = get_typestore(Stores.EMPTY)
    store.register(get_types_from_msg(described.definition, name))
    assert store.hash_rihs01(name) == described.rihs01


names = st.lists(st.text(st.characters(codec='utf-8', exclude_characters='\0')), max_size=6)
numbers = st.lists(st.floats(allow_nan=False), max_size=6)


@settings(max_examples=30, deadline=None)
@given(names, numbers, numbers, numbers)
def test_joint_states_are_read_like_an_independent_decoder_reads_them(names, a, b, c):
    data = joint_state(START_NS + 7, names, a, b, c)
    read = JointStateReader()
    for _ in range(2):  # the second time the names are known
        state = read(data)
        assert state.stamp_ns == START_NS + 7
        assert state.names == tuple(names)
        for found, wanted in zip(state[3:], (a, b, c), strict=True):
            np.testing.assert_array_equal(found, wanted)
    bare = TYPES.deserialize_cdr(read.without_effort(data), JOINT_STATE)
    assert bare.name == names
    np.testing.assert_array_equal(bare.velocity, b)
    assert len(bare.effort) == 0


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200), st.integers(0, 300))
def test_damaged_messages_raise_cdr_errors_only(noise, at):
    data = bytearray(joint_state(START_NS, JOINTS, [1, 2, 3], [4, 5, 6]))
    data[at : at + len(noise)] = noise
    for read in (JointStateReader(), OdometryReader(), WrenchReader()):
        with suppress(CdrError):
            read(bytes(data[: at + len(noise)]))


@pytest.mark.parametrize('storage, version', [('mcap', 9), ('sqlite3', 9), ('sqlite3', 8)])
def test_bags_of_rosbag2_are_read(tmp_path, storage, version):
    messages = Walk(seconds=1).messages()
    bag = write_rosbag2(tmp_path / 'bag', messages, storage, version)
    samples = read_samples(bag)
    assert samples.joints[0].columns == JOINTS
    assert list(samples.joints[0].received_ns) == [m.received_ns for m in messages]
    file = next(path for path in bag.iterdir() if path.suffix in ('.mcap', '.db3'))
    assert len(read_samples(file).joints[0].received_ns) == len(messages)  # the file alone


@pytest.mark.parametrize('compress', [True, False])
def test_a_file_cut_anywhere_is_recovered(tmp_path, compress):
    messages = Walk(seconds=2).messages()
    writer = write_ours(tmp_path / 'bag', messages, compress=compress)
    whole = writer.path.read_bytes()
    flushed = recover_copy(tmp_path, whole)
    assert flushed > len(messages) - 2 * 20  # two flush periods of 20 messages each
    writer.close()
    whole = writer.path.read_bytes()
    draw = random.Random(3)
    for cut in [len(whole) - 1, 60, *(draw.randrange(100, len(whole)) for _ in range(12))]:
        assert recover_copy(tmp_path, whole[:cut]) <= len(messages)


def recover_copy(tmp_path, data):
    """Recover these bytes and return how many messages every reader finds in them."""
    bag = tmp_path / 'copy'
    shutil.rmtree(bag, ignore_errors=True)
    bag.mkdir()
    (bag / 'copy_0.mcap').write_bytes(data)
    found = recover(bag)
    assert recover(bag).was_finished
    with open_bag(bag) as opened:
        assert len(list(opened.messages(['/joint_states']))) == found.messages
    with (bag / 'copy_0.mcap').open('rb') as stream:
        assert sum(1 for _ in make_reader(stream, validate_crcs=True).iter_messages()) == (
            found.messages
        )
    return found.messages


def test_recovering_what_is_no_bag_is_refused(tmp_path):
    with pytest.raises(BagError, match='no such bag'):
        recover(tmp_path / 'nothing')
    with pytest.raises(BagError, match='0 MCAP files'):
        recover(tmp_path)
    (tmp_path / 'x.mcap').write_bytes(b'something else')
    with pytest.raises(BagError, match='does not begin like'):
        recover(tmp_path)
    (tmp_path / 'x.mcap').write_bytes(b'\x89MCAP0\r\n\x01')
    with pytest.raises(BagError, match='first record'):
        recover(tmp_path)


@contextmanager
def small_disk(path, kilobytes):
    path.mkdir()
    command = ['mount', '-t', 'tmpfs', '-o', f'size={kilobytes}k', 'tmpfs', str(path)]
    if shutil.which('mount') is None or subprocess.run(command, capture_output=True).returncode:
        pytest.skip('a small disk can only be mounted by root')
    try:
        yield path
    finally:
        subprocess.run(['umount', str(path)], check=True)


@pytest.mark.parametrize('kilobytes', [600, 700])
def test_a_full_disk_leaves_a_readable_bag(tmp_path, kilobytes):
    with small_disk(tmp_path / 'disk', kilobytes) as disk:
        messages = Walk(seconds=20).messages()
        with pytest.raises(DiskFullError, match='the disk is full'):
            write_ours(disk / 'bag', messages, compress=False).close()
        samples = read_samples(disk / 'bag')
        found = samples.joints[0].received_ns
        assert len(found) > 500
        assert list(found) == [m.received_ns for m in messages[: len(found)]]
        assert samples.custom_data['lsiq_end'] == 'the disk is full'


def test_a_disk_that_runs_low_ends_the_recording_before_it_is_full(tmp_path, monkeypatch):
    writer = BagWriter(tmp_path / 'bag', min_free_bytes=10**9)
    writer.add_topic('/joint_states', JOINT_STATE)
    message = Walk().messages()[0]
    writer.write(message.topic, message.received_ns, message.data)
    usage = shutil._ntuple_diskusage(10**12, 10**12 - 10**6, 10**6)
    monkeypatch.setattr(writer_module.shutil, 'disk_usage', lambda path: usage)
    with pytest.raises(DiskFullError, match='with 1 of 1 messages'):
        writer.flush_if_due(10**9)
    with pytest.raises(BagError, match='has ended'):
        writer.write(message.topic, message.received_ns, message.data)


def test_an_unwritable_place_is_named(tmp_path):
    (tmp_path / 'file').write_text('')
    with pytest.raises(BagError, match='cannot be created'):
        BagWriter(tmp_path / 'file' / 'bag')
    (tmp_path / 'bag').mkdir()
    with pytest.raises(BagError, match='exists already'):
        BagWriter(tmp_path / 'bag')
    assert errno.ENOSPC in writer_module.FULL


def test_limits_are_checked_before_parsing(tmp_path):
    bag = write_rosbag2(tmp_path / 'bag', Walk(seconds=1).messages())
    for limits, words in (
        (Limits(total_bytes=1000), 'at most 1000 are read'),
        (Limits(metadata_bytes=10), 'at most 10 are read'),
        (Limits(message_bytes=50), 'of 50 bytes are read'),
        (Limits(messages=5), 'at most 5 messages'),
    ):
        with pytest.raises(BagError, match=words):
            read_samples(bag, limits=limits)


def test_a_chunk_that_would_explode_is_refused(tmp_path):
    write_ours(tmp_path / 'bag', Walk(seconds=1).messages()).close()
    file = tmp_path / 'bag' / 'bag_0.mcap'
    data = bytearray(file.read_bytes())
    chunk = data.index(b'zstd') - 4 - 4 - 8  # the unpacked size stands before crc and name
    struct.pack_into('<Q', data, chunk, 2**40)
    file.write_bytes(bytes(data))
    with pytest.raises(BagError, match='claims 1099511627776 bytes'):
        read_samples(tmp_path / 'bag')


@pytest.mark.parametrize(
    'text, words',
    [
        ('not: a bag', 'not the metadata'),
        ('a: &a [1]\nb: *a', 'aliases'),
        ('rosbag2_bagfile_information: {relative_file_paths: [gone.mcap]}', 'not there'),
        (': : :', 'not the metadata'),
    ],
)
def test_damaged_metadata_is_refused(tmp_path, text, words):
    bag = write_rosbag2(tmp_path / 'bag', Walk(seconds=1).messages())
    (bag / 'metadata.yaml').write_text(text)
    with pytest.raises(BagError, match=words):
        read_samples(bag)


def test_damaged_bytes_raise_cdr_errors_only(tmp_path):
    draw = random.Random(5)
    for storage in ('mcap', 'sqlite3'):
        bag = write_rosbag2(tmp_path / storage, Walk(seconds=1).messages(), storage)
        file = next(path for path in bag.iterdir() if path.suffix in ('.mcap', '.db3'))
        whole = file.read_bytes()
        for _ in range(25):
            data = bytearray(whole)
            for _ in range(20):
                data[draw.randrange(len(data))] = draw.randrange(256)
            file.write_bytes(bytes(data[: draw.choice([len(data), draw.randrange(len(data))])]))
            with suppress(BagError):
                read_samples(bag)
