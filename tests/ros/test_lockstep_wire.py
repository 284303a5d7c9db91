# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""The bytes of lock-step and who answers them, without any process."""

from lsiq_core.types import Step, Term
from lsiq_ros.lockstep.protocol import (
    LockstepError,
    pack_arrays,
    SEED_NAME,
    TaskDescription,
    unpack_arrays,
)
from lsiq_ros.lockstep.server import LockstepServer
from lsiq_ros.wire.cdr import JointStateReader, JointStateWriter
import numpy as np
import pytest


class Adder:
    """A task that adds up its actions: the right answers are plain."""

    name = 'adder'
    observation_terms = (Term('a/position', 'rad'), Term('b/position', 'rad', 'odom'))
    action_terms = (Term('a/effort', 'N m'), Term('b/effort', 'N m'))
    action_low, action_high = np.array([-1.0, -np.inf]), np.array([0.1 + 0.2, np.inf])
    rate_hz = 30.0
    max_episode_steps = 4

    def __init__(self):
        self.sum = np.zeros(2)

    def reset(self, *, seed=None):
        self.sum = np.full(2, 0.0 if seed is None else float(seed))
        return self.sum.copy()

    def start_at(self, start):
        self.sum = start.copy()
        return self.sum.copy()

    def step(self, action):
        self.sum += action
        return Step(self.sum.copy(), 0.25, self.sum[0] > 10, False)

    def state(self):
        return {'sum': self.sum.copy()}

    def restore(self, state):
        self.sum = np.array(state['sum'])

    def close(self):
        pass


@pytest.fixture
def server():
    task = Adder()
    served = LockstepServer(task, start_names=('a', 'b'), start_at=task.start_at, session='s')
    served.reset()
    return served


def command(server, verb, names=(), position=(), effort=(), *, stamp_ns=None):
    writer = JointStateWriter(f's/{verb}', names, position=len(position), effort=len(effort))
    writer.position[:] = position
    writer.effort[:] = effort
    return writer.write(server.stamp_ns if stamp_ns is None else stamp_ns)


def observation(raw):
    return list(JointStateReader()(raw).position)


ACTIONS = ('a/effort', 'b/effort')


def test_description_comes_back_bit_for_bit():
    task = TaskDescription.of(Adder(), 'session', ('a', 'b'))
    assert TaskDescription.from_json(task.to_json()) == task
    assert task.action_high == (0.1 + 0.2, np.inf)
    with pytest.raises(LockstepError, match='no task description'):
        TaskDescription.from_json('{"name": "x"}')


def test_arrays_come_back_and_objects_are_refused():
    arrays = {'rng': np.array('{"state": 1}'), 'steps': np.array(3), 'x': np.array([0.1 + 0.2])}
    back = unpack_arrays(pack_arrays(arrays))
    assert {key: (item.dtype, item.tolist()) for key, item in back.items()} == {
        key: (item.dtype, item.tolist()) for key, item in arrays.items()
    }
    with pytest.raises(LockstepError, match='no npz'):
        unpack_arrays(pack_arrays({'x': np.array([object()])}))


def test_step_answers_one_period_later(server):
    before_ns = server.stamp_ns
    verb, answer = server.handle(command(server, 'step', ACTIONS, effort=(0.1, 0.2)))
    assert verb == 'step'
    assert observation(answer) == [0.1, 0.2, 0.25, 0.0, 0.0]
    assert server.stamp_ns - before_ns == pytest.approx(1e9 / 30, abs=1)
    assert JointStateReader()(answer).stamp_ns == server.stamp_ns


def test_joints_are_matched_by_name(server):
    _, answer = server.handle(command(server, 'step', ACTIONS[::-1], effort=(2.0, 1.0)))
    assert observation(answer)[:2] == [1.0, 2.0]


def test_a_command_that_comes_twice_acts_once(server):
    raw = command(server, 'step', ACTIONS, effort=(1.0, 1.0))
    _, first = server.handle(raw)
    verb, second = server.handle(raw)
    assert (verb, second) == ('repeat', first)
    assert server.env.sum.tolist() == [1.0, 1.0]


def test_resets_with_seed_and_to_a_state(server):
    before_ns = server.stamp_ns
    _, answer = server.handle(command(server, 'reset', (SEED_NAME,), (5,)))
    assert observation(answer)[:2] == [5.0, 5.0]
    assert server.stamp_ns - before_ns == 500_000_000
    _, answer = server.handle(command(server, 'reset_to', ('b', 'a'), (0.5, 0.25)))
    assert observation(answer)[:2] == [0.25, 0.5]


def test_snapshot_and_restore(server):
    server.handle(command(server, 'step', ACTIONS, effort=(1.0, 2.0)))
    tick = server.tick
    _, data = server.handle(command(server, 'snapshot'))
    assert server.tick == tick
    server.handle(command(server, 'step', ACTIONS, effort=(5.0, 5.0)))
    assert np.isnan(observation(server.restore(data))[:2]).all()
    assert server.env.sum.tolist() == [1.0, 2.0]
    with pytest.raises(LockstepError, match='cannot continue'):
        server.restore(pack_arrays({'other': np.zeros(1)}))


@pytest.mark.parametrize(
    ('verb', 'fields', 'says'),
    [
        ('step', {'names': ACTIONS, 'effort': (np.nan, 0.0)}, r"not finite: \['a/effort'\]"),
        ('step', {'names': ACTIONS, 'effort': (0.0, np.inf)}, r"not finite: \['b/effort'\]"),
        ('step', {'names': ACTIONS[:1], 'effort': (1.0,)}, '1 values for 1 names'),
        ('step', {'names': ('a', 'b'), 'effort': (1.0, 1.0)}, 'expected one for each'),
        ('step', {'names': ACTIONS, 'effort': (1.0, 1.0), 'stamp_ns': 0}, 'it answers the state'),
        ('jump', {}, "frame 's/jump' is none of"),
        ('reset', {'names': (SEED_NAME,), 'position': (-1.0,)}, 'seed'),
        ('reset', {'names': (SEED_NAME,), 'position': (1.5,)}, 'seed'),
        ('reset', {'names': ('speed',), 'position': (1.0,)}, 'reset refused'),
        ('reset_to', {'names': ('a',), 'position': (1.0,)}, 'expected one for each'),
        ('reset_to', {'names': ('a', 'b'), 'position': (1.0, np.nan)}, 'not finite'),
    ],
)
def test_bad_commands_are_refused_and_change_nothing(server, verb, fields, says):
    tick, state = server.tick, server.env.sum.tolist()
    with pytest.raises(LockstepError, match=says):
        server.handle(command(server, verb, **fields))
    assert (server.tick, server.env.sum.tolist()) == (tick, state)
