# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Faults of a whole deployment on the simulated Atlas; those of the node: test_control_node."""

from contextlib import contextmanager
import signal
import time

from atlas_policy import LIMIT_NM, write_atlas_policy
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from lsiq_core.data.demonstrations import load
from lsiq_core.policy.artifact import verify
from lsiq_core.shipped_files import shipped
from lsiq_ros.control.controller import Controller
from lsiq_ros.control.robot_view import RobotView
from lsiq_ros.gate.gate import GateState
from lsiq_ros.gate.settings import GateSettings
from lsiq_ros.graph.catalogue import DEPLOY_SIM, SHIPPED_POLICY
from lsiq_ros.simulator.tasks import make_task
from lsiq_ros.wire.cdr import JointState, Odometry, Wrench
from node_processes import ask, at_most_s, client_node, own_domain, spin_until, start_node, stop
import numpy as np
import pytest
from rclpy.qos import QoSProfile
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool

SLOWLY = 0.2  # simulated seconds per real one: the machine may be busy


@pytest.fixture(scope='module')
def policy(tmp_path_factory):
    return write_atlas_policy(tmp_path_factory.mktemp('policy') / 'policy.onnx')


def start(executable, domain, policy):
    """Start a node as the graph deploy_sim does."""
    given = {'policy': str(policy), 'real_time_factor': str(SLOWLY)}
    node = next(n for n in DEPLOY_SIM.resolve(given) if n.executable == executable)
    words = [f'{name}:={value}' for name, value in node.parameters.items()]
    return start_node(executable, domain, *(word for text in words for word in ('-p', text)))


class Witness:
    """Sees every effort and every error, and operates the control node."""

    def __init__(self, node):
        self.node, self.efforts, self.errors = node, [], {}
        node.create_subscription(
            Float64MultiArray,
            'effort_controller/commands',
            lambda message: self.efforts.append(np.array(message.data)),
            QoSProfile(depth=1000),
        )
        node.create_subscription(DiagnosticArray, '/diagnostics', self._on_diagnostics, 10)

    def _on_diagnostics(self, message):
        for status in message.status:
            if status.level == DiagnosticStatus.ERROR:
                self.errors[status.name.split(': ')[1]] = status.message

    def until(self, done):
        return spin_until(self.node, done, at_most_s(30))

    def call(self, kind, name, **fields):
        answer = ask(self.node, kind, f'control_node/{name}', **fields)
        self.said = getattr(answer, 'message', '')
        return answer.success

    def change(self, number):
        return self.call(ChangeState, 'change_state', transition=Transition(id=number))

    def arm(self):
        return self.call(SetBool, 'arm', data=True)

    def arm_at_last(self):
        """Try until the robot is in order: it falls and rises until somebody drives it."""
        deadline_s = time.monotonic() + at_most_s(60)
        while not self.arm():
            assert time.monotonic() < deadline_s, self.said
            time.sleep(0.1)  # each answer is a line of its log, and nobody empties that pipe


@contextmanager
def witness(domain):
    with client_node(domain) as node:
        seen = Witness(node)
        yield seen
    assert all(effort.shape == (10,) for effort in seen.efforts)
    assert np.abs(seen.efforts).max() <= LIMIT_NM  # and so finite


def test_the_simulator_is_killed_and_comes_back(policy):
    with own_domain() as domain:
        simulator, control = (
            start('sim_node', domain, policy),
            start('control_node', domain, policy),
        )
        with witness(domain) as seen:
            assert seen.change(Transition.TRANSITION_CONFIGURE)
            assert seen.arm()
            assert seen.change(Transition.TRANSITION_ACTIVATE)
            assert seen.until(lambda: len(seen.efforts) > 20)
            assert seen.efforts[-1].any()
            stop(simulator, signal.SIGKILL)
            assert seen.until(lambda: 'gate/stale_state' in seen.errors), seen.errors
            assert seen.until(lambda: not seen.efforts[-1].any())
            assert not seen.arm(), 'armed without a robot'
            simulator = start('sim_node', domain, policy)
            seen.arm_at_last()
            assert seen.until(lambda: np.abs(seen.efforts[-1]).max() > 1)
            assert control.poll() is None
            _, code, output = stop(control)
            assert code == 0, output
        stop(simulator)


def walk(order):
    """Return the commands of three seconds with the robot's joints in an order of its own."""
    frames = load(shipped('models/atlas/demos/walk_noisy.npz')).states
    task = make_task('atlas', {'observation': 'full', 'reset_frames': frames})
    found = verify(shipped(SHIPPED_POLICY)).policy
    settings = GateSettings(ramp_in_s=0.0)
    view = RobotView(found.metadata, settings)
    controller = Controller(found, settings, view)
    gate = controller.new_gate()
    task.env.reset(seed=3)
    commands = []
    for tick in range(300):
        now_s, readings = 0.01 * tick, task.read()
        stamp_ns = 10_000_000 * tick
        names = tuple(task.joints[i] for i in order)
        positions = tuple(readings.positions_rad[order].tolist())
        velocities = tuple(readings.velocities_rad_s[order].tolist())
        view.take_joints(JointState(stamp_ns, '', names, positions, velocities, ()), now_s)
        view.take_odometry(Odometry(stamp_ns, 'odom', 'base_link', readings.base), now_s)
        for sole, force in zip(task.soles, readings.forces_n.tolist()):
            view.take_wrench(sole, Wrench(stamp_ns, 'odom', tuple(force), (0.0,) * 3), now_s)
        if tick == 0:
            assert not gate.arm(now_s, view.state())
        commands.append(controller.tick(now_s, 0.0, gate))
        assert not task.env.step(commands[-1]).terminated, f'fell after {tick} steps'
    assert gate.state is GateState.RUNNING, gate.tripped_by
    return np.array(commands)


def test_permuted_joints_walk_the_same_steps():
    straight = np.arange(10)
    assert (walk(straight) == walk(np.roll(straight, 3)[::-1])).all()
