# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
The operator of a simulated deployment: configure, arm, activate, watch, report.

On a robot a person does this, rung by rung (docs/hardware.md). In simulation it makes a
walk one command: exit code 0 if the robot was driven for the whole time without a fall.
"""

from __future__ import annotations

import math
import threading
import time
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from lsiq_core.errors import LsiqError
from lsiq_ros.clean_end import init_without_handlers
from nav_msgs.msg import Odometry
from rcl_interfaces.msg import ParameterDescriptor
import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data
from std_msgs.msg import Header
from std_srvs.srv import SetBool

SETTLE_S = 0.5  # of shadow before arming
SLICE_S = 0.05


class Operator(Node):
    """Drive the control node's services and watch the robot."""

    def __init__(self) -> None:
        super().__init__('operator')
        text = ParameterDescriptor(description='how long to walk, in simulated s; 0 for ever')
        self.seconds = float(self.declare_parameter('seconds', 60.0, text).value)
        text = ParameterDescriptor(description='the node to operate')
        self._target = str(self.declare_parameter('control_node', 'control_node', text).value)
        text = ParameterDescriptor(description='how long to wait for each answer, in s')
        self._patience_s = float(self.declare_parameter('patience_s', 60.0, text).value)
        self.trips: list[str] = []
        self.falls = 0
        self.driven_s = 0.0
        self.distance_m = 0.0
        self._driving = False
        self._first: tuple[float, float, float] | None = None
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self)
        subscribe = self.create_subscription
        subscribe(Odometry, 'odom', self._on_odometry, qos_profile_sensor_data)
        subscribe(Header, 'episode', self._on_episode, 10)
        subscribe(DiagnosticArray, '/diagnostics', self._on_diagnostics, 10)

    def bring_up(self, stop: threading.Event) -> None:
        """Configure, arm and activate; refuse with what the node said."""
        self._change(Transition.TRANSITION_CONFIGURE, 'configure', stop)
        self._spin(stop, SETTLE_S)
        answer = self._call(SetBool, 'arm', SetBool.Request(data=True), stop)
        if not answer.success:
            raise LsiqError(f'{self._target} does not arm: {answer.message}')
        self._driving = True
        self._change(Transition.TRANSITION_ACTIVATE, 'activate', stop)

    def watch(self, stop: threading.Event) -> None:
        """Look on until the time is over, the robot falls, the gate trips or a signal comes."""
        while not stop.is_set() and not self.trips and not self.falls:
            if self.seconds and self.driven_s >= self.seconds:
                break
            self._executor.spin_once(timeout_sec=SLICE_S)
        self._driving = False

    def let_go(self) -> None:
        """Deactivate, whatever happened."""
        self._change(Transition.TRANSITION_DEACTIVATE, 'deactivate', threading.Event())

    def report(self) -> str:
        """Say how it went."""
        speed = self.distance_m / self.driven_s if self.driven_s else 0.0
        end = '; '.join([*self.trips, *(['fell'] if self.falls else [])]) or 'no fall, no trip'
        return f'{self.driven_s:.1f} s, {self.distance_m:.1f} m, {speed:.2f} m/s: {end}'

    def _change(self, number: int, what: str, stop: threading.Event) -> None:
        request = ChangeState.Request(transition=Transition(id=number))
        if not self._call(ChangeState, 'change_state', request, stop).success:
            raise LsiqError(f'{self._target} does not {what}; its log says why')

    def _call(self, kind: Any, name: str, request: Any, stop: threading.Event) -> Any:
        client = self.create_client(kind, f'{self._target}/{name}')
        until_s = time.monotonic() + self._patience_s
        future = None
        while time.monotonic() < until_s and not stop.is_set():
            if future is None and client.service_is_ready():
                future = client.call_async(request)
            self._executor.spin_once(timeout_sec=SLICE_S)
            if future is not None and future.done():
                self.destroy_client(client)
                return future.result()
        raise LsiqError(f'{self._target}/{name} did not answer within {self._patience_s:g} s')

    def _spin(self, stop: threading.Event, seconds: float) -> None:
        until_s = time.monotonic() + seconds
        while time.monotonic() < until_s and not stop.is_set():
            self._executor.spin_once(timeout_sec=SLICE_S)

    def _on_odometry(self, message: Odometry) -> None:
        if not self._driving:
            return
        place, stamp = message.pose.pose.position, message.header.stamp
        now = (stamp.sec + stamp.nanosec * 1e-9, place.x, place.y)
        self._first = self._first or now
        if not self.falls:
            self.driven_s = now[0] - self._first[0]
            self.distance_m = math.hypot(now[1] - self._first[1], now[2] - self._first[2])

    def _on_episode(self, message: Header) -> None:
        if self._driving and message.frame_id == 'fall':
            self.falls += 1

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        wanted = f'/{self._target}: control'
        for status in message.status:
            tripped = status.name.endswith(wanted) and status.level == DiagnosticStatus.ERROR
            if self._driving and tripped and status.message not in self.trips:
                self.trips.append(status.message)


def main(args: list[str] | None = None) -> None:
    """Operate once; exit with 1 after a fall or a trip, with 2 if it could not begin."""
    stop = init_without_handlers(args)
    node = Operator()
    code = 0
    try:
        node.bring_up(stop)
        node.watch(stop)
        node.let_go()
        node.get_logger().info(node.report())
        code = 1 if node.trips or node.falls else 0
    except LsiqError as error:
        node.get_logger().error(str(error))
        code = 2
    finally:
        node.destroy_node()
        rclpy.try_shutdown()
    raise SystemExit(code)


if __name__ == '__main__':
    main()
