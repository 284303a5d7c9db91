# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
The torque-control node: a policy drives a robot, behind the gate.

===============  ===========================================================================
configure        load and verify the policy, wait for the robot, match joints and rate
inactive         shadow: ``~/shadow_command`` says what would be commanded; no publisher of
                 efforts exists
``~/arm``        std_srvs/SetBool: needed before activate and again after every trip
activate         take the sole right to command efforts (lsiq_ros.control.effort_claim),
                 then ramp in
deactivate       ramp to damping, send zero torque, destroy the publisher
``~/swap``       std_srvs/Trigger: let the file that the parameter ``policy`` names now take
                 over, if it verifies and its contract is the same
===============  ===========================================================================

The loop runs in a thread of its own on the steady clock and polls the robot's topics
itself; the executor serves only services and the slow diagnostics. No exception leaves a
callback: it would end the process that drives the robot.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
import sys
import threading
import time
import traceback
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from lsiq_core.errors import LsiqError
from lsiq_core.policy.artifact import Verification, verify
from lsiq_core.shipped_files import find_file
from lsiq_ros.control.deployment import Deployment
from lsiq_ros.control.diagnostics import DiagnosticsWriter, next_step
from lsiq_ros.control.effort_claim import EffortClaim, RELIABLE, RivalError
from lsiq_ros.control.lifecycle_guard import refuse_impossible_transitions
from lsiq_ros.control.parameters import ControlParameters, declare_parameters, read_parameters
from lsiq_ros.gate.checks import Check, Violation
from lsiq_ros.nodes.clean_end import init_without_handlers, spin_until, user_error
from lsiq_ros.wire.observation import observe_raw
from lsiq_ros.wire.topics import DIAGNOSTICS, SHADOW_COMMANDS
import rclpy
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool, Trigger

WATCH_PERIOD_S = 0.1  # how often another controller is looked for
DIAGNOSE_EVERY = 5  # watches
SWITCH_INTERVAL_S = 0.0005  # how long another thread may keep the loop from the interpreter
NEVER_S = float('-inf')


