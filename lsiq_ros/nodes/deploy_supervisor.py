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

from pathlib import Path
import threading
import time
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from lsiq_core.errors import LsiqError
from lsiq_ros.control.client import ControlClient
from lsiq_ros.control.episode_log import EpisodeLog
from lsiq_ros.nodes.clean_end import init_without_handlers
from lsiq_ros.wire.cdr import JointStateReader, OdometryReader
from lsiq_ros.wire.topics import EPISODE_EVENTS, JOINT_STATES, ODOMETRY
from nav_msgs.msg import Odometry
from rcl_interfaces.msg import ParameterDescriptor
import rclpy
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import JointState
from std_msgs.msg import String

SETTLE_S = 0.5  # of shadow before arming
LAST_ANSWER_S = 3.0  # at the end: who stopped us may have stopped the node, too


class DeploySupervisor(ControlClient):
    """Drive the control node's services and watch the robot."""

    def __init__(self, stop: threading.Event) -> None:
        super().__init__('deploy_supervisor', stop=stop)
        self._seconds = self._declare('seconds', 60.0, 'how long to walk, simulated; 0 for ever')
        self.target = self._declare('control_node', 'control_node', 'the node to operate')
        self.patience_s = self._declare('patience_s', 60.0, 'how long to wait for each answer')
        self._report = self._declare('report', '', 'JSON file for how it went; empty for none')
        self._states = self._declare('states', '', 'npz file for the walk; empty for none')
        self.log = EpisodeLog()
        self._driving = False
        self._read_joints, self._read_odometry = JointStateReader(), OdometryReader()
        # Raw, because building messages would take time from whoever must be on time.
        sensor, subscribe = qos_profile_sensor_data, self.create_subscription
        subscribe(JointState, JOINT_STATES, self._on_joints, sensor, raw=True)
        subscribe(Odometry, ODOMETRY, self._on_odometry, sensor, raw=True)
        subscribe(String, EPISODE_EVENTS, self._on_event, 10)

    def bring_up(self) -> None:
        """Configure, arm and activate; refuse with what the node said."""
        self.change('configure')
        self.spin_for(SETTLE_S)
        self.arm(True)
        self.change('activate')
        self._driving = True

    def watch(self) -> None:
        """Look on until the time is over, the robot falls, the gate trips or a signal comes."""
        self.spin_for(
            float('inf'),
            lambda: self.log.over or bool(self._seconds and self.log.seconds >= self._seconds),
        )
        self._driving = False

    def let_go(self) -> None:
        """Deactivate, whatever happened; a node that has ended meanwhile has let go itself."""
        self.stop = threading.Event()  # a stop does not end this
        try:
            self.change('deactivate', LAST_ANSWER_S)
        except LsiqError as error:
            self.get_logger().warning(str(error))

    def write_files(self) -> None:
        """Leave behind what was asked for."""
        if self._report:
            self.log.report().save(Path(self._report).expanduser())
        if self._states:
            self.log.save_states(Path(self._states).expanduser())

    def _declare(self, name: str, default: Any, text: str) -> Any:
        return self.declare_parameter(name, default, ParameterDescriptor(description=text)).value

    def _on_joints(self, raw: bytes) -> None:
        if self._driving:
            self.log.take_joints(self._read_joints(raw))

    def _on_odometry(self, raw: bytes) -> None:
        if self._driving:
            self.log.take_odometry(self._read_odometry(raw), time.monotonic())

    def _on_event(self, message: String) -> None:
        if self._driving and message.data == 'fall':
            self.log.falls += 1

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        super()._on_diagnostics(message)
        status = self.statuses.get('control')
        if status is None or status.level != DiagnosticStatus.ERROR or not self._driving:
            return
        if status.message not in self.log.trips:
            self.log.trips.append(status.message)


def main(args: list[str] | None = None) -> None:
    """Operate once; exit with 1 after a fall or a trip, with 2 if it could not begin."""
    stop = init_without_handlers(args)
    node = DeploySupervisor(stop)
    code = 0
    try:
        node.bring_up()
        node.watch()
        node.let_go()
        report = node.log.report()
        node.get_logger().info(report.line())
        node.write_files()
        code = 0 if report.succeeded else 1
    except LsiqError as error:
        node.get_logger().error(str(error))
        code = 2
    finally:
        node.destroy_node()
        rclpy.try_shutdown()
    raise SystemExit(code)


if __name__ == '__main__':
    main()
