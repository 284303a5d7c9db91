# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
Two control nodes are told to activate at the same moment, again and again, under load.

One pulls both joints to one side and the other to the other side, so that a subscriber
sees from every torque whose it is. ``LSIQ_ACTIVATIONS`` sets how often.
"""

from __future__ import annotations

from collections import Counter
import os
import signal
import subprocess
import sys
import threading
import time

from control_harness import ACTIVATE, CONTROL_NODE, DEACTIVATE, Harness
from node_processes import at_most_s
import numpy as np
import pytest
from spring_policy import write_policy

ROUNDS = int(os.environ.get('LSIQ_ACTIVATIONS', '20'))
LOAD = 6
EFFORTS = 'effort_controller/commands'
# A lease of its own, as on another machine: only discovery is left to tell them apart.
ON_ANOTHER_MACHINE = """
from pathlib import Path
from lsiq_ros.control import effort_claim
effort_claim.lease_directory = lambda: Path({directory!r})
from lsiq_ros.nodes.control_node import main
main()
"""


class Monitor:
    """Sample who is announced as a publisher of efforts, as often as possible."""

    def __init__(self, harness: Harness) -> None:
        self._harness, self._ended = harness, threading.Event()
        self.samples: Counter[int] = Counter()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while not self._ended.wait(0.002):
            self.samples[self._harness.node.count_publishers(EFFORTS)] += 1

    def close(self) -> None:
        self._ended.set()
        self._thread.join()


@pytest.fixture
def load():
    """Keep six processes busy beside us, less those that are busy already."""
    missing = max(0, round(LOAD - os.getloadavg()[0]))
    burn = [sys.executable, '-c', 'while True: pass']
    burners = [subprocess.Popen(burn) for _ in range(missing)]
    yield
    for burner in burners:
        burner.kill()
        burner.wait()


@pytest.mark.slow
@pytest.mark.parametrize('machines', [1, 2])
def test_of_two_nodes_that_activate_at_once_never_both_drive(
    harness: Harness, load: None, machines: int
) -> None:
    program = CONTROL_NODE
    if machines == 2:
        program = ('-c', ON_ANOTHER_MACHINE.format(directory=str(harness.folder)))
    other = write_policy(harness.folder / 'other_way.onnx', stiffness=-200.0)
    rival = harness.another_node('rival', program=program, policy=other)
    names, outcomes, loads = ('control_node', 'rival'), Counter(), []
    monitor = Monitor(harness)
    try:
        for name in names:
            harness.configure(name)
        for _ in range(ROUNDS):
            for name in names:
                deadline_s = time.monotonic() + at_most_s(20)
                while not harness.arm(node=name).success:  # a busy machine makes states late
                    assert time.monotonic() < deadline_s
            harness.efforts.clear()
            futures = {name: harness.begin_transition(ACTIVATE, name) for name in names}
            for name, future in futures.items():
                harness.until(future.done, f'the answer of {name}', 30.0)
            active = [name for name, future in futures.items() if future.result().success]
            if active:
                harness.until(lambda: len(harness.efforts) > 5, 'efforts')
            for name in active:
                assert harness.transition(DEACTIVATE, name)
            harness.until(lambda: harness.node.count_publishers(EFFORTS) == 0, 'no publisher')
            signs = {int(np.sign(effort[0])) for _, effort in harness.efforts} - {0}
            assert len(signs) <= 1, 'torque of both'
            assert len(active) <= 1, active
            outcomes[active[0] if active else 'neither'] += 1
            loads.append(os.getloadavg()[0])
    finally:
        monitor.close()
        rival.send_signal(signal.SIGINT)
        assert rival.wait(timeout=at_most_s(15)) == 0
        print(
            f'{machines} machines, {sum(outcomes.values())} rounds: {dict(outcomes)}; publishers '
            f'announced, by samples: {dict(monitor.samples)}; load {min(loads, default=0):.1f} '
            f'to {max(loads, default=0):.1f}'
        )
    if machines == 1:
        assert max(monitor.samples) == 1
