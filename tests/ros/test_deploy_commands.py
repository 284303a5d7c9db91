# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""``lsiq deploy`` from unconfigured to driving and back, against a real control node."""

from __future__ import annotations

from io import StringIO
import subprocess
import sys
from types import SimpleNamespace

from control_harness import Harness
from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
from lsiq_core.policy.artifact import Joint
from lsiq_core.shipped_files import shipped
from lsiq_ros.cli.deploy_commands import _table
from lsiq_ros.gate.checks import Check
from lsiq_ros.graph.catalogue import SHIPPED_POLICY
from node_processes import at_most_s, surroundings
import pytest
from rich.console import Console
from spring_policy import write_policy

KNEE = Joint('knee', -60, 60, 10.0, -1.5, 1.5)


def lsiq(harness: Harness, *words: str) -> tuple[int, str]:
    found = subprocess.run(
        [sys.executable, '-m', 'lsiq_ros.cli.main', *words],
        env=surroundings(harness.domain),
        capture_output=True,
        text=True,
        timeout=at_most_s(60),
        check=False,
    )
    return found.returncode, found.stdout + found.stderr


def deploy(harness: Harness, *words: str) -> str:
    code, said = lsiq(harness, 'deploy', *words)
    assert code == 0, said
    return said


def test_a_person_takes_a_robot_from_shadow_to_driving_and_back(harness: Harness) -> None:
    assert 'next: lsiq deploy configure' in deploy(harness, 'status')
    code, said = lsiq(harness, 'deploy', 'arm')
    assert code == 2 and 'nothing to arm: configure first' in said
    said = deploy(harness, 'configure')
    assert 'inactive, shadow' in said and 'then lsiq deploy arm' in said
    code, said = lsiq(harness, 'deploy', 'activate')
    assert code == 2 and 'activate refused: not armed' in said
    code, said = lsiq(harness, 'deploy', 'deactivate')  # not with the reason of the last refusal
    assert code == 2 and 'control_node: deactivate is impossible, it is inactive' in said
    assert 'armed, activate within 30 s' in deploy(harness, 'arm')
    assert 'active, running' in deploy(harness, 'activate')
    softer = write_policy(harness.folder / 'softer.onnx', stiffness=100.0)
    assert 'runs ' in deploy(harness, 'swap', str(softer))
    harness.until(lambda: harness.efforts[-1][1] == pytest.approx([10, 10], abs=1e-3), 'softer')
    said = deploy(harness, 'disarm')
    assert 'error: disarmed: by ~/arm' in said and 'next: mend the cause' in said
    said = deploy(harness, 'watch', '--seconds', '2')
    assert 'disarmed: error by ~/arm' in said and 'control: error disarmed' in said
    assert 'active, running' in deploy(harness, 'arm')
    assert 'inactive, shadow' in deploy(harness, 'deactivate')


def test_a_node_that_is_not_there_is_named(harness: Harness) -> None:
    code, said = lsiq(harness, 'deploy', 'status', '--node', 'nobody')
    assert code == 2 and 'nobody/get_state did not answer within 10 s' in said


@pytest.mark.parametrize(
    ('argument', 'reason'),
    [
        ('policy:=', 'no policy was named'),
        ('policy:=/nowhere/p.onnx', '/nowhere/p.onnx'),
        ('policy:={broken}', 'truncated'),
        ('policy:={folder}', 'something else has this name'),
        ('policy:={free}', 'a robot needs both'),
        ('policy:={strong}', 'gate.power_w is 1e+300'),
        ('robot:=spot', "made for robot 'two_joints'"),
    ],
)
def test_a_policy_that_cannot_be_used_starts_nothing(harness, argument, reason) -> None:
    policy = harness.folder / 'policy.onnx'
    broken = harness.folder / 'broken.onnx'
    broken.write_bytes(policy.read_bytes()[:-9])
    free = write_policy(harness.folder / 'free.onnx', joints=(Joint('hip', -1, 1), KNEE))
    strong = write_policy(harness.folder / 'strong.onnx', gate={'power_w': 1e300})
    files = {'broken': broken, 'folder': harness.folder, 'free': free, 'strong': strong}
    words = [argument.format(**files)]
    if not argument.startswith('policy'):
        words.append(f'policy:={policy}')
    code, said = lsiq(harness, 'up', 'deploy_hardware', *words)
    assert code == 2 and reason in said and 'unconfigured' not in said


def test_a_robot_is_named_by_its_file_too_and_a_setting_out_of_range_is_refused(harness) -> None:
    words = (f'policy:={SHIPPED_POLICY}', 'torque_fraction:=7')
    files = ('models/atlas/robot_pd.yaml', 'models/atlas')
    said = [lsiq(harness, 'up', 'deploy_hardware', *words, f'robot:={shipped(x)}') for x in files]
    assert [code for code, _ in said] == [1, 2]
    assert 'verified' in said[0][1] and 'gate.torque_fraction out of range' in said[0][1]
    assert 'Traceback' not in said[0][1] and 'ended with code 2' in said[0][1]
    assert "made for robot 'atlas_pd', this is 'atlas'" in said[1][1]


def test_a_terminal_of_24_lines_shows_every_check() -> None:
    def status(level: bytes, message: str, count: int = 0) -> DiagnosticStatus:
        values = [KeyValue(key='count', value=str(count))]
        return DiagnosticStatus(level=level, message=message, values=values)

    statuses = {'control': status(b'\x02', 'tilt: leans')}
    statuses |= {f'gate/{check.value}': status(b'\x00', 'quiet') for check in Check}
    statuses['gate/tilt'] = status(b'\x02', 'the base leans', 1)
    client = SimpleNamespace(
        target='control_node', statuses=statuses, summary={'mode': 'tripped', 'next': 'mend it'}
    )
    console = Console(width=80, file=StringIO())
    console.print(_table(client))
    shown = console.file.getvalue()
    assert len(shown.splitlines()) < 24 and 'next: mend it' in shown
    assert all(check.value in shown for check in Check) and 'the base leans' in shown
