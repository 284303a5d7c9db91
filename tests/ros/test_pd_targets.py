# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Policies that answer PD targets: what the file says, the law, and quad held over topics."""

from __future__ import annotations

from dataclasses import replace
import json

from lsiq_core.errors import ArtifactError, LsiqError
from lsiq_core.policy.artifact import contract_differences, OnnxPolicy, read_artifact, verify
from lsiq_core.policy.artifact.metadata import check, from_json, to_json
from lsiq_core.robot import load_robot
from lsiq_core.shipped_files import shipped
from lsiq_ros.benchmarks.policy import bench_policy
from lsiq_ros.control.client import ControlClient
from lsiq_ros.control.controller import Controller
from lsiq_ros.control.robot_view import RobotView
from lsiq_ros.gate.checks import Check
from lsiq_ros.gate.gate import Gate, GateState
from lsiq_ros.gate.settings import GateSettings
from lsiq_ros.graph.catalogue import DEPLOY_SIM, SHIPPED_POLICY
from lsiq_ros.simulator.tasks import driven_by_torque
from lsiq_ros.wire.base import BaseOdometry
from lsiq_ros.wire.cdr import JointState, Odometry
from lsiq_ros.wire.observation import observe_raw
from nav_msgs.msg import Odometry as OdometryMessage
from node_processes import at_most_s, own_domain, start_node, stop
import numpy as np
import onnx
import pytest
import rclpy
from rclpy.qos import qos_profile_sensor_data, QoSProfile
from sim.walking import make_walking
from std_msgs.msg import Float64MultiArray
from target_policy import write_target_policy

SLOWLY = 0.25  # simulated seconds per real one: the machine may be busy
EASY = GateSettings(
    ramp_in_s=0.0,
    slew_periods=0.1,
    position_jump_rad=10.0,
    min_height_m=0.1,
    distribution_margin=1000.0,
    distribution_far=1000.0,
)


@pytest.fixture(scope='module')
def held(tmp_path_factory):
    return write_target_policy(tmp_path_factory.mktemp('policy') / 'held.onnx')


def test_the_file_says_what_its_targets_mean(held):
    artifact = verify(held, observe=observe_raw).artifact
    metadata, env = artifact.metadata, make_walking('quad')
    assert metadata.action == 'pd_target' and metadata.joint_names[0] == 'fl_hip'
    assert [output.name for output in onnx.load(str(held)).graph.output] == ['position']
    assert metadata.gate == load_robot('quad').gate
    for joint, target, said in zip(metadata.joints, metadata.pd, env.pd_targets):
        assert (joint.effort_low_nm, joint.effort_high_nm) == (-20, 20)
        assert (target.stiffness, target.damping) == (said['stiffness'], said['damping'])
    assert metadata.action_range == (env.action_low.tolist(), env.action_high.tolist())
    assert from_json('here', to_json(metadata)) == metadata


def test_a_torque_policy_is_written_as_before():
    shipped_one = read_artifact(SHIPPED_POLICY).metadata
    assert shipped_one.action == 'pd_target' and '"pd"' in to_json(shipped_one)
    torque = replace(shipped_one, pd=())
    assert torque.action == 'torque' and '"pd"' not in to_json(torque)


@pytest.mark.parametrize(
    ('change', 'says'),
    [
        ({'stiffness': 0.0}, 'fl_hip has stiffness 0.0'),
        ({'low_rad': 0.7}, 'fl_hip has targets from 0.7 to 1.2'),
    ],
)
def test_targets_that_make_no_sense_are_refused(held, change, says):
    metadata = read_artifact(held).metadata
    first, *others = metadata.pd
    with pytest.raises(ArtifactError, match=says):
        check('p.onnx', replace(metadata, pd=(replace(first, **change), *others)))
    with pytest.raises(ArtifactError, match='7 PD targets for 8 joints'):
        check('p.onnx', replace(metadata, pd=tuple(others)))
    assert contract_differences(metadata, replace(metadata, pd=()))[0].startswith('pd: ')


