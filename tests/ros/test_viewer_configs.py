# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""What Foxglove and RViz are told to show is what the nodes send, by topic, field and place."""

import json
import re

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import WrenchStamped
from lsiq_core.shipped_files import shipped
from lsiq_ros.wire.messages import progress_message
from nav_msgs.msg import Odometry
from node_processes import at_most_s, client_node, own_domain, spin_until, start_node, stop
import pytest
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool, Trigger
import yaml

PANELS = json.loads(shipped('config/foxglove_layout.json').read_text())['configById']
RVIZ = yaml.safe_load(shipped('config/lsiq.rviz').read_text())['Visualization Manager']
PLOTTED = [path for panel in PANELS.values() for path in panel.get('paths', [])]
TYPES = {'joint_states': JointState, 'odom': Odometry, 'wrench': WrenchStamped}
SHOWN_BY = {'Odometry': Odometry, 'Wrench': WrenchStamped}


@pytest.fixture(scope='module')
def heard():
    """Give what the sim node sent on each topic that a viewer shows, and its services."""
    wanted = {path['value'].split('.')[0] for path in PLOTTED}
    wanted = {topic for topic in wanted if not topic.startswith('/learner_node/')}
    messages = {}
    with own_domain() as domain, client_node(domain) as node:
        process = start_node('sim_node', domain)
        for topic in wanted:
            kind = TYPES[topic.rsplit('/', 1)[1]]
            keep = lambda message, topic=topic: messages.__setitem__(topic, message)  # noqa: E731
            node.create_subscription(kind, topic, keep, qos_profile_sensor_data)
        keep = lambda message: messages.__setitem__('/diagnostics', message)  # noqa: E731
        node.create_subscription(DiagnosticArray, '/diagnostics', keep, 10)
        spin_until(node, lambda: len(messages) == len(wanted) + 1, at_most_s(20))
        services = dict(node.get_service_names_and_types())
        stop(process)
    return messages, services


@pytest.mark.parametrize('path', PLOTTED, ids=lambda path: path['value'])
def test_every_plotted_value_is_sent(path, heard):
    messages = heard[0] | {'/learner_node/progress': progress_message({'steps': 3})}
    topic, *fields = path['value'].split('.')
    assert topic in messages, f'nobody sends {topic}, only {sorted(messages)} are heard'
    value = messages[topic]
    for field in fields:
        name, index = re.fullmatch(r'(\w+)(?:\[(\d+)\])?', field).groups()
        if index is not None:
            assert value.name[int(index)] == path['label']
        value = getattr(value, name) if index is None else getattr(value, name)[int(index)]
    assert isinstance(value, float)


def test_services_and_diagnostics_of_the_panels_exist(heard):
    messages, services = heard
    asked = {panel['serviceName'] for panel in PANELS.values() if 'serviceName' in panel}
    kinds = {'reset': Trigger, 'pause': SetBool}
    for name in asked:
        kind = kinds[name.rsplit('/', 1)[1]]
        assert services[name] == [f'std_srvs/srv/{kind.__name__}']
    assert PANELS['DiagnosticSummary!health']['topicToRender'] in messages


def test_rviz_shows_what_is_sent(heard):
    shown = [display for display in RVIZ['Displays'] if 'Topic' in display]
    assert shown
    for display in shown:
        kind = SHOWN_BY[display['Class'].split('/')[1]]
        message = heard[0][display['Topic']['Value']]
        assert isinstance(message, kind)
        assert message.header.frame_id == RVIZ['Global Options']['Fixed Frame']
        # A reliable reader would not hear a best-effort sender.
        assert display['Topic']['Reliability Policy'] == 'Best Effort'


def test_progress_keeps_its_order_and_names_all():
    message = progress_message({'critic/loss': 1.5, 'steps': 7})
    assert message.name[0] == 'steps' and message.position[0] == 7
    assert dict(zip(message.name, message.position))['critic/loss'] == 1.5
    assert len(message.name) == len(set(message.name)) == len(message.position)
