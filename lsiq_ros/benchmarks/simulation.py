# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""How much of MuJoCo's own speed the task keeps."""

import time

from lsiq_core.types import Array
import mujoco
import numpy as np
from sim.walking import Walking, WalkingConfig

_EPISODE_STEPS = 30  # a robot without a policy walks no further; both sides restart alike


def bench(
    robot: str = 'atlas',
    config: WalkingConfig | None = None,
    *,
    rounds: int = 101,
    steps: int = 90,
    seed: int = 0,
) -> dict[str, float]:
    """
    Compare the task's steps with bare mj_step calls over the same motion.

    The two take turns, and what counts is this thread's own time on its core, so that other
    programs disturb both alike; medians count.
    """
    env = Walking(robot, config, seed=seed)
    frame = env.kinematic()
    torques = (
        0.02
        * env.action_high
        * np.random.default_rng(seed).standard_normal((_EPISODE_STEPS, len(env.joints)))
    )
    task, bare = [], []
    for _ in range(rounds):
        task.append(steps / _time_task(env, frame, torques, steps))
        bare.append(steps / _time_bare(env, frame, torques, steps))
    # Neighbouring turns are compared, so that a slow minute of the machine cancels out.
    ratios = np.array(task) / np.array(bare)
    return {
        'control_steps_per_s': float(np.median(task)),
        'bare_mj_step_per_s': float(np.median(bare)),
        'ratio': float(np.median(ratios)),
        'physics_steps_per_control_step': float(env.robot.substeps),
    }


def _time_task(env: Walking, frame: Array, torques: Array, steps: int) -> float:
    spent = 0.0
    for first in range(0, steps, _EPISODE_STEPS):
        env.reset_to(frame)
        started = time.thread_time()
        for torque in torques[: steps - first]:
            env.step(torque)
        spent += time.thread_time() - started
    return spent


def _time_bare(env: Walking, frame: Array, torques: Array, steps: int) -> float:
    model, data = env.model, mujoco.MjData(env.model)
    qpos, qvel = env.robot.split(frame)
    substeps, spent = env.robot.substeps, 0.0
    for first in range(0, steps, _EPISODE_STEPS):
        mujoco.mj_resetData(model, data)
        data.qpos[:], data.qvel[:] = qpos, qvel
        started = time.thread_time()
        for torque in torques[: steps - first]:
            data.ctrl[:] = torque
            mujoco.mj_step(model, data, substeps)
        spent += time.thread_time() - started
    return spent
