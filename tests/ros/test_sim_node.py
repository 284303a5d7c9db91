# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""The sim node as others see it: topics, services, diagnostics, signals."""

import math
import signal
import threading

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import WrenchStamped
from lsiq_ros.nodes.sim_node import _real_time_task
from lsiq_ros.simulator.effort_command import EffortCommand
from lsiq_ros.simulator.pacing import Pacer, RateMeter
from lsiq_ros.simulator.parameters import SimParameters
from lsiq_ros.simulator.tasks import make_task
from lsiq_ros.wire.base import readings_from_odometry
from lsiq_ros.wire.cdr import OdometryReader
from nav_msgs.msg import Odometry
from node_processes import (
    ask,
    at_most_s,
    client_node,
    connect,
    own_domain,
    spin_until,
    start_lockstep_sim,
    start_node,
    stop,
)
import numpy as np
import pytest
from rclpy.qos import qos_profile_sensor_data
from rclpy.serialization import serialize_message
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from std_srvs.srv import SetBool, Trigger


class Watcher:
    """Remember what the sim node published."""

    def __init__(self, node):
        self.node = node
        self.joints, self.odometry, self.wrenches, self.clocks = [], [], [], []
        self.diagnostics, self.events = [], []
        sensor = qos_profile_sensor_data
        node.create_subscription(JointState, 'joint_states', self.joints.append, sensor)
        node.create_subscription(Odometry, 'odom', self.odometry.append, sensor)
        node.create_subscription(
            WrenchStamped, 'left_foot_back/wrench', self.wrenches.append, sensor
        )
        node.create_subscription(Clock, 'clock', self.clocks.append, 10)
        node.create_subscription(String, 'episode_events', self.events.append, 10)
        node.create_subscription(
            DiagnosticArray, '/diagnostics', lambda m: self.diagnostics.append(m.status[0]), 10
        )
        self.commands = node.create_publisher(Float64MultiArray, 'effort_controller/commands', 1)

    def until(self, done, timeout_s=None):
        return spin_until(self.node, done, at_most_s(10) if timeout_s is None else timeout_s)

    def call(self, kind, name, **fields):
        return ask(self.node, kind, f'sim_node/{name}', **fields)


@pytest.fixture(scope='module')
def watcher():
    with own_domain() as domain:
        process = start_node('sim_node', domain, '-p', 'command_timeout_s:=0.2')
        with client_node(domain) as node:
            seen = Watcher(node)
            assert seen.until(lambda: len(seen.joints) > 5, at_most_s(30))
            yield seen
        seconds, code, output = stop(process, signal.SIGTERM)
        assert (seconds < at_most_s(2), code) == (True, 0), output


def test_publishes_one_instant_on_all_topics(watcher):
    watcher.joints.clear(), watcher.odometry.clear(), watcher.wrenches.clear()
    watcher.clocks.clear()

    def seen_on_all():  # a busy machine drops some of what is sent with best effort
        stamps = [
            {(m.header.stamp.sec, m.header.stamp.nanosec) for m in messages}
            for messages in (watcher.joints, watcher.odometry, watcher.wrenches)
        ]
        return set.intersection(*stamps, {(m.clock.sec, m.clock.nanosec) for m in watcher.clocks})

    assert watcher.until(lambda: len(seen_on_all()) > 10)
    message = watcher.odometry[0]
    assert (message.header.frame_id, message.child_frame_id) == ('odom', 'base_link')
    assert len(watcher.joints[0].name) == 10


def test_hangs_where_it_started_until_commanded(watcher):
    assert watcher.call(Trigger, 'reset').success
    env = make_task('atlas', {'observation': 'full'}).env
    starts = [env.reset(seed=0), *(env.reset() for _ in range(20))]  # all episodes of the node
    names = [term.name for term in env.observation_terms]
    watcher.joints.clear(), watcher.odometry.clear()
    assert watcher.until(lambda: len(watcher.joints) > 3 and watcher.odometry)
    knee = dict(zip(watcher.joints[-1].name, watcher.joints[-1].position))['knee_angle_l']
    (start,) = (s for s in starts if s[names.index('knee_angle_l/position')] == knee)
    chain = readings_from_odometry(OdometryReader()(serialize_message(watcher.odometry[-1])).base)
    assert chain.height_m == start[names.index('base/height')]
    for got, name in (
        (chain.pitch_rad, 'base/pitch'),
        (chain.roll_rate_rad_s, 'base/roll_rate'),
    ):
        assert math.isclose(got, start[names.index(name)], abs_tol=1e-12)


@pytest.mark.parametrize(
    ('efforts', 'says'),
    [([1.0] * 3, '3 efforts, expected 10'), ([math.nan] + [0.0] * 9, "['hip_flexion_l']")],
)
def test_bad_commands_are_refused_with_a_diagnostic(watcher, efforts, says):
    watcher.call(Trigger, 'reset')
    watcher.until(lambda: False, 0.3)  # states from before it may still be on their way
    watcher.diagnostics.clear()

    def told():
        watcher.commands.publish(Float64MultiArray(data=efforts))
        return any(says in status.message for status in watcher.diagnostics)

    assert watcher.until(told)
    warned = next(status for status in watcher.diagnostics if says in status.message)
    assert warned.level == DiagnosticStatus.WARN
    watcher.joints.clear()
    assert watcher.until(lambda: len(watcher.joints) > 3)
    assert not any(watcher.joints[-1].velocity[0] != m.velocity[0] for m in watcher.joints)


