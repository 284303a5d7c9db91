# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""How late the torque of PD targets may come."""

from lsiq_core.robot import load_robot, Randomisation
import numpy as np
import pytest
from sim.late_loop import LateLoop
from sim.robot import MujocoRobot
from sim.walking import Walking, WalkingConfig

QUAD = MujocoRobot(load_robot('quad'), forces=False)
GAINS = np.array([(joint.stiffness, joint.damping) for joint in QUAD.facts]).T


def alone(mobility, timestep_s=1e-4):
    """Return the loop of one joint with nothing around it."""
    loop = LateLoop(QUAD)
    loop._mobility, loop._timestep_s = [np.array([[mobility]])], timestep_s
    return loop


def test_pure_damping_is_stable_up_to_a_quarter_turn():
    # I dv/dt = -d v(t - T) is stable while d T / I < pi / 2: here T < 15.7 ms.
    loop = alone(mobility=1 / 0.02)
    stiffness, damping = np.array([1e-6]), np.array([2.0])
    for late_ms, stable in ((15.0, True), (16.5, False)):
        growth, _ = loop.growth(stiffness, damping, late_ms / 1000)
        assert (growth < 1 + 1e-6) == stable


def test_what_it_calls_stable_stands_in_the_simulation_and_what_not_shakes():
    late_s = LateLoop(QUAD).longest_delay_s(*GAINS)
    assert 0.004 < late_s < 0.016
    fastest = {}
    for late_ms in (1000 * late_s - 2, 1000 * late_s + 6):
        world = Randomisation(delay_ms=(late_ms, late_ms))
        env = Walking(QUAD.spec, WalkingConfig(start='stand', randomisation=world))
        env.reset(seed=0)
        speeds = []
        for _ in range(50):
            env.step(QUAD.rest)
            speeds.append(np.abs(env.data.qvel[QUAD.joint_qvel]).max())
        fastest[late_ms] = np.mean(speeds[25:])
    quiet, shaking = fastest.values()
    assert shaking > 10 * quiet


def test_softened_gains_bear_the_delay_and_stay_alike_on_all_legs():
    loop = LateLoop(QUAD)
    assert not loop.stable(*GAINS, 0.016)
    stiffness, damping = loop.softened(*GAINS, 0.016)
    assert loop.stable(stiffness, damping, 0.016)
    assert (stiffness <= GAINS[0]).all() and (damping < GAINS[1]).any()
    np.testing.assert_array_equal(damping.reshape(4, 2), damping[:2][None].repeat(4, axis=0))
    unchanged = loop.softened(*GAINS, 0.0)
    np.testing.assert_array_equal(unchanged, GAINS)


@pytest.mark.parametrize('variant', ['atlas_pd'])
def test_the_shipped_gains_bear_late_torque(variant):
    robot = MujocoRobot(load_robot(variant), forces=False)
    stiffness, damping = np.array([(j.stiffness, j.damping) for j in robot.facts]).T
    assert LateLoop(robot).longest_delay_s(stiffness, damping) >= 0.014
