# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Keep a lifecycle node alive when somebody asks for a transition it does not have now."""

from __future__ import annotations

from typing import Any

from lifecycle_msgs.srv import ChangeState
from rclpy.lifecycle import LifecycleNode


def refuse_impossible_transitions(node: LifecycleNode) -> None:
    """
    Answer an impossible transition with failure.

    rclpy raises out of the service's callback instead (seen with Jazzy's 7.1), which ends
    the executor: asking an active node to activate would end the process that drives.
    """
    service = node._service_change_state
    change_state = service.callback

    def answer(request: ChangeState.Request, response: ChangeState.Response) -> Any:
        try:
            return change_state(request, response)
        except Exception as error:  # rclpy's RCLError has no public name
            node.get_logger().error(f'transition {request.transition.id} refused: {error}')
            response.success = False
            return response

    service.callback = answer
