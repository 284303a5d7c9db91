# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Every parameter of a node says what it is and, where it is a number, how far it goes."""

from lsiq_ros.nodes.expert_node import ExpertNode
from lsiq_ros.nodes.learner_node import LearnerNode
from lsiq_ros.nodes.recorder_node import RecorderNode
from lsiq_ros.nodes.sim_node import SimNode
from node_processes import own_domain
import pytest
from rcl_interfaces.msg import ParameterType
import rclpy

OF_RCLPY = ('use_sim_time', 'start_type_description_service')


@pytest.mark.parametrize('kind', [SimNode, ExpertNode, RecorderNode, LearnerNode])
def test_parameters_are_typed_described_and_bounded(kind):
    with own_domain() as domain:
        rclpy.init(domain_id=domain)
        node = kind()
        try:
            names = [name for name in node.list_parameters([], 0).names if name not in OF_RCLPY]
            described = node.describe_parameters(names)
        finally:
            node.destroy_node()
            rclpy.shutdown()
    assert len(described) >= 8
    for one in described:
        assert one.description, one.name
        assert one.type != ParameterType.PARAMETER_NOT_SET, one.name
        assert not one.dynamic_typing, one.name
        if one.type == ParameterType.PARAMETER_INTEGER:
            assert one.integer_range, one.name
        if one.type == ParameterType.PARAMETER_DOUBLE:
            assert one.floating_point_range, one.name
