# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Film what a run has learned in one of Gymnasium's tasks."""

from pathlib import Path

from lsiq_core.history import remembering
from lsiq_core.policy.policies import load_policy, policy_function
from lsiq_core.training.rollouts import EVALUATION_SEED
from lsiq_ros.simulator.tasks import make_env
from sim.render import Camera, write_mp4

FRAMES_PER_S = 25
_WIDTH, _HEIGHT = 320, 240


def film_run(run: Path, film: Path, *, seconds: float = 8.0) -> None:
    """
    Write the first evaluation episode of the final policy as an mp4.

    :param run: a run directory of a Gym task, or one of its checkpoints.
    :param seconds: how long at most; a fall ends it.
    """
    learner, state, _ = load_policy(run)
    config = learner.config
    env = remembering(make_env(config.task, config.task_options), config.networks.history)
    act = policy_function(learner, state)
    half, centre = (env.action_high - env.action_low) / 2, (env.action_high + env.action_low) / 2
    every = max(1, round(env.rate_hz / FRAMES_PER_S))
    obs = env.reset(seed=EVALUATION_SEED)
    frames = []
    with Camera(env.model, width=_WIDTH, height=_HEIGHT, view='track') as lens:  # type: ignore[attr-defined]
        for number in range(round(seconds * env.rate_hz)):
            if number % every == 0:
                frames.append(lens.frame(env.data))  # type: ignore[attr-defined]
            obs, _, terminated, truncated = env.step(centre + half * act(obs))
            if terminated or truncated:
                break
    env.close()
    write_mp4(film, frames, fps=env.rate_hz / every)