class Bench:
    """A controller, and a robot that is where a test puts it."""

    def __init__(self, policy, settings=EASY):
        self.view = RobotView(policy.metadata, settings)
        self.controller = Controller(policy, settings, self.view)
        self.gate = self.controller.new_gate()
        self.names = policy.metadata.joint_names
        self.at(0.0, np.array([target.nominal_rad for target in policy.metadata.pd]))
        self.tick(0.001)
        assert self.gate.arm(0.001, self.controller.state) == []
        self.tick(0.002)  # given the robot, the policy answers anew

    def at(self, time_s, position, velocity=None):
        velocity = np.zeros(len(position)) if velocity is None else velocity
        stamp_ns = round((time_s + 5) * 1e9)
        joints = (stamp_ns, '', self.names, tuple(position), tuple(velocity), ())
        base = BaseOdometry((0.0, 0.0, 0.28), (0.0, 0.0, 0.0, 1.0), (0.0,) * 3, (0.0,) * 3)
        self.view.take_joints(JointState(*joints), time_s)
        self.view.take_odometry(Odometry(stamp_ns, 'odom', 'base_link', base), time_s)

    def tick(self, time_s):
        return self.controller.tick(time_s, 0.0, self.gate)


def test_torque_follows_the_newest_state_between_two_answers(held):
    bench = Bench(verify(held).policy)
    nominal = np.array([0.6, -1.2] * 4)
    answers = bench.controller.policy_ticks
    for time_s, off, velocity in ((0.004, -0.05, 0.2), (0.008, 0.1, -0.4), (0.012, 0.02, 0.0)):
        bench.at(time_s, nominal + off, np.full(8, velocity))
        expected = np.full(8, 40 * -off - 1.5 * velocity)  # stiffness 40, damping 1.5
        assert bench.tick(time_s) == pytest.approx(expected, abs=1e-4)
    assert bench.controller.policy_ticks == answers, 'within one control period of 20 ms'
    bench.at(0.016, nominal - 0.6)
    assert bench.tick(0.016) == pytest.approx(np.full(8, 20.0)), '24 N m, clipped to the limit'


def test_a_target_that_is_no_number_trips(held):
    policy = verify(held).policy
    bench = Bench(policy)
    bench.controller.policy = lambda _observation: np.full(8, np.inf)
    bench.at(0.02, np.array([0.6, -1.2] * 4))
    bench.tick(0.02)
    assert bench.gate.state is GateState.TRIPPED
    assert bench.gate.tripped_by.check is Check.COMMAND_NOT_FINITE


def test_the_law_is_that_of_the_simulation(held):
    """A robot under torque by the controller moves as one whose targets MuJoCo follows."""
    policy, pushed = verify(held).policy, np.array([0.1, -0.2] * 4)
    spec = load_robot('quad')
    inside = make_walking(spec)
    outside = make_walking(driven_by_torque(spec))
    assert (inside.rate_hz, outside.rate_hz) == (50, 500)
    frame = inside.robot.nominal_frame()
    for env in (inside, outside):
        env.reset_to(frame)
    bench = Bench(policy)
    follow = bench.controller._to_torque
    for _ in range(50):
        inside.step(inside.robot.rest + pushed)
        for _ in range(10):
            view = bench.controller.state._replace(
                position_rad=outside.data.qpos[outside.robot.joint_qpos].copy(),
                velocity_rad_s=outside.data.qvel[outside.robot.joint_qvel].copy(),
            )
            outside.step(
                follow(outside.robot.nominal_qpos[outside.robot.joint_qpos] + pushed, view)
            )
    # Implicit integration sees the damping inside, so the two differ a little.
    assert outside.kinematic() == pytest.approx(inside.kinematic(), abs=0.02)


