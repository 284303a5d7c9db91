# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
The control loop over real topics, beside a bare loop that only sleeps.

Three processes: this one runs the node's own deployment in shadow, a robot publishes
states, a bare loop keeps the same rate with nothing to do. So the three share the same
machine at the same time, and what the bare loop misses is the machine's fault.
"""

from dataclasses import asdict, dataclass, replace
import json
import os
from pathlib import Path
import subprocess
import sys
import tempfile
import threading
import time
from typing import Any

from geometry_msgs.msg import WrenchStamped
from lsiq_core.errors import LsiqError
from lsiq_core.policy.artifact import OnnxPolicy
from lsiq_ros.control.deployment import Deployment
from lsiq_ros.control.parameters import ControlParameters
from lsiq_ros.gate.loop import LatenessRecord, run_until, take_priority
from lsiq_ros.gate.timing import Timing
from lsiq_ros.nodes.clean_end import init_without_handlers, spin_once
from lsiq_ros.wire.base import BaseOdometry
from lsiq_ros.wire.cdr import JointStateWriter, OdometryWriter, WrenchWriter
from lsiq_ros.wire.messages import BASE_FRAME, ODOM_FRAME
from lsiq_ros.wire.topics import JOINT_STATES, ODOMETRY, wrench_topic
from nav_msgs.msg import Odometry
import numpy as np
import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

SWITCH_INTERVAL_S = 0.0005
START_S = 40.0  # imports take long on a busy machine


@dataclass(frozen=True)
class LoopResult:
    """What one rate came to."""

    rate_hz: float
    seconds: float
    lateness: Timing
    bare_lateness: Timing
    work: Timing  # poll, policy, gate, publish
    state_to_command: Timing  # from the state's stamp to the command's publication
    deadlines_skipped: int
    bare_deadlines_skipped: int
    states_answered: int

    def text(self) -> str:
        """Return a small table for people."""
        return '\n'.join(
            [
                f'{self.rate_hz:g} Hz for {self.seconds:g} s, {self.states_answered} states '
                f'answered, {self.deadlines_skipped} deadlines skipped '
                f'(bare loop {self.bare_deadlines_skipped})',
                f'  lateness           {self.lateness.line()}',
                f'  lateness, bare     {self.bare_lateness.line()}',
                f'  work of a tick     {self.work.line()}',
                f'  state to command   {self.state_to_command.line()}',
            ]
        )


def bench_loop(
    policy: OnnxPolicy, rate_hz: float, seconds: float, realtime_priority: int = 0
) -> LoopResult:
    """
    Run the loop at a rate; the policy answers at every tick, whatever its own rate is.

    :param realtime_priority: SCHED_FIFO priority of this loop and of the bare one.
    """
    metadata = replace(policy.metadata, rate_hz=rate_hz)
    policy = OnnxPolicy(replace(policy.artifact, metadata=metadata))
    os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
    interval = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    with tempfile.TemporaryDirectory() as folder:
        golden = Path(folder) / 'golden.json'
        golden.write_text(json.dumps([trace.raw for trace in metadata.golden]))
        robot = _start('robot', rate_hz, START_S + seconds + 5, str(golden))
        rclpy.init()
        try:
            return _measure(policy, _parameters(rate_hz, folder, realtime_priority), seconds)
        finally:
            robot.terminate()
            robot.wait()
            rclpy.try_shutdown()
            sys.setswitchinterval(interval)


class _TimedDeployment(Deployment):
    """The node's deployment with a stopwatch around its tick."""

    def begin(self, capacity: int) -> None:
        self.work_s: list[float] = []
        self.path_s: list[float] = []
        self._capacity = capacity

    def _tick(self, now_s: float, lateness_s: float) -> None:
        answered = self._controller.policy_ticks
        super()._tick(now_s, lateness_s)
        if len(self.work_s) < self._capacity:
            self.work_s.append(time.monotonic() - now_s)
            if self._controller.policy_ticks > answered:
                self.path_s.append((time.time_ns() - (self._view.newest_ns or 0)) / 1e9)


