# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""A simulator in another process is the same task as one in this process, bit for bit."""

import signal

from lsiq_core.env import Env
from lsiq_ros.lockstep.protocol import LockstepError, SimulatorLostError
from node_processes import (
    ask,
    at_most_s,
    client_node,
    connect,
    freeze,
    own_domain,
    spin_until,
    start_lockstep_sim,
    stop,
)
import numpy as np
import pytest
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import JointState
from sim.walking import Walking, WalkingConfig
from std_msgs.msg import String
from std_srvs.srv import SetBool


@pytest.fixture(scope='module')
def served():
    with own_domain() as domain:
        process = start_lockstep_sim(domain)
        with client_node(domain) as node:
            (env,) = connect(node, timeout_s=at_most_s(20), max_episode_steps=60)
            yield node, env
            env.close()
        stop(process)


@pytest.fixture
def here():
    return Walking('atlas', WalkingConfig(max_episode_steps=60))


def walk(env, actions):
    """Return all that happens under these actions, resets after episodes included."""
    seen = []
    for action in actions:
        step = env.step(action)
        seen.append((step.obs.tobytes(), step.reward, step.terminated, step.truncated))
        if step.terminated or step.truncated:
            seen.append(env.reset().tobytes())
    return seen


def torques(env, count, scale=0.3, seed=0):
    drawn = np.random.default_rng(seed).uniform(-scale, scale, (count, len(env.action_terms)))
    return drawn * env.action_high


def test_describes_the_task(served, here):
    env: Env = served[1]
    assert [tuple(term) for term in env.observation_terms] == list(here.observation_terms)
    assert [tuple(term) for term in env.action_terms] == list(here.action_terms)
    assert (env.name, env.rate_hz, env.max_episode_steps) == ('atlas', 100.0, 60)
    assert env.action_low.tobytes() == here.action_low.tobytes()


def test_same_seed_same_trajectory(served, here):
    env = served[1]
    assert env.reset(seed=7).tobytes() == here.reset(seed=7).tobytes()
    actions = torques(here, 300)
    there = walk(env, actions)
    assert there == walk(here, actions)
    assert any(isinstance(event, bytes) for event in there)  # episodes ended on the way


def test_continues_from_a_snapshot(served, here):
    env = served[1]
    env.reset(seed=3)
    actions = torques(here, 60, seed=1)
    walk(env, actions[:20])
    kept = env.state()
    expected = walk(env, actions[20:])
    env.restore(kept)
    assert walk(env, actions[20:]) == expected
    here.restore(kept)
    assert walk(here, actions[20:]) == expected


def test_starts_at_a_given_state(served, here):
    env = served[1]
    frame = here.reset(seed=11)
    assert env.start_names == tuple(term.name for term in here.observation_terms)
    there = env.reset_to(frame)
    assert there.tobytes() == here.reset_to(frame).tobytes()
    assert there == pytest.approx(frame, abs=1e-12)  # angles are converted on the way
    with pytest.raises(LockstepError, match='starts at 30 values'):
        env.reset_to(frame[:3])


def test_the_learner_works_while_the_simulator_steps(served, here):
    env = served[1]
    env.reset(seed=5)
    here.reset(seed=5)
    env.step_async(np.zeros(10))
    with pytest.raises(LockstepError, match='under way'):
        env.step_async(np.zeros(10))
    assert env.step_wait().obs.tobytes() == here.step(np.zeros(10)).obs.tobytes()
    with pytest.raises(LockstepError, match='without step_async'):
        env.step_wait()


@pytest.mark.parametrize(
    ('action', 'says'),
    [(np.full(10, np.nan), 'not finite'), (np.zeros(9), '9 efforts, expected 10')],
)
def test_bad_actions_do_not_leave_the_learner(served, action, says):
    with pytest.raises(LockstepError, match=says):
        served[1].step(action)


def test_a_refused_restore_is_told(served):
    with pytest.raises(LockstepError, match='cannot continue from arrays'):
        served[1].restore({'nonsense': np.zeros(2)})
    served[1].reset(seed=1)


