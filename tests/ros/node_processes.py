# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Real node processes for tests, each test in a DDS domain of its own."""

from collections.abc import Iterator
from contextlib import contextmanager
import os
from pathlib import Path
import signal
import subprocess
import sys
import time
from typing import Any

import domain_coordinator
from lsiq_ros.lockstep.protocol import SimulatorSetup
from lsiq_ros.lockstep.ros_env import RosEnv
from lsiq_ros.lockstep.simulator_link import tell
import rclpy
from rclpy.node import Node

ROOT = Path(__file__).resolve().parents[2]
LOCAL = {'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST'}
_started: dict[int, list[subprocess.Popen[str]]] = {}  # by their domain


@contextmanager
def own_domain() -> Iterator[int]:
    """Give a domain that no other test on this machine uses; leave nobody behind in it."""
    with domain_coordinator.domain_id() as number:
        try:
            yield number
        finally:
            for process in _started.pop(number, []):  # of a test that failed half-way
                if process.poll() is None:
                    process.send_signal(signal.SIGCONT)
                    stop(process, signal.SIGTERM)


def surroundings(domain: int) -> dict[str, str]:
    """Return the environment of a node process in a domain."""
    return {
        **os.environ,
        **LOCAL,
        'ROS_DOMAIN_ID': str(domain),
        'PYTHONPATH': os.pathsep.join([str(ROOT), os.environ.get('PYTHONPATH', '')]),
        'PYTHONUNBUFFERED': '1',
    }


def start_node(executable: str, domain: int, *arguments: str) -> subprocess.Popen[str]:
    """Start a node of this package as a process."""
    words = ['-m', f'lsiq_ros.nodes.{executable}']
    if arguments:
        words += ['--ros-args', *arguments]
    return start_python(domain, *words)


def start_python(domain: int, *words: str) -> subprocess.Popen[str]:
    """Start this Python in a domain that :func:`own_domain` gave."""
    process = subprocess.Popen(
        [sys.executable, *words],
        env=surroundings(domain),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    _started.setdefault(domain, []).append(process)
    return process


def start_lockstep_sim(domain: int, *arguments: str) -> subprocess.Popen[str]:
    """Start a sim node in lock-step; :func:`connect` says what it runs."""
    return start_node('sim_node', domain, '-p', 'mode:=lockstep', *arguments)


def connect(node: Node, *, robots: int = 1, timeout_s: float = 30.0, **options) -> list[RosEnv]:
    """Tell a sim node to run Atlas with these options; return its robots."""
    setup = SimulatorSetup('atlas', options, (False,) * robots)
    told = tell(node, '', setup)
    places = [prefix.rstrip('/') for prefix in setup.prefixes]
    return [RosEnv(node, place, setup=told, timeout_s=timeout_s) for place in places]


def stop(process: subprocess.Popen[str], number: int = signal.SIGINT) -> tuple[float, int, str]:
    """Stop a process; return how long it took, its code and what it printed."""
    begin_s = time.monotonic()
    process.send_signal(number)
    try:
        output, _ = process.communicate(timeout=at_most_s(10))
    except subprocess.TimeoutExpired:
        process.kill()
        output, _ = process.communicate()
    return time.monotonic() - begin_s, process.returncode, output


def freeze(process: subprocess.Popen[str]) -> None:
    """Stop a process in its tracks until SIGCONT; return when no thread of it runs any more."""
    process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)


def slowness() -> float:
    """Return by how much longer things take here than on an idle machine, at least 1."""
    crowding = os.getloadavg()[0] / (os.cpu_count() or 1)
    try:  # how long this process ran and stood in line; with a low priority it is a long line
        ran_ns, waited_ns, _ = map(int, Path('/proc/self/schedstat').read_text().split())
        crowding = max(crowding, (ran_ns + waited_ns) / max(ran_ns, 1))
    except (OSError, ValueError):
        pass  # not Linux
    return max(1.0, 1.5 * crowding)


def at_most_s(seconds: float) -> float:
    """Return a time limit that holds on an idle machine, longer where it is overloaded."""
    return seconds * slowness()


@contextmanager
def client_node(domain: int) -> Iterator[Node]:
    """Give a node in a context of its own."""
    os.environ.update(LOCAL)
    context = rclpy.Context()
    rclpy.init(context=context, domain_id=domain)
    node = rclpy.create_node('test', context=context)
    try:
        yield node
    finally:
        node.destroy_node()
        rclpy.try_shutdown(context=context)


def ask(node: Node, kind: Any, service: str, **fields: Any) -> Any:
    """Call a service and return its answer."""
    client = node.create_client(kind, service)
    try:
        assert client.wait_for_service(timeout_sec=at_most_s(20)), f'no service {service}'
        answer = client.call_async(kind.Request(**fields))
        assert spin_until(node, answer.done, at_most_s(30)), f'never came: answer of {service}'
        return answer.result()
    finally:
        node.destroy_client(client)


def spin_until(node: Node, done, timeout_s: float = 10.0) -> bool:
    """Run callbacks until something is true."""
    executor = rclpy.executors.SingleThreadedExecutor(context=node.context)
    executor.add_node(node)
    deadline_s = time.monotonic() + timeout_s
    try:
        while not done() and time.monotonic() < deadline_s:
            executor.spin_once(timeout_sec=0.05)
    finally:
        executor.remove_node(node)
        executor.shutdown()
    return done()