def _measure(policy: OnnxPolicy, parameters: ControlParameters, seconds: float) -> LoopResult:
    rate_hz = parameters.command_rate_hz
    node = rclpy.create_node('bench_control_loop')
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    ended = threading.Event()
    spinner = threading.Thread(target=_spin, args=(executor, ended))
    deployment = _TimedDeployment(node, parameters, policy, lambda violation: None)
    deployment.begin(int(rate_hz * seconds) + 1)
    bare = None
    try:
        deployment.wait_for_robot(check_rate=False)  # a slow machine is what is measured
        spinner.start()
        bare = _start('bare', rate_hz, seconds, str(parameters.realtime_priority))
        deployment.start(node.create_publisher(Float64MultiArray, '~/shadow_command', 1))
        time.sleep(seconds)
        record = deployment.lateness
        lateness, skipped = Timing.of(record.latest()), record.misses
        output, _ = bare.communicate(timeout=30)
        bare_result = json.loads(output)
    finally:
        if bare is not None and bare.poll() is None:
            bare.kill()
        deployment.stop()
        ended.set()
        if spinner.is_alive():
            spinner.join()
        executor.shutdown()
        node.destroy_node()
    if not deployment.path_s:
        raise LsiqError(f'{rate_hz:g} Hz: not one state was answered')
    return LoopResult(
        rate_hz=rate_hz,
        seconds=seconds,
        lateness=lateness,
        bare_lateness=Timing(**bare_result['lateness']),
        work=Timing.of(np.array(deployment.work_s)),
        state_to_command=Timing.of(np.array(deployment.path_s)),
        deadlines_skipped=skipped,
        bare_deadlines_skipped=bare_result['misses'],
        states_answered=len(deployment.path_s),
    )


def _spin(executor: SingleThreadedExecutor, ended: threading.Event) -> None:
    while not ended.is_set():
        spin_once(executor, 0.1)


def _parameters(rate_hz: float, folder: str, realtime_priority: int) -> ControlParameters:
    return ControlParameters(
        command_rate_hz=rate_hz,
        wait_for_robot_s=START_S,
        arm_valid_s=1.0,
        discovery_wait_s=0.0,
        black_box_directory=folder,
        realtime_priority=realtime_priority,
    )


def _start(role: str, rate_hz: float, seconds: float, *words: str) -> subprocess.Popen[str]:
    command = [sys.executable, '-m', 'lsiq_ros.benchmarks.loop', role]
    command += [str(rate_hz), str(seconds), *words]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def be_robot(rate_hz: float, seconds: float, raws: list[dict[str, Any]]) -> None:
    """Publish the golden states over and over, stamped with the time of this machine."""
    stop = init_without_handlers(None)
    node = rclpy.create_node('bench_robot')
    sensors = qos_profile_sensor_data
    joints_topic = node.create_publisher(JointState, JOINT_STATES, sensors)
    base_topic = node.create_publisher(Odometry, ODOMETRY, sensors)
    wrenches = {
        sole: node.create_publisher(WrenchStamped, wrench_topic(sole), sensors)
        for sole in raws[0]['forces_n']
    }
    names = list(raws[0]['positions_rad'])
    joints = JointStateWriter(BASE_FRAME, names, position=len(names), velocity=len(names))
    odometry, wrench = OdometryWriter(ODOM_FRAME, BASE_FRAME), WrenchWriter(ODOM_FRAME)
    record, end_s = LatenessRecord(), time.monotonic() + seconds

    def publish(now_s: float, lateness_s: float) -> None:
        raw = raws[record.ticks // 100 % len(raws)]
        stamp_ns = time.time_ns()
        joints.position[:] = [raw['positions_rad'][name] for name in names]
        joints.velocity[:] = [raw['velocities_rad_s'].get(name, 0.0) for name in names]
        if raw.get('base'):
            base = {name: tuple(values) for name, values in raw['base'].items()}
            base_topic.publish(odometry.write(stamp_ns, BaseOdometry(**base)))
        for sole, topic in wrenches.items():
            topic.publish(wrench.write(stamp_ns, raw['forces_n'][sole]))
        joints_topic.publish(joints.write(stamp_ns))
        if now_s > end_s:
            stop.set()

    run_until(stop, 1 / rate_hz, publish, record)
    node.destroy_node()
    rclpy.try_shutdown()


def run_bare(rate_hz: float, seconds: float, realtime_priority: int) -> dict[str, object]:
    """Sleep until deadline after deadline and return how late that was."""
    take_priority(realtime_priority)
    record, stop = LatenessRecord(), threading.Event()
    end_s = time.monotonic() + seconds

    def tick(now_s: float, lateness_s: float) -> None:
        if now_s > end_s:
            stop.set()

    run_until(stop, 1 / rate_hz, tick, record)
    return {'lateness': asdict(Timing.of(record.latest())), 'misses': record.misses}


if __name__ == '__main__':
    role, rate, duration = sys.argv[1], float(sys.argv[2]), float(sys.argv[3])
    if role == 'bare':
        print(json.dumps(run_bare(rate, duration, int(sys.argv[4]))))
    else:
        be_robot(rate, duration, json.loads(Path(sys.argv[4]).read_text()))
