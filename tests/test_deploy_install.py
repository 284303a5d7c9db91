# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""A robot's computer gets the package without torch and without a simulator, and it runs."""

import os
from pathlib import Path
import shutil
import signal
import subprocess
import sys

from lsiq_core.shipped_files import shipped
import pytest

ROOT = Path(__file__).resolve().parents[1]
NOT_FOR_A_ROBOT = {'torch', 'mujoco', 'gymnasium', 'matplotlib', 'tensorboard'}
ONLY_HERE = shutil.ignore_patterns(
    '.git', '.venv', 'build', 'install', 'log', 'runs', '*.egg-info', '__pycache__'
)


@pytest.fixture(scope='module')
def robot(tmp_path_factory):
    """Give the programs of an environment with nothing but the extra ``deploy`` and rclpy."""
    folder = tmp_path_factory.mktemp('robot')
    shutil.copytree(ROOT, folder / 'source', ignore=ONLY_HERE)  # pip builds in the tree
    subprocess.run([sys.executable, '-m', 'venv', folder / 'venv'], check=True)
    programs = folder / 'venv/bin'
    constraints = ['-c', ROOT / 'constraints.txt']
    package = f'{folder / "source"}[deploy,ros-jazzy]'
    subprocess.run(
        [programs / 'pip', 'install', '-q', '--no-compile', *constraints, package], check=True
    )
    shutil.rmtree(folder / 'source')  # what runs now is what was installed
    return programs


def run(*words, folder, **options):
    surroundings = {key: text for key, text in os.environ.items() if key != 'PYTHONPATH'}
    return subprocess.run(
        [str(word) for word in words],
        cwd=folder,
        env=surroundings,
        text=True,
        capture_output=True,
        **options,
    )


@pytest.mark.slow
def test_a_robot_needs_neither_torch_nor_a_simulator(robot, tmp_path):
    listed = run(robot / 'pip', 'list', '--format=freeze', folder=tmp_path, check=True).stdout
    names = {line.split('==')[0].lower() for line in listed.splitlines()}
    assert 'onnxruntime' in names
    assert not names & NOT_FOR_A_ROBOT
    imports = 'import lsiq_core.policy.artifact, lsiq_ros.gate.gate, lsiq_ros.nodes.control_node'
    imports += (
        ', lsiq_ros.nodes.recorder_node, lsiq_ros.nodes.deploy_supervisor, lsiq_ros.bags.importer'
    )
    found = run(robot / 'python', '-c', imports, folder=tmp_path)
    assert found.returncode == 0, found.stderr


@pytest.mark.slow
def test_a_robot_verifies_a_policy_and_knows_the_graphs(robot, tmp_path):
    policy = tmp_path / 'policy.onnx'
    script = (
        'import sys; from pathlib import Path; from spring_policy import write_policy; '
        'write_policy(Path(sys.argv[1]))'
    )
    here = {**os.environ, 'PYTHONPATH': os.pathsep.join([str(ROOT), str(ROOT / 'tests/ros')])}
    subprocess.run([sys.executable, '-c', script, policy], env=here, check=True)
    verified = run(robot / 'lsiq', 'verify', policy, folder=tmp_path)
    assert verified.returncode == 0, verified.stderr
    assert 'two_joints' in verified.stdout
    shown = run(
        robot / 'lsiq', 'up', 'deploy_hardware', f'policy:={policy}', '--show', folder=tmp_path
    )
    assert shown.returncode == 0, shown.stderr
    assert 'config/nodes/control_node.yaml' in shown.stdout
    assert str(robot.parent) in shown.stdout  # its own, not those of this checkout
    assert shipped('config/nodes/control_node.yaml').is_relative_to(ROOT)


@pytest.mark.slow
def test_a_robot_starts_the_control_node(robot, tmp_path):
    surroundings = {key: text for key, text in os.environ.items() if key != 'PYTHONPATH'}
    with subprocess.Popen([robot / 'control_node'], cwd=tmp_path, env=surroundings) as node:
        with pytest.raises(subprocess.TimeoutExpired):
            node.wait(timeout=10)
        node.send_signal(signal.SIGINT)
        assert node.wait(timeout=30) == 0