def test_strangers_do_not_disturb(served, here):
    """A command from elsewhere, late or senseless, changes nothing for the learner."""
    node, env = served
    env.reset(seed=9)
    here.reset(seed=9)
    stranger = node.create_publisher(JointState, 'lockstep/command', 10)
    actions = torques(here, 20, seed=4)
    for action in actions:
        stranger.publish(JointState(name=['x'], effort=[float('nan')]))
        assert env.step(action).obs.tobytes() == here.step(action).obs.tobytes()
    node.destroy_publisher(stranger)


@pytest.fixture
def mortal():
    """Give a domain, a client, a short-tempered env, and a list of the simulators to come."""
    with own_domain() as domain:
        processes = [start_lockstep_sim(domain)]
        with client_node(domain) as node:
            (env,) = connect(node, timeout_s=at_most_s(20))
            env.reset(seed=2)
            env.timeout_s = 0.5
            yield domain, node, env, processes
            env.close()
        for process in processes:
            process.send_signal(signal.SIGCONT)
            stop(process)


def test_simulator_dies_and_comes_back(mortal, here):
    domain, _, env, processes = mortal
    actions = torques(here, 40, seed=2, scale=0.1)
    walk(env, actions[:10])
    kept = env.state()
    stop(processes[0], signal.SIGKILL)
    with pytest.raises(SimulatorLostError, match='no answer on lockstep/state'):
        env.step(actions[10])
    processes.append(start_lockstep_sim(domain))
    env.timeout_s = 20
    env.wait_for_return()
    env.restore(kept)
    there = walk(env, actions[10:])
    here.restore(kept)
    assert there == walk(here, actions[10:])


def test_a_successor_that_is_slow_to_answer_is_awaited(mortal):
    """It tells of itself at once; that it answers a second later must not be forever."""
    domain, node, env, processes = mortal
    stop(processes[0], signal.SIGKILL)
    processes.append(start_lockstep_sim(domain, '-p', 'start_paused:=true'))
    heard = []
    task = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    node.create_subscription(String, 'lockstep/task', heard.append, task)
    assert spin_until(node, lambda: heard, at_most_s(20))
    for _ in range(2):
        with pytest.raises(SimulatorLostError):
            env.wait_for_return()
    ask(node, SetBool, 'sim_node/pause', data=False)
    env.timeout_s = 20
    env.wait_for_return()
    assert np.isfinite(env.reset(seed=1)).all()


def test_a_simulator_that_was_only_slow_is_taken_again(mortal, here):
    _, _, env, processes = mortal
    freeze(processes[0])
    with pytest.raises(SimulatorLostError):
        env.step(np.zeros(10))
    processes[0].send_signal(signal.SIGCONT)
    env.timeout_s = 20
    env.wait_for_return()
    assert env.reset(seed=4).tobytes() == here.reset(seed=4).tobytes()


def test_a_new_learner_says_anew_what_to_run_and_a_wrong_task_is_refused(mortal):
    _, node, env, _ = mortal
    assert env.max_episode_steps == 1000
    env.close()
    with pytest.raises(LockstepError, match="refused the setup: task atlas: .*'colour'"):
        connect(node, timeout_s=at_most_s(20), colour='red')
    other, _ = connect(
        node, robots=2, timeout_s=at_most_s(20), observation='full', max_episode_steps=7
    )
    assert (other.max_episode_steps, len(other.observation_terms)) == (7, 42)
    assert np.isfinite(other.reset(seed=1)).all()


def test_a_restart_during_a_step_is_a_loss_and_no_refusal(mortal):
    """The successor refuses the step of the other session; the learner must not die of it."""
    domain, _, env, processes = mortal
    stop(processes[0], signal.SIGKILL)
    processes.append(start_lockstep_sim(domain))
    env.timeout_s = at_most_s(20)
    with pytest.raises(SimulatorLostError, match='started anew'):
        env.step(np.zeros(10))
    assert np.isfinite(env.reset(seed=1)).all()
