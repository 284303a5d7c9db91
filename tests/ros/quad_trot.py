# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
Quad trots by a formula: PD targets of hips and knees over time, diagonal legs together.

Run as a program it writes the demonstrations in models/quad.
"""

from __future__ import annotations

from pathlib import Path

from lsiq_core.data.demonstrations import Demonstrations
from lsiq_core.robot import DEMOS, load_robot
from lsiq_core.types import names
import numpy as np
import numpy.typing as npt
from sim.walking import make_walking

Array = npt.NDArray[np.float64]
PERIOD_S = 0.4
SWING_RAD, LIFT_RAD = 0.16, 0.4


class Trot:
    """
    The targets of the next control period.

    :param joints: in the order of the command.
    :param rest_rad: the nominal pose, in the same order.
    :param phase: where in the cycle it begins, 0 to 1.
    """

    def __init__(self, joints: tuple[str, ...], rest_rad: Array, phase: float = 0.0) -> None:
        self._joints, self._rest, self._phase = joints, rest_rad, phase
        self._step = 1 / (PERIOD_S * load_robot('quad').control.rate_hz)

    def __call__(self) -> Array:
        """Return them, rad."""
        targets = self._rest.copy()
        for index, joint in enumerate(self._joints):
            leg, part = joint.split('_')
            angle = 2 * np.pi * (self._phase + (0.0 if leg in ('fl', 'rr') else 0.5))
            if part == 'hip':  # a positive angle moves the foot back
                targets[index] -= SWING_RAD * np.sin(angle)
            else:  # the foot is lifted while the hip swings forward
                targets[index] -= LIFT_RAD * max(0.0, np.cos(angle))
        self._phase = (self._phase + self._step) % 1.0
        return targets


def write_demos(path: Path, episodes: int = 8, seconds: float = 6.0) -> None:
    """Trot with more noise on the targets from episode to episode, and keep the states."""
    env, rng = (
        make_walking('quad', start='stand', max_episode_steps=10**6),
        np.random.default_rng(0),
    )
    states: list[Array] = []
    steps, warm_up = round(seconds * env.rate_hz), round(env.rate_hz)
    for episode in range(episodes):
        env.reset(seed=episode)
        trot = Trot(env.joints, env.robot.rest, phase=episode / episodes)
        noise_rad = 0.08 * episode / (episodes - 1)
        for number in range(warm_up + steps):
            step = env.step(trot() + noise_rad * rng.standard_normal(len(env.joints)))
            assert not step.terminated
            if number >= warm_up - 1:
                states.append(step.obs)
    Demonstrations(
        states=np.array(states, np.float32),
        episode_lengths=np.full(episodes, steps),
        terminated=np.zeros(episodes, bool),
        state_names=names(env.observation_terms),
        rate_hz=env.rate_hz,
        metadata={
            'task': 'quad',
            'observation': 'kinematic',
            'source': 'a trot by formula (tests/ros/quad_trot.py), up to 0.08 rad of noise',
        },
    ).save(path)


if __name__ == '__main__':
    write_demos(load_robot('quad').folder / DEMOS)