def test_the_robot_dictates_what_nobody_set():
    given = {'min_height_m': 0.1, 'power_w': 1000.0}
    settings = GateSettings(power_w=300.0).for_robot(given)
    assert (settings.min_height_m, settings.power_w) == (0.1, 300.0)
    with pytest.raises(LsiqError, match='ramp_in_s'):
        GateSettings().for_robot({'ramp_in_s': 0.0})


def test_quad_is_held_over_topics_behind_the_gate(held, tmp_path):
    lower = write_target_policy(tmp_path / 'lower.onnx', lower_rad=0.05)
    stiffer = write_target_policy(
        tmp_path / 'stiffer.onnx',
        pd=tuple(replace(pd, stiffness=60.0) for pd in read_artifact(held).metadata.pd),
    )
    with own_domain() as domain:
        given = {'policy': str(held), 'robot': 'quad', 'real_time_factor': str(SLOWLY)}
        nodes = [
            start_node(node.executable, domain, *words(node.parameters))
            for node in DEPLOY_SIM.resolve({**given, 'by_hand': 'true', 'reset_frames': ''})
        ]
        rclpy.init(domain_id=domain)
        client = ControlClient('test', patience_s=at_most_s(30))
        heights, efforts = [], []
        try:
            client.create_subscription(
                OdometryMessage,
                'odom',
                lambda message: heights.append(message.pose.pose.position.z),
                qos_profile_sensor_data,
            )
            client.create_subscription(
                Float64MultiArray,
                'effort_controller/commands',
                lambda message: efforts.append(message.data.tolist()),
                QoSProfile(depth=1000),
            )
            client.change('configure')
            client.spin_for(0.5)
            assert not efforts, 'in shadow nothing is commanded'
            client.arm(True)
            client.change('activate')
            heights.clear()
            assert client.spin_for(at_most_s(60), lambda: len(heights) > 250), 'half a second'
            with pytest.raises(LsiqError, match='another contract, pd: '):
                client.swap(str(stiffer))
            client.swap(str(lower))
            seen = len(heights)
            assert client.spin_for(at_most_s(60), lambda: len(heights) > seen + 250)
            client.wait_for_report()
            assert client.summary['mode'] == 'running', client.summary
            client.change('deactivate')
        finally:
            client.destroy_node()
            rclpy.try_shutdown()
        outputs = [stop(node)[2] for node in nodes]
    assert min(heights) > 0.2, outputs  # it stands at 0.28 m, a fall is below 0.16 m
    assert np.isfinite(efforts).all() and np.abs(efforts).max() <= 20
    assert np.ptp(efforts, axis=0).max() > 0.5


def words(parameters):
    """Return parameters as a node's command line takes them."""
    for name, value in parameters.items():
        yield from ('-p', f'{name}:={json.dumps(value)}')


def test_what_is_timed_behind_the_gate_are_torques_of_pd_targets(monkeypatch):
    asked, answered = [], []

    def step(gate, now_s, state, request):
        asked.append((state, request))
        return request

    def answer(policy, inputs, call=OnnxPolicy.__call__):
        answered.append(call(policy, inputs))
        return answered[-1]

    monkeypatch.setattr(Gate, 'step', step)
    monkeypatch.setattr(OnnxPolicy, '__call__', answer)
    policy = verify(shipped(SHIPPED_POLICY)).policy
    bench_policy(policy, 3)
    (state, request), target = asked[-1], answered[-1]
    pd = policy.metadata.pd
    torque = [
        one.stiffness * (angle - position) - one.damping * velocity
        for one, angle, position, velocity in zip(
            pd, target, state.position_rad, state.velocity_rad_s
        )
    ]
    limits = [joint.effort_high_nm for joint in policy.metadata.joints]
    assert request == pytest.approx(np.clip(torque, -np.array(limits), limits), rel=1e-6)
    assert np.abs(request).max() > 10 * np.abs(target).max()
