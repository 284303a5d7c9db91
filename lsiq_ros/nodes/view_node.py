# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Show a robot's topics in a browser: its pose, the torques, and what the gate says."""

from dataclasses import dataclass
from pathlib import Path
import threading
import time

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from lsiq_core.errors import ConfigError, LsiqError
from lsiq_core.policy.artifact import read_artifact
from lsiq_core.robot import AUTO, load_robot
from lsiq_core.shipped_files import find_file
from lsiq_core.types import names
from lsiq_ros.nodes.clean_end import run_node
from lsiq_ros.view.robot import Motion, motion
from lsiq_ros.view.web import PORT, WebScene
from lsiq_ros.wire import cdr
from lsiq_ros.wire.cdr import JointStateReader, OdometryReader
from lsiq_ros.wire.observation import ObservationSpec, Readings
from lsiq_ros.wire.parameters import declare, parameter
from lsiq_ros.wire.topics import DIAGNOSTICS, EFFORT_COMMANDS, JOINT_STATES, ODOMETRY
import mujoco
from nav_msgs.msg import Odometry
from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import JointState
from sim.robot import MujocoRobot
from sim.walking import Walking
from std_msgs.msg import Float64MultiArray

_LONGEST_S = 3600.0  # of a ghost
_FRESH_S = 0.5  # a command that is older is not shown


@dataclass(frozen=True)
class ViewParameters:
    """What the node was told."""

    robot: str = parameter('', 'name or path of the robot; empty for task')
    task: str = parameter('', 'a robot, where robot is empty')
    policy: str = parameter('', 'where robot is auto: the policy whose robot is shown')
    ghost: str = parameter('', 'demonstrations that walk beside it; empty for none')
    host: str = parameter('127.0.0.1', 'where to listen; this is this machine alone')
    port: int = parameter(PORT, 'of the page; 0 for any that is free', 0, 65535)


class ViewNode(Node):
    """Take what comes, draw the newest of it."""

    def __init__(self) -> None:
        super().__init__('view_node')
        chosen = declare(self, ViewParameters)
        name = chosen.robot or chosen.task
        if name == AUTO:
            name = read_artifact(find_file(chosen.policy)).metadata.robot
        if not name:
            raise ConfigError('robot is empty: say whose topics are to be shown, robot:=NAME')
        spec = load_robot(name)
        self._robot = MujocoRobot(spec, forces=False, action='torque')
        self._data = mujoco.MjData(self._robot.model)
        self._data.qpos[:] = self._robot.nominal_qpos
        mujoco.mj_kinematics(self._robot.model, self._data)
        self._terms = ObservationSpec(names(self._robot.terms('kinematic')))
        self._ghost: Walking | None = None
        self._steps: Motion = iter(())
        if chosen.ghost:
            path = Path(chosen.ghost)
            self._ghost, self._steps = motion(path, seed=0, seconds=_LONGEST_S, robot=name)
        self._scene = WebScene(
            self._robot, ghost=bool(chosen.ghost), host=chosen.host, port=chosen.port
        )
        self._joints: cdr.JointState | None = None
        self._odometry: cdr.Odometry | None = None
        self._command: tuple[float, list[float]] | None = None
        self._gate: list[tuple[str, str]] = []
        self._read_joints, self._read_odometry = JointStateReader(), OdometryReader()
        sensor, subscribe = qos_profile_sensor_data, self.create_subscription
        subscribe(JointState, JOINT_STATES, self._on_joints, sensor, raw=True)
        subscribe(Odometry, ODOMETRY, self._on_odometry, sensor, raw=True)
        subscribe(Float64MultiArray, EFFORT_COMMANDS, self._on_command, 1)
        subscribe(DiagnosticArray, DIAGNOSTICS, self._on_diagnostics, 10)
        self.get_logger().info(f'{spec.name} on {self._scene.url}')

    def run(self, stop: threading.Event) -> None:
        """Draw until ``stop`` is set."""
        ghost_s, late_s = time.monotonic(), 0.0
        while not stop.wait(0.01):
            if not self._scene.due:
                continue
            if self._ghost is not None:
                late_s += time.monotonic() - ghost_s
                ghost_s = time.monotonic()
                while late_s > 1 / self._ghost.rate_hz:
                    late_s -= 1 / self._ghost.rate_hz
                    next(self._steps, None)
            self._pose()
            self._scene.draw(self._data, None if self._ghost is None else self._ghost.data)
            self._scene.tell(self._efforts(), self._lines())
        self._scene.close()

    def _pose(self) -> None:
        """Put the shown robot where the topics say."""
        joints, odometry = self._joints, self._odometry
        if joints is None or odometry is None:
            return
        positions = dict(zip(joints.names, joints.position))
        velocities = dict(zip(joints.names, joints.velocity))
        try:
            frame = self._terms.observe(Readings(positions, velocities, odometry.base))
        except LsiqError as error:
            self.get_logger().warning(str(error), throttle_duration_sec=5.0)
            return
        self._data.qpos[:] = self._robot.split(frame)[0]
        at = self._robot.base_qpos
        self._data.qpos[at : at + 2] = odometry.base.position_m[:2]
        mujoco.mj_kinematics(self._robot.model, self._data)

    def _efforts(self) -> dict[str, float]:
        """Return what is commanded; where nobody commands, what the robot reports."""
        if self._command is not None and time.monotonic() < self._command[0] + _FRESH_S:
            return dict(zip(self._robot.joints, self._command[1]))
        if self._joints is None or len(self._joints.effort) != len(self._joints.names):
            return {}
        return dict(zip(self._joints.names, self._joints.effort))

    def _lines(self) -> list[tuple[str, str]]:
        if self._odometry is None:
            return [('state', 'nothing heard of the robot yet'), *self._gate]
        base = self._odometry.base
        return [
            ('time', f'{self._odometry.stamp_ns / 1e9:.1f} s'),
            ('forward', f'{base.linear_m_s[0]:.2f} m/s'),
            ('base', f'{base.position_m[2]:.2f} m high'),
            *self._gate,
        ]

    def _on_joints(self, raw: bytes) -> None:
        self._joints = self._read_joints(raw)

    def _on_odometry(self, raw: bytes) -> None:
        self._odometry = self._read_odometry(raw)

    def _on_command(self, message: Float64MultiArray) -> None:
        self._command = time.monotonic(), list(message.data)

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        """Keep what a control node says of itself and of its checks."""
        found = {status.name.partition(': ')[2]: status for status in message.status}
        control = found.get('control')
        if control is None:
            return
        values = {entry.key: entry.value for entry in control.values}
        self._gate = [('gate', values.get('mode', '?')), ('says', control.message)]
        for name, status in found.items():
            if name.startswith('gate/') and status.level == DiagnosticStatus.ERROR:
                self._gate.append((name.removeprefix('gate/'), status.message))
        self._gate.append(('next', values.get('next', '')))


def main(args: list[str] | None = None) -> None:
    """Run the node until SIGINT or SIGTERM."""
    run_node(ViewNode, ViewNode.run, args, nothing_to_lose=lambda _node: True)


if __name__ == '__main__':
    main()
