# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""A robot of two joints over real topics, and a witness of every effort that is sent."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
import math
import os
from pathlib import Path
import signal
import socket
import subprocess
import sys
import threading
import time
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from lifecycle_msgs.srv import ChangeState, GetState
from lsiq_ros.nodes.clean_end import spin_once
from nav_msgs.msg import Odometry
from node_processes import at_most_s
import numpy as np
from rcl_interfaces.msg import Parameter as ParameterMessage
from rcl_interfaces.msg import ParameterType, ParameterValue
from rcl_interfaces.srv import SetParameters
import rclpy
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import qos_profile_sensor_data, QoSProfile
from sensor_msgs.msg import JointState
from spring_policy import JOINTS, LIMITS_NM, RATE_HZ, write_policy
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool, Trigger

ROOT = Path(__file__).resolve().parents[2]
COMMAND_RATE_HZ = 100.0
SLEW_PERIODS = 2.0
CONTROL_NODE = ('-m', 'lsiq_ros.nodes.control_node')
CONFIGURE, CLEANUP, ACTIVATE, DEACTIVATE = 1, 2, 3, 4


Mangle = Callable[[JointState, int], 'list[JointState]']


class Harness:
    """The test's own node: robot, witness and operator."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.domain, self._reservation = _reserve_domain()
        self.context = Context()
        rclpy.init(context=self.context, domain_id=self.domain)
        self.node = rclpy.create_node('harness', context=self.context)
        self.joints = self.node.create_publisher(
            JointState, 'joint_states', qos_profile_sensor_data
        )
        self.odom = self.node.create_publisher(Odometry, 'odom', qos_profile_sensor_data)
        self.efforts: list[tuple[float, np.ndarray]] = []
        self.shadows: list[np.ndarray] = []
        self.statuses: dict[str, DiagnosticStatus] = {}
        self.rivals: dict[str, DiagnosticStatus] = {}  # of any other node
        self.seen_errors: set[str] = set()
        self._clients: dict[str, Any] = {}
        deep = QoSProfile(depth=1000)
        subscribe = self.node.create_subscription
        subscribe(Float64MultiArray, 'effort_controller/commands', self._on_effort, deep)
        subscribe(Float64MultiArray, 'control_node/shadow_command', self._on_shadow, deep)
        subscribe(DiagnosticArray, '/diagnostics', self._on_diagnostics, deep)
        self._executor = SingleThreadedExecutor(context=self.context)
        self._executor.add_node(self.node)
        self._ended = threading.Event()
        self._threads = [
            threading.Thread(target=self._spin),
            threading.Thread(target=self._be_robot),
        ]
        self.calm()
        for thread in self._threads:
            thread.start()
        self.process: subprocess.Popen | None = None
        self.start_node()

    # -- the robot -------------------------------------------------------------------------

    def calm(self) -> None:
        """Make the robot well again."""
        self.names = list(JOINTS)
        self.position = {'hip': 0.0, 'knee': 0.0, 'extra': 0.0}
        self.velocity = {'hip': 0.0, 'knee': 0.0, 'extra': 0.0}
        self.height = 1.0
        self.lean_rad = 0.0
        self.rate_hz = RATE_HZ
        self.mangle: Mangle = lambda message, number: [message]
        self.mangle_odometry: Callable[[Odometry], None] = lambda odometry: None

    def _be_robot(self) -> None:
        """Keep the rate by deadlines: a busy machine makes states late, but not fewer."""
        number, due_ns = 0, time.time_ns()
        while not self._ended.is_set():
            due_ns += int(1e9 / self.rate_hz)
            time.sleep(max(0.0, (due_ns - time.time_ns()) * 1e-9))
            number += 1
            message = JointState(name=list(self.names))
            message.header.stamp.sec, message.header.stamp.nanosec = divmod(due_ns, 10**9)
            message.position = [self.position[name] for name in self.names]
            message.velocity = [self.velocity[name] for name in self.names]
            odometry = Odometry()
            odometry.pose.pose.position.z = self.height
            odometry.pose.pose.orientation.y = math.sin(self.lean_rad / 2)
            odometry.pose.pose.orientation.w = math.cos(self.lean_rad / 2)
            for sent in self.mangle(message, number):
                odometry.header.stamp = deepcopy(sent.header.stamp)
                self.mangle_odometry(odometry)
                self.joints.publish(sent)
                self.odom.publish(odometry)

    # -- the witness -----------------------------------------------------------------------

    def _on_effort(self, message: Float64MultiArray) -> None:
        self.efforts.append((time.monotonic(), np.array(message.data)))

    def _on_shadow(self, message: Float64MultiArray) -> None:
        self.shadows.append(np.array(message.data))

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            node, name = status.name.split(': ', 1)
            if node != '/control_node':
                self.rivals[name] = status
                continue
            self.statuses[name] = status
            if status.level == DiagnosticStatus.ERROR:
                self.seen_errors.add(name)

    def check_efforts(self) -> None:
        """Assert that every effort ever sent is one that the gate may let through."""
        slew = 2 * LIMITS_NM / SLEW_PERIODS  # the most in one control period
        last = np.zeros(2)
        for _, effort in self.efforts:
            assert effort.shape == (2,) and np.isfinite(effort).all()
            assert (np.abs(effort) <= LIMITS_NM).all()
            assert (np.abs(effort - last) <= slew + 1e-9).all()
            last = effort

    def count(self, check: str) -> int:
        """Return the counter of a check, as the diagnostics say."""
        status = self.statuses.get(f'gate/{check}')
        return 0 if status is None else int(status.values[0].value)

    def value(self, key: str) -> str:
        """Return a value of the node's summary, as the diagnostics say."""
        status = self.statuses.get('control')
        values = [] if status is None else status.values
        return next((entry.value for entry in values if entry.key == key), 'nan')

    @property
    def mode(self) -> str:
        """Return the node's mode, as the diagnostics say."""
        return self.value('mode')

    def until(self, condition: Callable[[], bool], what: str, timeout_s: float = 8.0) -> None:
        """Wait for something to become true."""
        end_s = time.monotonic() + at_most_s(timeout_s)
        while not condition():
            assert time.monotonic() < end_s, f'never came: {what}'
            assert self.process is None or self.process.poll() is None, 'the node died'
            time.sleep(0.01)

    def until_tripped(self, check: str) -> None:
        """Wait for a trip of this check, and for efforts to become those of damping."""
        self.until(lambda: f'gate/{check}' in self.seen_errors, f'trip of {check}')
        self.until(lambda: not self.efforts[-1][1].any(), 'zero torque of a robot at rest')

    # -- the operator ----------------------------------------------------------------------

    def begin(self, kind: Any, name: str, request: Any, timeout_s: float = 15.0) -> Any:
        """Call a service of the node, or with a slash in its name of another."""
        if name not in self._clients:
            whole = name if '/' in name else f'control_node/{name}'
            self._clients[name] = self.node.create_client(kind, whole)
        client = self._clients[name]
        assert client.wait_for_service(at_most_s(timeout_s)), f'no service {name}'
        return client.call_async(request)

    def call(self, kind: Any, name: str, request: Any, timeout_s: float = 15.0) -> Any:
        """Call a service and wait for its answer."""
        future = self.begin(kind, name, request, timeout_s)
        self.until(future.done, f'answer of {name}', timeout_s)
        return future.result()

    def begin_transition(self, number: int, node: str = 'control_node') -> Any:
        """Ask for a lifecycle transition; return the future of the answer."""
        request = ChangeState.Request()
        request.transition.id = number
        return self.begin(ChangeState, f'{node}/change_state', request)

    def transition(self, number: int, node: str = 'control_node') -> bool:
        """Ask for a lifecycle transition and wait for it."""
        future = self.begin_transition(number, node)
        self.until(future.done, f'transition {number} of {node}', 15.0)
        return bool(future.result().success)

    @property
    def lifecycle(self) -> str:
        """Return the lifecycle state's name; ask again, for a node that is new loses answers."""
        end_s = time.monotonic() + at_most_s(15)
        while True:
            future = self.begin(GetState, 'get_state', GetState.Request())
            again_s = time.monotonic() + 2
            while not future.done() and time.monotonic() < again_s:
                time.sleep(0.01)
            if future.done():
                return future.result().current_state.label
            assert time.monotonic() < end_s, 'never came: answer of get_state'

    def arm(self, value: bool = True, node: str = 'control_node') -> SetBool.Response:
        """Arm or disarm; a node that was configured this instant has seen no state yet."""
        end_s = time.monotonic() + at_most_s(3)
        while True:
            answer = self.call(SetBool, f'{node}/arm', SetBool.Request(data=value))
            if 'no state has come yet' not in answer.message or time.monotonic() > end_s:
                return answer
            time.sleep(0.02)

    def swap(self) -> Trigger.Response:
        """Ask for the hot swap."""
        return self.call(Trigger, 'swap', Trigger.Request())

    def set_text(self, **texts: str) -> None:
        """Set string parameters."""
        kind = ParameterType.PARAMETER_STRING
        self._set({name: ParameterValue(type=kind, string_value=x) for name, x in texts.items()})

    def set_numbers(self, numbers: dict[str, float]) -> None:
        """Set parameters that are floats."""
        kind = ParameterType.PARAMETER_DOUBLE
        self._set({name: ParameterValue(type=kind, double_value=x) for name, x in numbers.items()})

    def set_flag(self, **flags: bool) -> None:
        """Set boolean parameters."""
        kind = ParameterType.PARAMETER_BOOL
        self._set({name: ParameterValue(type=kind, bool_value=x) for name, x in flags.items()})

    def _set(self, values: dict[str, ParameterValue]) -> None:
        chosen = [ParameterMessage(name=name, value=value) for name, value in values.items()]
        request = SetParameters.Request(parameters=chosen)
        answer = self.call(SetParameters, 'set_parameters', request)
        assert all(result.successful for result in answer.results)

    def refusal(self, node: str = 'control_node') -> str:
        """Return why the last transition was refused, as the diagnostics warn."""
        statuses = self.statuses if node == 'control_node' else self.rivals
        status = statuses.get('control')
        if status is None or status.level != DiagnosticStatus.WARN:
            return ''
        return status.message

    def configure(self, node: str = 'control_node') -> None:
        """Configure a node; ask again where this process was late itself with its states."""
        for _ in range(4):
            if self.transition(CONFIGURE, node):
                return
            self.until(lambda: bool(self.refusal(node)), 'a reason')
            if 'sends states at' not in self.refusal(node):
                break
        raise AssertionError(self.refusal(node))

    def drive(self) -> None:
        """Bring the node to where the policy drives."""
        self.configure()
        self.until(lambda: bool(self.shadows), 'a shadow command')
        answer = self.arm()
        assert answer.success, answer.message
        assert self.transition(ACTIVATE), self.refusal()
        self.until(lambda: len(self.efforts) > 20, 'efforts')

    # -- the process -----------------------------------------------------------------------

    def start_node(self) -> None:
        """Start the node's process."""
        self.process = self.another_node('control_node')

    def another_node(
        self,
        name: str,
        *remappings: str,
        program: tuple[str, str] = CONTROL_NODE,
        policy: Path | None = None,
    ) -> subprocess.Popen[bytes]:
        """Start a control node of this name for the same robot."""
        settings = {
            'policy': policy or write_policy(self.folder / 'policy.onnx'),
            'command_rate_hz': COMMAND_RATE_HZ,
            'wait_for_robot_s': 5.0,
            'black_box_directory': self.folder / 'black_box',
            'gate.slew_periods': SLEW_PERIODS,
            'gate.ramp_in_s': 0.1,
            'gate.damping_nm_s_rad': 2.0,
            # Trips are tested, not the machine: it may be busy for some tenths of a second.
            'gate.late_loop_periods': 25.0,
            'gate.late_state_periods': 10.0,
            'gate.stale_periods': 12.0,
            'gate.skew_periods': 20.0,
            'discovery_wait_s': 0.3,
        }
        command = [sys.executable, *program, '--ros-args']
        for remapping in (f'__node:={name}', *remappings):
            command += ['-r', remapping]
        for name, value in settings.items():
            command += ['-p', f'{name}:={value}']
        environment = os.environ | {
            'ROS_DOMAIN_ID': str(self.domain),
            'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST',
            'PYTHONPATH': str(ROOT),
        }
        return subprocess.Popen(command, cwd=self.folder, env=environment)

    def reset_node(self) -> None:
        """Bring the node back to unconfigured, whatever a test did to it."""
        self.calm()
        if self.process is None or self.process.poll() is not None:
            self.start_node()
        if self.lifecycle == 'active':
            assert self.transition(DEACTIVATE)
        if self.lifecycle == 'inactive':
            assert self.transition(CLEANUP)
        nothing = dict.fromkeys(('robot', 'robot_model_sha256', 'policy_sha256'), '')
        self.set_text(policy=str(self.folder / 'policy.onnx'), **nothing)
        self.until(lambda: self.mode == 'unconfigured', 'unconfigured')
        self.efforts.clear()
        self.shadows.clear()
        self.statuses.clear()
        self.seen_errors.clear()

    def end_node(self, number: int = signal.SIGINT) -> int:
        """Signal the node's process and return its exit code."""
        assert self.process is not None
        self.process.send_signal(number)
        code = self.process.wait(timeout=at_most_s(15))
        self.process = None
        return code

    def close(self) -> None:
        """End everything."""
        if self.process is not None and self.process.poll() is None:
            self.end_node()
        self._ended.set()
        for thread in self._threads:
            thread.join(timeout=5)
        self._executor.shutdown()
        self.node.destroy_node()
        rclpy.try_shutdown(context=self.context)
        self._reservation.close()

    def _spin(self) -> None:
        while not self._ended.is_set():
            spin_once(self._executor, 0.05)  # tests destroy publishers meanwhile


def stamped_before(message: JointState, seconds: float) -> JointState:
    """Return the same state with an older stamp."""
    older = deepcopy(message)
    total_ns = older.header.stamp.sec * 10**9 + older.header.stamp.nanosec - int(seconds * 1e9)
    older.header.stamp.sec, older.header.stamp.nanosec = divmod(total_ns, 10**9)
    return older


def _reserve_domain() -> tuple[int, socket.socket]:
    """Return a ROS domain that no other test of ours uses while the socket is open."""
    for domain in range(60, 90):
        holder = socket.socket()
        try:
            holder.bind(('127.0.0.1', 25_000 + domain))
            return domain, holder
        except OSError:
            holder.close()
    raise AssertionError('all ROS domains from 60 to 89 are in use')
