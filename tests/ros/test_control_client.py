# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""The operator's client and a node whose first answer to each question is lost."""

from collections import Counter
from contextlib import suppress
import threading

from lifecycle_msgs.srv import ChangeState, GetState
from lsiq_core.errors import LsiqError
from lsiq_ros.control.client import ControlClient
from lsiq_ros.nodes.clean_end import spin_once
from node_processes import client_node, own_domain
import pytest
import rclpy
from rclpy.executors import SingleThreadedExecutor
from std_srvs.srv import SetBool


class AnswerLostError(Exception):
    """What a service raises that ends without an answer."""


@pytest.fixture
def forgetful():
    """Give a client of such a node, and what the node was asked."""
    asked = Counter()

    def answer(request, response):
        asked[type(request)] += 1
        if asked[type(request)] == 1:
            raise AnswerLostError
        return response

    with own_domain() as domain, client_node(domain) as node:
        services = {'get_state': GetState, 'arm': SetBool, 'change_state': ChangeState}
        for name, kind in services.items():
            node.create_service(kind, f'forgetful/{name}', answer)
        executor = SingleThreadedExecutor(context=node.context)
        executor.add_node(node)
        ended = threading.Event()

        def serve():
            while not ended.is_set():
                with suppress(AnswerLostError):
                    spin_once(executor, 0.05)

        server = threading.Thread(target=serve)
        server.start()
        rclpy.init(args=[], domain_id=domain)
        try:
            client = ControlClient('operator', 'forgetful')
            yield client, asked
            client.destroy_node()
        finally:
            ended.set()
            server.join()
            executor.shutdown()
            rclpy.try_shutdown()


def test_what_asks_or_stops_is_sent_again(forgetful):
    client, asked = forgetful
    assert client.state() == '' and asked[GetState.Request] == 2
    with pytest.raises(LsiqError, match='forgetful'):  # it refuses: that is an answer
        client.arm(False)
    assert asked[SetBool.Request] == 2


def test_what_sets_a_robot_going_is_sent_once(forgetful):
    client, asked = forgetful
    client.patience_s = 4.0
    with pytest.raises(LsiqError, match='arm did not answer within 4 s'):
        client.arm(True)  # it may have tripped since, and would be armed again
    assert asked[SetBool.Request] == 1
    with pytest.raises(LsiqError, match='change_state did not answer within 4 s'):
        client.change('configure')
    assert asked[ChangeState.Request] == 1