class ControlNode(LifecycleNode):
    """Convert, call, publish; what decides is in lsiq_ros.gate and lsiq_ros.control."""

    def __init__(self) -> None:
        super().__init__('control_node')
        refuse_impossible_transitions(self)
        declare_parameters(self)
        self._deployment: Deployment | None = None
        self._claim = EffortClaim(self)
        self._shadow: Any = None
        self._armed_until_s = NEVER_S
        self._watches = 0
        self._diagnosing = threading.Lock()  # reports of a trip come from its own thread
        self._refusal = ''  # why the last transition was refused
        self._report = DiagnosticsWriter(self.get_fully_qualified_name())
        self._diagnostics = self.create_publisher(DiagnosticArray, DIAGNOSTICS, 10)
        self.create_service(SetBool, '~/arm', self._on_arm)
        self.create_service(Trigger, '~/swap', self._on_swap)
        self.create_timer(WATCH_PERIOD_S, self._on_watch)
        self._log_next_step()

    # -- lifecycle -------------------------------------------------------------------------

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Load, verify, wait for the robot and start the shadow."""
        return self._transition('configure', self._configure, undo=self._forget)

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Create the effort publisher and hand over to the policy, if armed."""
        return self._transition('activate', self._activate, undo=self._claim.release)

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Leave zero torque behind and go back to the shadow."""
        return self._transition('deactivate', self._let_go)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Forget policy and robot."""
        return self._transition('clean up', self._forget)

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Let go of the robot from whatever state."""
        return self._transition('shut down', self.end)

    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Let go of the robot; a new configure may follow."""
        return self._transition('recover', self.end)

    def _transition(
        self,
        what: str,
        act: Callable[[], None],
        undo: Callable[[], None] | None = None,
    ) -> TransitionCallbackReturn:
        """
        Do what a transition does; whatever goes wrong is told.

        :param undo: for a transition that can be refused; what lets go of the robot cannot.
        """
        reason = self._try(act)
        self._refusal = f'{what} refused: {reason}' if reason else ''
        if reason:
            self.get_logger().error(self._refusal)
        self._try(self._diagnose)  # before the undoing: the counters are the deployment's
        if reason and undo is not None:
            self._try(undo)
            return TransitionCallbackReturn.FAILURE
        self._log_next_step()
        return TransitionCallbackReturn.SUCCESS

    def _try(self, act: Callable[[], None]) -> str:
        """Return why something failed; a reason that nobody foresaw is logged whole."""
        try:
            act()
        except RivalError as error:
            if self._deployment is not None:
                self._deployment.count(Check.SECOND_CONTROLLER)
            return str(error)
        except LsiqError as error:
            return str(error)
        except Exception as error:
            self.get_logger().error(traceback.format_exc())
            return f'{type(error).__name__}: {error}'
        return ''

    def _configure(self) -> None:
        parameters, found = self._verified()
        self._deployment = Deployment(self, parameters, found.policy, self._on_trip)
        self._deployment.wait_for_robot()
        self._shadow = self.create_publisher(Float64MultiArray, SHADOW_COMMANDS, RELIABLE)
        self._deployment.start(shadow=self._shadow)
        self.get_logger().info(
            f'policy {found.artifact.sha256[:12]} of {found.artifact.metadata.robot} verified, '
            f'{len(found.artifact.metadata.joints)} joints matched; shadow mode'
        )

    def _activate(self) -> None:
        assert self._deployment is not None
        if time.monotonic() > self._armed_until_s:
            raise LsiqError('not armed: lsiq deploy arm, or call ~/arm with true, first')
        self._armed_until_s = NEVER_S
        self._deployment.check_ready()
        effort = self._claim.take(self._deployment.parameters.discovery_wait_s)
        self._deployment.go_live(effort)

    def end(self) -> None:
        """Leave zero torque if the robot was driven, and stop the loop."""
        self._let_go()
        self._forget()

    def _let_go(self) -> None:
        self._armed_until_s = NEVER_S
        try:
            if self._claim.publisher is not None and self._deployment is not None:
                self._deployment.release()
        finally:
            self._claim.release()

    def _forget(self) -> None:
        self._armed_until_s = NEVER_S
        deployment, self._deployment = self._deployment, None
        if deployment is not None:
            deployment.stop()
        if self._shadow is not None:
            self.destroy_publisher(self._shadow)
            self._shadow = None

    # -- services --------------------------------------------------------------------------

    def _on_arm(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        act = self._arm if request.data else self._disarm
        return self._answer(f'arm({request.data})', act, response)

    def _on_swap(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        return self._answer('swap', self._swap, response)

    def _answer(self, what: str, act: Callable[[], str], response: Any) -> Any:
        said: list[str] = []
        reason = self._try(lambda: said.append(act()))
        response.success, response.message = not reason, reason or said[0]
        if not reason:
            self._refusal = ''
        self.get_logger().info(f'{what}: {response.message}')
        self._try(self._diagnose)
        return response

    def _arm(self) -> str:
        if self._deployment is None:
            raise LsiqError('nothing to arm: configure first')
        if self._claim.publisher is not None:
            rivals = self._claim.rivals()
            if rivals:
                raise RivalError(rivals)
            self._deployment.arm()
            return 'armed, ramping in'
        self._deployment.check_ready()
        valid_s = self._deployment.parameters.arm_valid_s
        self._armed_until_s = time.monotonic() + valid_s
        return f'armed, activate within {valid_s:g} s'

    def _disarm(self) -> str:
        self._armed_until_s = NEVER_S
        if self._deployment is not None:
            self._deployment.trip(Violation(Check.DISARMED, 'by ~/arm'))
        return 'disarmed'

    def _swap(self) -> str:
        if self._deployment is None:
            raise LsiqError('nothing to swap: configure first')
        _, found = self._verified()
        self._deployment.swap(found.policy)
        return f'runs {found.artifact.sha256}'

    def _verified(self) -> tuple[ControlParameters, Verification]:
        parameters = read_parameters(self)
        policy, expected = find_file(parameters.policy), parameters.policy_sha256
        found = verify(policy, expected_sha256=expected, observe=observe_raw)
        gate = parameters.gate.for_robot(found.artifact.metadata.gate)
        return replace(parameters, gate=gate), found

    # -- what runs beside the loop ---------------------------------------------------------

    def _on_watch(self) -> None:
        reason = self._try(self._watch)
        if reason:
            self.get_logger().error(f'watch: {reason}')

    def _watch(self) -> None:
        if self._claim.publisher is not None and self._deployment is not None:
            rivals = self._claim.rivals()
            if rivals:
                self._deployment.trip(Violation(Check.SECOND_CONTROLLER, rivals))
            self._deployment.yield_to_rivals(bool(rivals))
            if not self._deployment.loop_alive:
                self._deployment.trip_for_dead_loop()
                self.trigger_deactivate()
        self._watches += 1
        if self._watches % DIAGNOSE_EVERY == 0:
            self._diagnose()

    def _diagnose(self) -> None:
        """Report what holds now; of two threads the later report is also the newer one."""
        with self._diagnosing:
            self._publish_diagnostics()

    def _publish_diagnostics(self) -> None:
        deployment = self._deployment
        mode = 'unconfigured' if deployment is None else deployment.mode
        armed = time.monotonic() <= self._armed_until_s
        summary: dict[str, object] = {
            'mode': mode,
            'armed': armed,
            'refusal': self._refusal,
            'next': next_step(mode, armed),
        }
        counts: Counter[Check] = Counter()
        latched: Violation | None = None
        if deployment is not None:
            counts, latched = deployment.counts(), deployment.latched
            summary |= deployment.summary()
        message = self._report.write(counts, latched, summary)
        message.header.stamp = self.get_clock().now().to_msg()
        self._diagnostics.publish(message)

    def _log_next_step(self) -> None:
        mode = 'unconfigured' if self._deployment is None else self._deployment.mode
        self.get_logger().info(f'{mode}. Next: {next_step(mode, armed=False)}')

    def _on_trip(self, violation: Violation) -> None:
        """Report at once, outside the loop's thread."""
        self.get_logger().error(f'tripped: {violation}')
        self._try(self._diagnose)


def main(args: list[str] | None = None) -> None:
    """Run the node until SIGINT or SIGTERM; either leaves zero torque behind."""
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    stop: threading.Event = init_without_handlers(args)
    try:
        node = ControlNode()
    except LsiqError as error:
        raise user_error(error) from error
    try:
        spin_until(stop, node)
    finally:
        node.end()
        node.destroy_node()
        rclpy.try_shutdown()


if __name__ == '__main__':
    main()
