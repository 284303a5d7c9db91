# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""The shipped permissions and controllers name what the nodes really have."""

from __future__ import annotations

import ast
import os
from pathlib import Path
import subprocess
import sys
from xml.etree import ElementTree

os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')

from lsiq_core.robot import load_robot
from lsiq_ros.nodes.control_node import ControlNode
from lsiq_ros.wire.topics import EFFORT_COMMANDS, JOINT_STATES, ODOMETRY
import rclpy
from sim.robot import MujocoRobot
import yaml

ATLAS = MujocoRobot(load_robot('atlas'))
ROOT = Path(__file__).resolve().parents[2]


def permitted(node: str, kind: str, right: str) -> set[str]:
    tree = ElementTree.parse(ROOT / 'docs/security/policies/deploy.policy.xml')
    profile = tree.find(f".//profile[@node='{node}']")
    assert profile is not None
    return {
        str(entry.text)
        for group in profile.findall(f"{kind}s[@{right}='ALLOW']")
        for entry in group
    }


def test_the_control_node_may_do_what_it_does_and_no_more() -> None:
    rclpy.init(domain_id=89)
    try:
        node = ControlNode()
        services = {service.srv_name for service in node.services}
        published = {publisher.topic_name for publisher in node.publishers}
        node.destroy_node()
    finally:
        rclpy.try_shutdown()
    # rclpy names some of them relative to the node and some in full.
    replies = {text.rpartition('/')[2] for text in permitted('control_node', 'service', 'reply')}
    assert {service.rpartition('/')[2] for service in services} == replies
    may_publish = permitted('control_node', 'topic', 'publish')
    assert {topic for topic in published if 'transition_event' not in topic} <= may_publish
    assert {EFFORT_COMMANDS, '~/shadow_command', '~/transition_event'} <= may_publish
    wrenches = {f'{sole}/wrench' for sole in ATLAS.soles}
    reads = {JOINT_STATES, ODOMETRY, '/clock', '/parameter_events'}
    assert permitted('control_node', 'topic', 'subscribe') == reads | wrenches


def test_only_the_control_node_may_publish_efforts_and_only_the_operator_may_arm() -> None:
    tree = ElementTree.parse(ROOT / 'docs/security/policies/deploy.policy.xml')
    nodes = [str(profile.get('node')) for profile in tree.iter('profile')]
    drivers = [n for n in nodes if EFFORT_COMMANDS in permitted(n, 'topic', 'publish')]
    operators = [n for n in nodes if 'control_node/arm' in permitted(n, 'service', 'request')]
    assert drivers == ['control_node'] and operators == ['deploy_supervisor']


def test_the_controllers_drive_the_joints_in_the_order_of_the_policy() -> None:
    tree = yaml.safe_load((ROOT / 'config/ros2_control/atlas_controllers.yaml').read_text())
    driven = tree['effort_controller']['ros__parameters']
    assert driven['joints'] == list(ATLAS.joints) and driven['interface_name'] == 'effort'
    assert set(tree['damping_controller']['ros__parameters']['gains']) == set(ATLAS.joints)
    manager = tree['controller_manager']['ros__parameters']
    assert manager['effort_controller']['fallback_controllers'] == ['damping_controller']


def test_the_launch_files_name_graphs_that_exist() -> None:
    from lsiq_ros.graph.catalogue import find_graph

    for name in ('deploy_sim', 'deploy_hardware'):
        source = (ROOT / 'launch' / f'{name}.launch.py').read_text()
        ast.parse(source)
        assert f"launch_description('{name}')" in source and find_graph(name).name == name
    always = {node.executable for node in find_graph('deploy_hardware').nodes if not node.only_if}
    assert always == {'control_node'}


def test_the_deployment_side_runs_without_torch_and_mujoco() -> None:
    script = (
        'import sys\n'
        'for blocked in ("torch", "mujoco"):\n'
        '    sys.modules[blocked] = None\n'
        'from lsiq_ros.nodes import control_node, deploy_supervisor\n'
        'import lsiq_ros.cli.deploy_commands\n'
    )
    subprocess.run([sys.executable, '-c', script], cwd=ROOT, check=True)
