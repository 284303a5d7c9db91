# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""The recorder as a process beside a publisher: real topics, real files, real signals."""

from collections import Counter
from contextlib import contextmanager
import json
import os
from pathlib import Path
import resource
import signal
import subprocess
import sys
import time

from bag_making import import_demonstrations
import domain_coordinator
from lsiq_ros.bags.errors import BagError
from lsiq_ros.bags.lint import lint
from lsiq_ros.bags.message_types import JOINT_STATE, message_type, ODOMETRY, WRENCH
from lsiq_ros.bags.reader import open_bag
from lsiq_ros.bags.recover import recover
from lsiq_ros.bags.samples import read_samples
from node_processes import ask, at_most_s, client_node
import numpy as np
import pytest
from std_msgs.msg import String
from std_srvs.srv import SetBool, Trigger

ROOT = Path(__file__).parents[2]
PUBLISHER = Path(__file__).with_name('publish_states.py')


@pytest.fixture
def domain():
    """Isolate a test in a domain of its own on this machine."""
    with domain_coordinator.domain_id() as number:
        yield {
            **os.environ,
            'ROS_DOMAIN_ID': str(number),
            'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST',
            'PYTHONPATH': f'{ROOT}{os.pathsep}{os.environ.get("PYTHONPATH", "")}',
        }


@contextmanager
def recorder(domain, bags, *, preexec_fn=None, **parameters):
    """Run the recorder; its log is in ``process.log`` after the block."""
    arguments = []
    for name, value in {'output_directory': bags, **parameters}.items():
        text = str(value).lower() if isinstance(value, bool) else str(value)
        arguments += ['-p', f'{name}:={text}']
    command = [sys.executable, '-m', 'lsiq_ros.nodes.recorder_node', '--ros-args', *arguments]
    log = Path(bags).parent / 'recorder.log'
    with log.open('w') as stream:
        process = subprocess.Popen(
            command, env=domain, stdout=stream, stderr=stream, preexec_fn=preexec_fn, cwd=ROOT
        )
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()
            process.wait()
    process.log = log.read_text()


def publisher(domain, **options):
    arguments = []
    for name, value in options.items():
        arguments += [f'--{name.replace("_", "-")}'] + ([] if value is True else [str(value)])
    command = [sys.executable, str(PUBLISHER), *arguments]
    return subprocess.Popen(command, env=domain, stdout=subprocess.PIPE, text=True)


def published(process):
    output, _ = process.communicate(timeout=120)
    return json.loads(output.splitlines()[-1])


def end(process, number=signal.SIGINT):
    """Send a signal and return how long the process takes to end."""
    began = time.monotonic()
    process.send_signal(number)
    assert process.wait(timeout=at_most_s(10)) == 0
    return time.monotonic() - began


def only_bag(bags):
    found = sorted(path for path in Path(bags).iterdir() if path.is_dir())
    assert len(found) == 1, found
    return found[0]


def counts(bag):
    with open_bag(bag) as opened:
        return Counter(message.topic for message in opened.messages(opened.types))


@pytest.mark.parametrize(
    'seconds', [2, pytest.param(60, marks=pytest.mark.slow)], ids=['short', 'minute']
)
def test_a_thousand_states_a_second_are_recorded_without_a_drop(tmp_path, domain, seconds):
    with recorder(domain, tmp_path / 'bags', record_on_start=True) as process:
        sent = published(publisher(domain, seconds=seconds, odometry=True))
        assert end(process) < at_most_s(2)
    bag = only_bag(tmp_path / 'bags')
    report = lint(read_samples(bag))
    print(sent, report.text())
    missing = [sent['published'] - t.messages - t.drops_recorded for t in report.topics]
    assert min(missing) >= 0
    if sent['latest_ms'] > 100:
        pytest.skip(f'the machine is too busy for 1 kHz: the publisher was late, {sent}')
    assert max(missing) <= 0.05 * sent['published']  # lost after the last one is not seen
    assert counts(bag) == {'/joint_states': sent['published'], '/odom': sent['published']}
    assert report.trainable, report.text()
    effort = read_samples(bag).joints[0].values['effort']
    assert np.isnan(effort).all()  # not recorded unless asked
    demos = import_demonstrations(bag).demonstrations
    assert demos.num_transitions >= 0.98 * 100 * seconds - 10


