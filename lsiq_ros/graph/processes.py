# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
Start a graph as processes: the same nodes that ``ros2 launch`` starts, where it is missing.

All stop when one ends. They are asked with SIGINT, since that is what ``ros2 launch`` and
Ctrl-C send, and only those that do not listen are killed.
"""

from collections.abc import Callable, Mapping, Sequence
import importlib.util
import json
import os
import signal
import subprocess
import sys
import threading
import time
from typing import NamedTuple

from lsiq_core.errors import missing_extra
from lsiq_core.shipped_files import shipped
from lsiq_ros.graph.model import GraphError, ResolvedNode

# ROS prints seconds since 1970 otherwise.
LOG_FORMAT = (
    'RCUTILS_CONSOLE_OUTPUT_FORMAT',
    '[{severity}] [{date_time_with_ms}] [{name}]: {message}',
)
DISCOVERY = 'ROS_AUTOMATIC_DISCOVERY_RANGE'
_SIMULATING, _SIMULATOR = ('sim_node', 'expert_node', 'learner_node', 'view_node'), 'mujoco'
_POLL_S = 0.05
_PATIENCE_S = ((signal.SIGINT, 20.0), (signal.SIGTERM, 3.0), (signal.SIGKILL, 2.0))
_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Ending(NamedTuple):
    """How a graph came to its end."""

    label: str  # of the node that ended first, empty if somebody stopped the graph
    code: int  # its return code

    @property
    def text(self) -> str:
        """Say it in words."""
        if not self.label:
            return 'stopped'
        if self.code < 0:
            return f'{self.label} died of {signal.Signals(-self.code).name}'
        return f'{self.label} ended' + (f' with code {self.code}' if self.code else '')


def command_line(node: ResolvedNode) -> list[str]:
    """Return the command that starts a node."""
    words = [sys.executable, '-m', f'lsiq_ros.nodes.{node.executable}', '--ros-args']
    if node.namespace:
        words += ['-r', f'__ns:=/{node.namespace.strip("/")}']
    for name, to in node.remappings.items():
        words += ['-r', f'{name}:={to}']
    words += ['--params-file', str(shipped(f'config/nodes/{node.executable}.yaml'))]
    for name, value in node.parameters.items():
        words += ['-p', f'{name}:={json.dumps(value)}']  # a JSON scalar is a YAML scalar
    return words


def environment(local: bool) -> dict[str, str]:
    """Return the environment of the nodes: this machine alone, unless it says otherwise."""
    surroundings = {LOG_FORMAT[0]: LOG_FORMAT[1], **os.environ, 'PYTHONUNBUFFERED': '1'}
    if local:
        surroundings.setdefault(DISCOVERY, 'LOCALHOST')
    return surroundings


def run_graph(
    nodes: Sequence[ResolvedNode],
    surroundings: Mapping[str, str],
    log: Callable[[str], None] = lambda line: print(line, flush=True),
) -> Ending:
    """
    Start the nodes, forward what they print, and stop all when one ends or a signal comes.

    :param log: takes every line, prefixed with the node it comes from.
    """
    if not nodes:
        raise GraphError('a graph without nodes')
    _refuse_without_simulator(nodes)
    stop = threading.Event()
    before = {number: signal.getsignal(number) for number in _STOP_SIGNALS}
    for number in _STOP_SIGNALS:
        signal.signal(number, lambda *_: stop.set())
    processes: dict[str, subprocess.Popen[str]] = {}
    try:
        for node in nodes:
            processes[node.label] = _start(node, surroundings)
        printers = _forward_output(processes, log)
        ending = _wait_for_first_end(processes, stop)
        log(f'[up] {ending.text}')
    finally:
        _stop_all(processes, log)
        for number, handler in before.items():
            signal.signal(number, handler)
    for printer in printers:
        printer.join(timeout=1.0)
    return ending


def _refuse_without_simulator(nodes: Sequence[ResolvedNode]) -> None:
    """Start nothing where a node would end for want of a library."""
    needing = [node.label for node in nodes if node.executable in _SIMULATING]
    missing = missing_extra(_SIMULATOR)
    if needing and missing and importlib.util.find_spec(_SIMULATOR) is None:
        raise GraphError(f'{", ".join(needing)} cannot start: {missing}')


def _start(node: ResolvedNode, surroundings: Mapping[str, str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command_line(node),
        env=dict(surroundings),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors='replace',
        start_new_session=True,  # Ctrl-C reaches us alone, and we pass it on once
    )


def _forward_output(
    processes: Mapping[str, subprocess.Popen[str]], log: Callable[[str], None]
) -> list[threading.Thread]:
    width = max(len(label) for label in processes)

    def forward(label: str, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            log(f'[{label:<{width}}] {line.rstrip()}')

    threads = [
        threading.Thread(target=forward, args=item, daemon=True) for item in processes.items()
    ]
    for thread in threads:
        thread.start()
    return threads


def _wait_for_first_end(
    processes: Mapping[str, subprocess.Popen[str]], stop: threading.Event
) -> Ending:
    while not stop.is_set():
        for label, process in processes.items():
            code = process.poll()
            if code is not None:
                return Ending(label, code)
        stop.wait(_POLL_S)
    return Ending('', 0)


def _stop_all(processes: Mapping[str, subprocess.Popen[str]], log: Callable[[str], None]) -> None:
    for number, patience_s in _PATIENCE_S:
        running = {label: p for label, p in processes.items() if p.poll() is None}
        if not running:
            return
        if number != signal.SIGINT:
            log(f'[up] {sorted(running)} did not stop, sending {number.name}')
        for process in running.values():
            process.send_signal(number)
        deadline_s = time.monotonic() + patience_s
        while time.monotonic() < deadline_s and any(p.poll() is None for p in running.values()):
            time.sleep(_POLL_S)
