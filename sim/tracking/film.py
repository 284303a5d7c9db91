# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""A film of the reference, left, and of the robot that follows it, right."""

from __future__ import annotations

from pathlib import Path

from lsiq_core.robot import RobotSpec
from lsiq_core.types import Array
import mujoco
import numpy as np
from sim.render import Camera, write_mp4, write_strip
from sim.robot import MujocoRobot
from sim.tracking.reference import Reference
from sim.tracking.tracking_env import AnswerTo, TrackingEnv

FRAMES_PER_S = 25


def write_film(
    answer: AnswerTo, spec: RobotSpec, reference: Reference, path: Path, *, seconds: float = 4.0
) -> None:
    """
    Follow the reference from its first frame; also write six frames as a PNG.

    :param path: of the mp4 file.
    """
    env = TrackingEnv(spec, reference, 1, seed=0, seconds=1e6)
    env.start_at(np.zeros(1, np.int64))
    robot = MujocoRobot(spec)  # the one that moves has nothing that is only drawn
    data = mujoco.MjData(robot.model)
    place = slice(robot.base_qpos, robot.base_qpos + 2)
    every = max(1, round(reference.rate_hz / FRAMES_PER_S))
    steps = round(min(seconds * reference.rate_hz, reference.remaining(env.rows)[0]))
    pictures = []
    with Camera(robot.model, width=360, height=480) as lens:

        def picture(qpos: Array) -> Array:
            data.qpos[:] = qpos
            mujoco.mj_forward(robot.model, data)
            return lens.frame(data)

        for step in range(steps):
            if step % every == 0:
                shown = robot.split(reference.frames[env.rows])[0][0]
                shown[place] = env.wanted_place_m[0]
                own = robot.split(env.state)[0][0]
                own[place] = env.place_m[0]
                pictures.append(np.concatenate((picture(shown), picture(own)), axis=1))
            said = answer(env.inputs())
            env.step(said.command, said.residual)
    env.batch.close()
    write_mp4(path, pictures, fps=FRAMES_PER_S)
    write_strip(path.with_suffix('.png'), pictures, columns=4)
