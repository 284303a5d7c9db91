# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
The torque-control node: a policy drives a robot, behind the gate.

===============  ===========================================================================
configure        load and verify the policy, hear the robot, match joints and rate
inactive         shadow: ``~/shadow_command`` says what would be commanded; no publisher of
                 efforts exists
``~/arm``        std_srvs/SetBool: needed before activate and again after every trip
activate         create the publisher of efforts and ramp in
deactivate       ramp to damping, send zero torque, destroy the publisher
``~/swap``       std_srvs/Trigger: let the file that the parameter ``policy`` names now take
                 over, if it verifies and its contract is the same
===============  ===========================================================================

The loop runs in a thread of its own on the steady clock and polls the robot's topics
itself; the executor serves only services and the slow diagnostics.
"""

from __future__ import annotations

from collections import Counter
import sys
import threading
import time
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from lsiq_core.errors import LsiqError
from lsiq_core.policy.artifact import verify
from lsiq_ros.control.deployment import Deployment
from lsiq_ros.control.diagnostics import DiagnosticsWriter
from lsiq_ros.control.lifecycle_guard import refuse_impossible_transitions
from lsiq_ros.control.parameters import declare_parameters, read_parameters
from lsiq_ros.gate.checks import Check, Violation
from lsiq_ros.nodes.clean_end import init_without_handlers, spin_until
from lsiq_ros.wire.observation import observe_raw
from lsiq_ros.wire.topics import DIAGNOSTICS, EFFORT_COMMANDS, SHADOW_COMMANDS
import rclpy
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.qos import QoSProfile
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool, Trigger

WATCH_PERIOD_S = 0.1  # how often another controller is looked for
DIAGNOSE_EVERY = 5  # watches
SWITCH_INTERVAL_S = 0.0005  # how long another thread may keep the loop from the interpreter
RELIABLE = QoSProfile(depth=1)


class ControlNode(LifecycleNode):
    """Convert, call, publish; what decides is in lsiq_ros.gate and lsiq_ros.control."""

    def __init__(self) -> None:
        super().__init__('control_node')
        refuse_impossible_transitions(self)
        declare_parameters(self)
        self._deployment: Deployment | None = None
        self._effort: Any = None  # the publisher; exists while active and at no other time
        self._shadow: Any = None
        self._effort_topic = self.resolve_topic_name(EFFORT_COMMANDS)
        self._armed_until_s = float('-inf')
        self._watches = 0
        self._refusal = ''  # why the last transition was refused
        self._report = DiagnosticsWriter(self.get_fully_qualified_name())
        self._diagnostics = self.create_publisher(DiagnosticArray, DIAGNOSTICS, 10)
        self.create_service(SetBool, '~/arm', self._on_arm)
        self.create_service(Trigger, '~/swap', self._on_swap)
        self.create_timer(WATCH_PERIOD_S, self._watch)

    # -- lifecycle -------------------------------------------------------------------------

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Load, verify, hear the robot and start the shadow."""
        self._refusal = ''
        try:
            parameters = read_parameters(self)
            found = verify(
                parameters.policy,
                expected_sha256=parameters.policy_sha256,
                observe=observe_raw,
            )
            self._deployment = Deployment(self, parameters, found.policy, self._on_trip)
            self._deployment.hear_robot()
        except LsiqError as error:
            return self._refuse('configure', error)
        self._shadow = self.create_publisher(Float64MultiArray, SHADOW_COMMANDS, RELIABLE)
        self._deployment.start(shadow=self._shadow)
        self.get_logger().info(
            f'policy {found.artifact.sha256[:12]} of {found.artifact.metadata.robot} verified, '
            f'{len(found.artifact.metadata.joints)} joints matched; shadow mode'
        )
        return TransitionCallbackReturn.SUCCESS

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Create the effort publisher and hand over to the policy, if armed."""
        assert self._deployment is not None
        self._refusal = ''
        try:
            if time.monotonic() > self._armed_until_s:
                raise LsiqError('not armed: call ~/arm with true first')
            self._armed_until_s = float('-inf')
            others = self._count_controllers()
            if others:
                self._deployment.count(Check.SECOND_CONTROLLER)
                raise LsiqError(f'{others} other publishers on {self._effort_topic}')
            self._deployment.check_ready()
        except LsiqError as error:
            return self._refuse('activate', error)
        effort = self.create_publisher(Float64MultiArray, EFFORT_COMMANDS, RELIABLE)
        try:
            self._deployment.go_live(effort)
        except LsiqError as error:
            self.destroy_publisher(effort)
            return self._refuse('activate', error)
        self._effort = effort
        self._diagnose()
        return TransitionCallbackReturn.SUCCESS

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Leave zero torque behind and go back to the shadow."""
        self._let_go()
        return TransitionCallbackReturn.SUCCESS

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Forget policy and robot."""
        self._forget()
        self._diagnose()
        return TransitionCallbackReturn.SUCCESS

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Let go of the robot from whatever state."""
        self.end()
        return TransitionCallbackReturn.SUCCESS

    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Let go of the robot; a new configure may follow."""
        self.end()
        return TransitionCallbackReturn.SUCCESS

    def end(self) -> None:
        """Leave zero torque if the robot was driven, and stop the loop."""
        self._let_go()
        self._forget()

    def _let_go(self) -> None:
        self._armed_until_s = float('-inf')
        if self._effort is not None and self._deployment is not None:
            self._deployment.let_go()
            self.destroy_publisher(self._effort)
            self._effort = None

    def _forget(self) -> None:
        if self._deployment is not None:
            self._deployment.stop()
            self._deployment = None
        if self._shadow is not None:
            self.destroy_publisher(self._shadow)
            self._shadow = None

    def _refuse(self, what: str, error: LsiqError) -> TransitionCallbackReturn:
        self._refusal = f'{what} refused: {error}'
        self.get_logger().error(self._refusal)
        self._diagnose()
        if what == 'configure':
            self._forget()
        return TransitionCallbackReturn.FAILURE

    # -- services --------------------------------------------------------------------------

    def _on_arm(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        try:
            response.message = self._arm() if request.data else self._disarm()
            response.success = True
        except LsiqError as error:
            response.success, response.message = False, str(error)
        self.get_logger().info(f'arm({request.data}): {response.message}')
        return response

    def _arm(self) -> str:
        if self._deployment is None:
            raise LsiqError('nothing to arm: configure first')
        if self._effort is not None:
            self._deployment.arm()
            return 'armed, ramping in'
        self._deployment.check_ready()
        valid_s = self.get_parameter('arm_valid_s').value
        self._armed_until_s = time.monotonic() + valid_s
        return f'armed, activate within {valid_s:g} s'

    def _disarm(self) -> str:
        self._armed_until_s = float('-inf')
        if self._deployment is not None:
            self._deployment.trip(Violation(Check.DISARMED, 'by ~/arm'))
        return 'disarmed'

    def _on_swap(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        try:
            if self._deployment is None:
                raise LsiqError('nothing to swap: configure first')
            parameters = read_parameters(self)
            found = verify(
                parameters.policy,
                expected_sha256=parameters.policy_sha256,
                observe=observe_raw,
            )
            self._deployment.swap(found.policy)
            response.success, response.message = True, f'runs {found.artifact.sha256}'
        except LsiqError as error:
            response.success, response.message = False, str(error)
        self.get_logger().info(f'swap: {response.message}')
        return response

    # -- what runs beside the loop ---------------------------------------------------------

    def _watch(self) -> None:
        if self._effort is not None and self._deployment is not None:
            others = self._count_controllers() - 1
            if others > 0:
                text = f'{others} other publishers on {self._effort_topic}'
                self._deployment.trip(Violation(Check.SECOND_CONTROLLER, text))
            if not self._deployment.loop_alive:
                self._deployment.mourn_loop()
                self.trigger_deactivate()
        self._watches += 1
        if self._watches % DIAGNOSE_EVERY == 0:
            self._diagnose()

    def _count_controllers(self) -> int:
        """Return how many publish efforts; rclpy does not remap the name it counts for."""
        return self.count_publishers(self._effort_topic)

    def _diagnose(self) -> None:
        deployment = self._deployment
        summary: dict[str, object] = {
            'mode': 'unconfigured' if deployment is None else deployment.mode,
            'armed': time.monotonic() <= self._armed_until_s,
            'refusal': self._refusal,
        }
        counts: Counter[Check] = Counter()
        latched: Violation | None = None
        if deployment is not None:
            counts, latched = deployment.counts(), deployment.latched
            summary |= deployment.summary()
        message = self._report.write(counts, latched, summary)
        message.header.stamp = self.get_clock().now().to_msg()
        self._diagnostics.publish(message)

    def _on_trip(self, violation: Violation) -> None:
        """Report at once, outside the loop's thread."""
        self.get_logger().error(f'tripped: {violation}')
        self._diagnose()


def main(args: list[str] | None = None) -> None:
    """Run the node until SIGINT or SIGTERM; either leaves zero torque behind."""
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    stop: threading.Event = init_without_handlers(args)
    node = ControlNode()
    try:
        spin_until(stop, node)
    finally:
        node.end()
        node.destroy_node()
        rclpy.try_shutdown()


if __name__ == '__main__':
    main()