def test_killed_with_9_it_loses_less_than_half_a_second(tmp_path, domain):
    with recorder(domain, tmp_path / 'bags', record_on_start=True) as process:
        source = publisher(domain, seconds=30)
        wait_until(lambda: any(tmp_path.rglob('*.mcap')) and _size(tmp_path) > 150_000)
        time.sleep(0.09)  # just before the next flush: the worst moment
        killed_ns = time.time_ns()
        process.kill()
        process.wait()
        source.send_signal(signal.SIGINT)
        published(source)
    bag = only_bag(tmp_path / 'bags')
    with pytest.raises(BagError, match='lsiq demos recover'):
        read_samples(bag)
    recovery = recover(bag)
    assert not recovery.was_finished
    assert not (bag / '.reserve').exists()
    samples = read_samples(bag)
    lost_s = (killed_ns - int(samples.joints[0].stamp_ns[-1])) / 1e9
    print(f'lost {lost_s:.3f} s of {recovery.duration_s:.3f}')
    assert lost_s < at_most_s(0.5)
    assert samples.custom_data['lsiq_with_effort'] == 'False'
    assert len(json.loads(samples.custom_data['lsiq_joint_names'])) == 10
    assert recover(bag).was_finished


def _size(directory):
    return sum(path.stat().st_size for path in directory.rglob('*.mcap'))


def wait_until(condition, timeout_s=40):
    deadline = time.monotonic() + at_most_s(timeout_s)
    while not condition():
        assert time.monotonic() < deadline, 'it never happened'
        time.sleep(0.02)


def test_a_full_disk_ends_the_recording_with_a_readable_bag(tmp_path, domain):
    limit = 320_000  # bytes a file may have

    def limit_file_size():
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    with recorder(
        domain, tmp_path / 'bags', record_on_start=True, preexec_fn=limit_file_size
    ) as process:
        source = publisher(domain, seconds=30)
        wait_until(lambda: any(tmp_path.rglob('metadata.yaml')))
        source.send_signal(signal.SIGINT)
        sent = published(source)
        assert process.poll() is None  # the node lives on and says so
        end(process)
    assert 'the disk is full' in process.log
    bag = only_bag(tmp_path / 'bags')
    assert (bag / f'{bag.name}_0.mcap').stat().st_size <= limit
    stamps = read_samples(bag).joints[0].stamp_ns
    assert (np.diff(stamps) > 0).all()
    assert 200 < counts(bag)['/joint_states'] < sent['published']


def test_services_events_and_falls_make_episodes(tmp_path, domain):
    number = int(domain['ROS_DOMAIN_ID'])
    bags = tmp_path / 'bags'
    with client_node(number) as node, recorder(domain, bags, fall_height_m=0.6) as process:
        events = node.create_publisher(String, 'episode_events', 10)
        source = publisher(domain, seconds=30, rate_hz=200, odometry=True)
        assert ask(node, Trigger, 'recorder/stop').message == 'not recording'
        assert ask(node, Trigger, 'recorder/start').success
        assert not ask(node, Trigger, 'recorder/start').success
        wait_until(lambda: _last_marks(tmp_path) == ['start'])
        time.sleep(0.7)
        assert ask(node, Trigger, 'recorder/split').success
        time.sleep(0.7)
        events.publish(String(data='reset'))
        wait_until(lambda: _last_marks(tmp_path)[-1:] == ['reset'])
        time.sleep(0.7)
        source.send_signal(signal.SIGUSR1)
        wait_until(lambda: _last_marks(tmp_path)[-1:] == ['fall'])
        answer = ask(node, SetBool, 'recorder/record', data=False)
        assert answer.success and '3 episode(s), 0 drops' in answer.message, answer
        source.send_signal(signal.SIGINT)
        published(source)
        assert end(process, signal.SIGTERM) < at_most_s(2)
    demos = import_demonstrations(only_bag(bags)).demonstrations
    assert list(demos.terminated) == [False, False, True]


def _last_marks(directory):
    """Read the marks of a bag that is still being written."""
    from lsiq_ros.bags.mcap_scan import scan

    files = list(directory.rglob('*.mcap'))
    notes = scan(files[0]).notes_named('lsiq_episode') if files else []
    return [json.loads(note['mark'])['reason'] for note in notes]


def test_type_hashes_are_those_that_nodes_announce(domain):
    from geometry_msgs.msg import WrenchStamped
    from nav_msgs.msg import Odometry
    from sensor_msgs.msg import JointState

    with client_node(int(domain['ROS_DOMAIN_ID'])) as node:
        for name, kind in (
            (JOINT_STATE, JointState),
            (ODOMETRY, Odometry),
            (WRENCH, WrenchStamped),
        ):
            keep = node.create_publisher(kind, 'anything', 1)
            wait_until(lambda: node.get_publishers_info_by_topic('/anything'))
            (info,) = node.get_publishers_info_by_topic('/anything')
            assert str(info.topic_type_hash) == message_type(name).rihs01
            node.destroy_publisher(keep)
            wait_until(lambda: not node.get_publishers_info_by_topic('/anything'))


def test_parameters_out_of_range_are_refused(tmp_path, domain):
    with recorder(domain, tmp_path / 'bags', queue_depth=1) as process:
        assert process.wait(timeout=at_most_s(20)) != 0
    assert 'queue_depth' in process.log
