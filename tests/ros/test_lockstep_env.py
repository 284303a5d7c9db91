# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""A simulator in another process is the same task as one in this process, bit for bit."""

import signal

from lsiq_core.env import Env
from lsiq_ros.lockstep.protocol import LockstepError, SimulatorLostError
from lsiq_ros.lockstep.ros_env import RosEnv
from node_processes import client_node, own_domain, start_lockstep_sim, stop
import numpy as np
import pytest
from sensor_msgs.msg import JointState
from sim.atlas import AtlasConfig, AtlasEnv


@pytest.fixture(scope='module')
def served():
    with own_domain() as domain:
        process = start_lockstep_sim(domain, '-p', 'max_episode_steps:=60')
        with client_node(domain) as node:
            env = RosEnv(node, timeout_s=20)
            yield node, env
            env.close()
        stop(process)


@pytest.fixture
def here():
    return AtlasEnv(AtlasConfig(max_episode_steps=60))


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
    assert env.reset_to(frame).tobytes() == frame.tobytes()
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


def test_simulator_dies_and_comes_back(here):
    with own_domain() as domain:
        first = start_lockstep_sim(domain)
        with client_node(domain) as node:
            env = RosEnv(node, timeout_s=20)
            env.reset(seed=2)
            actions = torques(here, 40, seed=2, scale=0.1)
            walk(env, actions[:10])
            kept = env.state()
            env.timeout_s = 0.5
            stop(first, signal.SIGKILL)
            with pytest.raises(SimulatorLostError, match='no answer on lockstep/state'):
                env.step(actions[10])
            second = start_lockstep_sim(domain)
            env.timeout_s = 20
            env.wait_for_return()
            env.restore(kept)
            there = walk(env, actions[10:])
            env.close()
        stop(second)
    here.restore(kept)
    assert there == walk(here, actions[10:])
