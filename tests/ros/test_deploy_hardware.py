# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""``lsiq up deploy_hardware`` beside a robot: it looks and does not touch."""

from __future__ import annotations

import json
import signal

from lifecycle_msgs.msg import State, Transition
from lifecycle_msgs.srv import ChangeState, GetState
from lsiq_core.policy.artifact import verify
from lsiq_core.shipped_files import shipped
from lsiq_ros.graph.catalogue import DEPLOY_HARDWARE, SHIPPED_POLICY
from node_processes import (
    ask,
    at_most_s,
    client_node,
    own_domain,
    spin_until,
    start_python,
    stop,
)
import numpy as np
from rclpy.qos import QoSProfile
from std_msgs.msg import Float64MultiArray

EFFORTS = '/drives/commands'


def test_a_robot_is_shadowed_and_never_commanded(tmp_path) -> None:
    metadata = verify(shipped(SHIPPED_POLICY)).artifact.metadata
    golden = tmp_path / 'golden.json'
    golden.write_text(json.dumps([trace.raw for trace in metadata.golden]))
    with own_domain() as domain, client_node(domain) as node:
        shadows: list[np.ndarray] = []
        efforts: list[Float64MultiArray] = []
        node.create_subscription(
            Float64MultiArray,
            'control_node/shadow_command',
            lambda message: shadows.append(np.array(message.data)),
            QoSProfile(depth=100),
        )
        for topic in (EFFORTS, 'effort_controller/commands'):
            node.create_subscription(Float64MultiArray, topic, efforts.append, 10)
        robot = ('lsiq_ros.benchmarks.loop', 'robot', '500', '3000', str(golden))
        start_python(domain, '-m', *robot)
        words = ('up', 'deploy_hardware', f'policy:={SHIPPED_POLICY}', 'robot:=atlas_pd')
        graph = start_python(
            domain, '-m', 'lsiq_ros.cli.main', *words, f'effort_commands:={EFFORTS}'
        )
        unconfigured = ask(node, GetState, 'control_node/get_state').current_state.id
        assert unconfigured == State.PRIMARY_STATE_UNCONFIGURED
        assert not shadows, 'it began before anybody configured it'
        for wanted in (Transition.TRANSITION_CONFIGURE, Transition.TRANSITION_ACTIVATE):
            change = Transition(id=wanted)
            answer = ask(node, ChangeState, 'control_node/change_state', transition=change)
            configured = wanted == Transition.TRANSITION_CONFIGURE
            assert answer.success == configured, 'it activates without being armed'
        assert spin_until(node, lambda: len(shadows) > 100, at_most_s(10))
        assert node.count_publishers(EFFORTS) == 0 and not efforts
        limits = 0.05 * np.array([joint.effort_high_nm for joint in metadata.joints])
        assert np.abs(shadows).max(axis=0).any() and (np.abs(shadows) <= limits).all()
        _, code, output = stop(graph, signal.SIGINT)
        assert code == 0, output


def test_what_a_robot_needs_can_be_set_from_outside() -> None:
    given = {'ignored_joints': 'neck arm', 'torque_fraction': '0.5', 'realtime_priority': '20'}
    (node,) = DEPLOY_HARDWARE.resolve(given)
    assert node.parameters['ignored_joints'] == ['neck arm']
    assert node.parameters['gate.torque_fraction'] == 0.5
    assert node.parameters['realtime_priority'] == 20
    assert DEPLOY_HARDWARE.local