def test_pauses_and_steps_one_period(watcher):
    running = watcher.call(Trigger, 'step')
    assert (running.success, 'pause first' in running.message) == (False, True)
    assert watcher.call(SetBool, 'pause', data=True).success
    watcher.until(lambda: False, 0.2)
    watcher.clocks.clear()
    assert watcher.call(Trigger, 'step').success
    assert watcher.until(lambda: watcher.clocks)
    watcher.until(lambda: False, 0.3)
    assert len(watcher.clocks) == 1
    assert watcher.call(SetBool, 'pause', data=False).success


def test_falls_are_announced_and_followed_by_a_reset(watcher):
    watcher.call(Trigger, 'reset')
    watcher.events.clear()

    def fallen():
        watcher.commands.publish(Float64MultiArray(data=[0.0] * 10))
        return [event.data for event in watcher.events][:2] == ['fall', 'reset']

    assert watcher.until(fallen), watcher.events


def test_keeps_real_time(watcher):
    """In one of some seconds at least: others may be busy."""
    watcher.diagnostics.clear()

    def factors():
        values = [{item.key: item.value for item in d.values} for d in watcher.diagnostics]
        return [float(each['achieved_real_time_factor']) for each in values[1:]]

    assert watcher.until(lambda: any(0.8 < factor < 1.2 for factor in factors())), factors()


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_ends_at_once_while_a_learner_waits(number):
    with own_domain() as domain:
        process = start_lockstep_sim(domain)
        with client_node(domain) as node:
            envs = connect(node, robots=2)
            first, second = (env.reset(seed=i) for i, env in enumerate(envs))
            assert first.tobytes() != second.tobytes()
            process.send_signal(number)
            kept = envs[1].state()  # a learner that is stopped too can still save
            for env in envs:
                env.close()
            seconds, code, output = stop(process, number)
        assert 'physics' in kept
        assert (seconds < at_most_s(2), code) == (True, 0), output


def test_user_errors_end_with_one_sentence():
    with own_domain() as domain:
        process = start_node('sim_node', domain, '-p', 'task:=moon_walk')
        output, _ = process.communicate(timeout=at_most_s(20))
    assert process.returncode == 2
    assert "no task 'moon_walk'" in output
    assert 'Traceback' not in output


def test_torque_ends_when_commands_do():
    now_s = [0.0]
    command = EffortCommand(('a', 'b'), timeout_s=0.2, clock=lambda: now_s[0])
    assert command.waiting
    assert command.effort_nm().tolist() == [0, 0]
    assert command.offer([1.0, 2.0])
    now_s[0] = 0.19
    assert command.effort_nm().tolist() == [1, 2]
    now_s[0] = 0.21
    assert command.stale
    assert command.effort_nm().tolist() == [0, 0]
    assert not command.offer([1.0])
    assert not command.offer([1.0, math.inf])
    assert command.last_refusal == "effort not finite: ['b']"


def test_commands_that_answer_earlier_states_are_drained():
    """Two more are on their way; what acts afterwards is the last of them."""
    command = EffortCommand(('a',), timeout_s=60.0)
    command.offer([1.0])
    late = [
        threading.Timer(delay_s, command.offer, ([effort],))
        for delay_s, effort in ((0.002, 2.0), (0.004, 3.0))
    ]
    for timer in late:
        timer.start()
    command.drain(quiet_s=2.0)
    assert command.effort_nm().tolist() == [3.0]
    for timer in late:
        timer.join()


def test_pacer_catches_up_gently_and_gives_up():
    """Late by three periods it hurries by a fifth; late by a hundred it starts counting anew."""
    now_s, ticks = [0.0], []
    pacer = Pacer(0.01, clock=lambda: now_s[0], sleep=lambda s: now_s.__setitem__(0, now_s[0] + s))

    class Stop:
        def is_set(self):
            return len(ticks) >= 12

    def tick():
        ticks.append(now_s[0])
        if len(ticks) == 2:
            now_s[0] += 0.035
        if len(ticks) == 8:
            now_s[0] += 1.0

    pacer.run(tick, Stop())
    # A controller gets 8 ms to answer each state, so 3.5 periods are not caught up at once.
    assert np.allclose(ticks[:7], [0.01, 0.02, 0.063, 0.071, 0.079, 0.087, 0.095])
    assert np.allclose(np.diff(ticks[9:]), 0.01)


def test_rate_meter_counts_since_the_last_reading():
    now_s = [0.0]
    meter = RateMeter(clock=lambda: now_s[0])
    meter.count, now_s[0] = 50, 0.5
    assert meter.read_hz() == 100
    meter.count, now_s[0] = 60, 1.5
    assert meter.read_hz() == 10


def test_starts_episodes_at_demonstrated_states(tmp_path):
    from lsiq_core.data.demonstrations import Demonstrations

    task = make_task('atlas')
    frames = np.stack([task.env.reset(seed=seed) for seed in range(2)])
    Demonstrations(
        states=frames,
        episode_lengths=np.array([1]),
        terminated=np.array([False]),
        state_names=task.start_names,
    ).save(tmp_path / 'walk.npz')
    chosen = SimParameters(observation='kinematic', reset_frames=str(tmp_path / 'walk.npz'))
    started = _real_time_task(chosen).env.reset(seed=1)
    assert min(np.abs(frames - started).max(axis=1)) < 0.3  # one of them, with reset noise


def test_other_tasks_run_without_state_topics():
    assert make_task('point_mass').read is None
