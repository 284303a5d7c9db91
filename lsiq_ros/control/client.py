# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""The operator's side of a control node: its services, and what its diagnostics say."""

from __future__ import annotations

from collections.abc import Callable
import math
import threading
import time
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState, GetState
from lsiq_core.errors import LsiqError
from lsiq_ros.wire.topics import DIAGNOSTICS
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import SetParameters
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from std_srvs.srv import SetBool, Trigger

SLICE_S = 0.05
QUEUED_S = 0.2  # what was sent until now has come by then
REPORT_S = 3.0  # several times the period of the diagnostics
TRANSITIONS = {
    'configure': Transition.TRANSITION_CONFIGURE,
    'activate': Transition.TRANSITION_ACTIVATE,
    'deactivate': Transition.TRANSITION_DEACTIVATE,
}
# An answer is lost if the node has not yet discovered who asked: the middleware waits 0.1 s for
# that (ros2/rmw_fastrtps issue 842). What asks or stops may be sent again; what arms may not: the
# gate may have tripped meanwhile.
_ASK_AGAIN_S = 2.0
_FROM = {'configure': 'unconfigured', 'activate': 'inactive', 'deactivate': 'active'}


class ControlClient(Node):
    """
    Call a control node and hear what it reports.

    :param name: of this node.
    :param target: the control node, with its namespace if it has one.
    :param patience_s: how long to wait for each answer.
    :param stop: set to give up waiting.
    """

    def __init__(
        self,
        name: str,
        target: str = 'control_node',
        patience_s: float = 10.0,
        stop: threading.Event | None = None,
    ) -> None:
        super().__init__(name)
        self.target, self.patience_s = target, patience_s
        self.stop = stop or threading.Event()
        self.statuses: dict[str, DiagnosticStatus] = {}  # 'control' and 'gate/<check>'
        self.executor_ = SingleThreadedExecutor(context=self.context)
        self.executor_.add_node(self)
        self.create_subscription(DiagnosticArray, DIAGNOSTICS, self._on_diagnostics, 10)

    def change(self, what: str, patience_s: float | None = None) -> None:
        """
        Ask for a lifecycle transition.

        :raises LsiqError: with the node's own reason if it refuses.
        """
        request = ChangeState.Request(transition=Transition(id=TRANSITIONS[what]))
        if not self.call(ChangeState, 'change_state', request, patience_s).success:
            raise LsiqError(f'{self.target}: {self._refusal(what)}')

    def _refusal(self, what: str) -> str:
        state = self.state()
        if state != _FROM[what]:  # what it refused before says nothing about this
            return f'{what} is impossible, it is {state}'
        refused = f'{what} refused'
        self.spin_for(REPORT_S, lambda: self.summary.get('refusal', '').startswith(refused))
        return self.summary.get('refusal') or f'{refused}; its log has the reason'

    def state(self) -> str:
        """Return the lifecycle state: unconfigured, inactive or active."""
        answer = self.call(GetState, 'get_state', GetState.Request())
        return str(answer.current_state.label)

    def arm(self, value: bool) -> str:
        """Arm or disarm; return what the node said."""
        return self._obeyed(self.call(SetBool, 'arm', SetBool.Request(data=value)))

    def swap(self, policy: str) -> str:
        """Let another policy file take over; return what the node said."""
        value = ParameterValue(type=ParameterType.PARAMETER_STRING, string_value=policy)
        request = SetParameters.Request(parameters=[Parameter(name='policy', value=value)])
        self.call(SetParameters, 'set_parameters', request)
        return self._obeyed(self.call(Trigger, 'swap', Trigger.Request()))

    @property
    def summary(self) -> dict[str, str]:
        """Return what the node said of itself last; nothing before it did."""
        status = self.statuses.get('control')
        return {} if status is None else {entry.key: entry.value for entry in status.values}

    def wait_for_report(self) -> None:
        """Wait for news from the node: reports that lie in the queue are from before."""
        self.spin_for(QUEUED_S)
        self.statuses.clear()
        if not self.spin_for(REPORT_S + self.patience_s, lambda: bool(self.statuses)):
            raise LsiqError(
                f'{self.target} reports nothing on {DIAGNOSTICS}; start it with lsiq up '
                'deploy_hardware, in the same ROS_DOMAIN_ID'
            )

    def call(self, kind: Any, name: str, request: Any, patience_s: float | None = None) -> Any:
        """Call a service of the node."""
        patience_s = self.patience_s if patience_s is None else patience_s
        client = self.create_client(kind, f'{self.target}/{name}')
        again_s = _ASK_AGAIN_S if _may_be_repeated(request) else math.inf
        asked: list[Any] = []
        due_s = 0.0

        def answered() -> bool:
            nonlocal due_s
            if time.monotonic() >= due_s and client.service_is_ready():
                asked.append(client.call_async(request))
                due_s = time.monotonic() + again_s
            return any(future.done() for future in asked)

        try:
            if self.spin_for(patience_s, answered):
                return next(future for future in asked if future.done()).result()
        finally:
            self.destroy_client(client)
        if self.stop.is_set():
            raise LsiqError(f'stopped before {self.target}/{name} answered')
        raise LsiqError(f'{self.target}/{name} did not answer within {patience_s:g} s')

    def spin_for(self, seconds: float, done: Callable[[], bool] = lambda: False) -> bool:
        """Run callbacks for a time; return whether what was waited for came true."""
        until_s = time.monotonic() + seconds
        while not done() and time.monotonic() < until_s and not self.stop.is_set():
            self.executor_.spin_once(timeout_sec=SLICE_S)
        return done()

    def _obeyed(self, answer: Any) -> str:
        if not answer.success:
            raise LsiqError(f'{self.target}: {answer.message}')
        return str(answer.message)

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        whole = f'/{self.target.strip("/")}'
        for status in message.status:
            node, _, name = status.name.partition(': ')
            if node == whole:
                self.statuses[name] = status


def _may_be_repeated(request: Any) -> bool:
    disarms = isinstance(request, SetBool.Request) and not request.data
    return disarms or isinstance(request, GetState.Request)
