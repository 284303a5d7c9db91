# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""The point-mass task against its own description."""

from lsiq_core.config import AlgorithmConfig
import numpy as np
import pytest
from sim.point_mass import in_goal, in_red, PointMass, ShortestPath, SHOWN_M, START_M


def test_expert_reaches_the_goal_from_every_square_without_touching_red():
    env, expert = PointMass(), ShortestPath()
    corners = set()
    for seed in range(40):
        obs = env.reset(seed=seed)
        corners.add(tuple(np.sign(obs[:2])))
        while True:
            step = env.step(expert(obs))
            obs = step.obs
            if step.terminated or step.truncated:
                break
        assert not step.terminated
        assert env.episode_summary() == {'success_rate': 1.0}
    assert len(corners) == 4


def test_one_step_by_hand():
    env = PointMass()
    obs = env.reset(seed=0)
    step = env.step(np.array([1.0, -5.0]))  # the second is cut to -2
    velocity = 0.05 * np.array([1.0, -2.0])
    assert step.obs[2:] == pytest.approx(velocity)
    assert step.obs[:2] == pytest.approx(obs[:2] + 0.05 * velocity)


@pytest.mark.parametrize(
    ('position', 'goal', 'red'),
    [
        ((0.0, 0.0), True, False),
        ((0.15, -0.15), True, False),
        ((0.2, 0.0), False, False),
        ((0.5, 0.0), False, True),
        ((0.0, -0.9), False, True),
        ((0.5, 0.2), False, False),
        ((1.01, 0.5), False, True),
    ],
)
def test_areas(position, goal, red):
    assert (in_goal(np.array(position)), in_red(np.array(position))) == (goal, red)


def test_red_is_terminal_and_the_clock_is_not():
    env = PointMass()
    env.reset(seed=1)
    while True:
        step = env.step(np.array([2.0, 0.0]))
        if step.terminated or step.truncated:
            break
    assert step.terminated and not step.truncated
    env.reset(seed=1)
    for _ in range(100):
        step = env.step(np.zeros(2))
    assert step.truncated and not step.terminated


def steps_until(done, act):
    """Return how many steps it takes from the middle of a square."""
    env = PointMass()
    obs = env.reset_to(np.array([START_M, START_M, 0.0, 0.0]))
    for count in range(1, 100):
        obs = env.step(act(obs)).obs
        if done(obs[:2]):
            return count
    raise AssertionError('never')


def test_dying_pays_with_the_operator_of_iq_learn_and_not_with_ours():
    """The argument of the module's docstring, with the default rewards and the task's gamma."""
    config = AlgorithmConfig(discount=0.85)
    to_red = steps_until(in_red, lambda obs: np.array([2.0, 2.0]))
    to_paths = steps_until(
        lambda p: np.abs(p).max() <= SHOWN_M, lambda obs: np.array([-2.0, -2.0])
    )

    def value(steps, then):
        earned = config.r_min * (1 - config.discount**steps) / (1 - config.discount)
        return earned + config.discount**steps * then

    reaching = value(to_paths, config.q_max)
    assert value(to_red, 0.0) > reaching + 1.0
    assert value(to_red, config.q_min) < reaching - 1.0
