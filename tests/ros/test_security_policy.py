# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""What the nodes of a running deployment do is what the shipped SROS2 policy permits."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from lsiq_core.robot import load_robot
from lsiq_ros.graph.catalogue import SHIPPED_POLICY
from node_processes import ask, at_most_s, client_node, own_domain, spin_until, start_node
import pytest
from rclpy.node import Node

POLICY = Path(__file__).resolve().parents[2] / 'docs/security/policies/deploy.policy.xml'
ABSENT = 'nobody'
NODES = ('control_node', 'sim_node', 'deploy_supervisor', 'recorder')
KINDS = {
    ('topic', 'publish'): 'get_publisher_names_and_types_by_node',
    ('topic', 'subscribe'): 'get_subscriber_names_and_types_by_node',
    ('service', 'reply'): 'get_service_names_and_types_by_node',
    ('service', 'request'): 'get_client_names_and_types_by_node',
}
# Permitted for what is not done here: efforts, which only an active node sends and a recorder
# hears if asked to, soles that this policy does not feel, simulated time, tf2_msgs that is not
# installed, and whatever a person in the operator's place asks for.
EFFORTS = '/effort_controller/commands'
WRENCHES = {f'/{sole}/wrench' for sole in load_robot('atlas').soles}
SPARE = {
    'control_node': {EFFORTS, '/clock', '/parameter_events', *WRENCHES},
    'sim_node': {'/tf', '/parameter_events'},
    'deploy_supervisor': {
        '/rosout',
        '/parameter_events',
        '/control_node/shadow_command',
        '/control_node/transition_event',
        '/control_node/arm',
        '/control_node/swap',
        '/control_node/get_state',
        '/control_node/get_parameters',
        '/control_node/set_parameters',
    },
    'recorder': {EFFORTS, '/clock', '/tf', '/tf_static', '/parameter_events'},
}


def permitted(node: str, kind: str, right: str) -> set[str]:
    profile = ElementTree.parse(POLICY).find(f".//profile[@node='{node}']")
    assert profile is not None
    names = [
        str(entry.text)
        for group in profile.findall(f"{kind}s[@{right}='ALLOW']")
        for entry in group
    ]
    return {n.replace('~', f'/{node}') if n[0] in '~/' else f'/{n}' for n in names}


@pytest.fixture(scope='module')
def graph() -> Iterator[Node]:
    """Start all nodes; the control node in shadow, the operator waiting for another one."""
    with own_domain() as domain:
        for executable, words in (
            ('sim_node', ['observation:=full', 'real_time_factor:=0.2']),
            ('control_node', [f'policy:={SHIPPED_POLICY}', 'wait_for_robot_s:=100.0']),
            ('deploy_supervisor', [f'control_node:={ABSENT}', 'patience_s:=600.0']),
            ('recorder_node', []),
        ):
            start_node(executable, domain, *(part for word in words for part in ('-p', word)))
        with client_node(domain) as node:
            configure = Transition(id=Transition.TRANSITION_CONFIGURE)
            service = 'control_node/change_state'
            assert ask(node, ChangeState, service, transition=configure).success
            assert spin_until(
                node, lambda: set(NODES) <= set(node.get_node_names()), at_most_s(30)
            )
            yield node


def names_of(graph: Node, node: str, kind: str, right: str) -> set[str]:
    found = getattr(graph, KINDS[kind, right])(node, '/')
    return {name.replace(ABSENT, 'control_node') for name, _ in found}


@pytest.mark.parametrize('node', NODES)
def test_a_node_may_do_what_it_does(graph: Node, node: str) -> None:
    def forbidden() -> dict[str, set[str]]:
        return {
            right: names_of(graph, node, kind, right) - permitted(node, kind, right)
            for kind, right in KINDS
        }

    assert not any(forbidden().values()), forbidden()


@pytest.mark.parametrize('node', NODES)
def test_a_node_may_do_no_more(graph: Node, node: str) -> None:
    def idle() -> set[str]:
        return {
            name
            for kind, right in KINDS
            for name in permitted(node, kind, right) - names_of(graph, node, kind, right)
        } - SPARE[node]

    spin_until(graph, lambda: not idle(), at_most_s(5))
    assert not idle()
