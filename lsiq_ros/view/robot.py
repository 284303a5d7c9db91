# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Show a robot in motion: a window where there is a display, else a film."""

from collections.abc import Iterator
import os
from pathlib import Path
import re
import sys
import time

from lsiq_core.errors import LsiqError, TaskError
from lsiq_core.policy.artifact.metadata import PolicyMetadata
from lsiq_core.robot import load_robot, RobotSpec
from lsiq_core.shipped_files import find_file
from lsiq_core.types import names
from lsiq_ros.simulator.noisy_expert import is_expert, load_expert
import mujoco
import numpy as np
import numpy.typing as npt
from sim.render import Camera, RenderingUnavailable, write_mp4, write_strip
from sim.robot import observation_terms
from sim.walking import Walking, WalkingConfig

Array = npt.NDArray[np.float64]
DEFAULT_ROBOT = 'atlas'  # of files that name none
FRAMES_PER_S = 25  # in software a frame takes a fifth of a second
Motion = Iterator[None]  # each turn, the simulation has moved on by one control period


def motion(source: Path, *, seed: int, seconds: float, robot: str = '') -> tuple[Walking, Motion]:
    """
    Set a robot up to be moved by what the file holds.

    :param source: an expert, a policy (or its directory), or states.
    :param robot: by name or path; empty takes the one that the file names.
    :param seed: of the start; of a replay the number of the episode.
    """
    source = find_file(str(source))
    if source.is_dir():
        source = find_file(str(source / 'policy.onnx'))
    if source.suffix == '.npz':
        return _replay(source, robot, seed, seconds)
    if is_expert(source):
        return _walk_expert(source, load_robot(robot or DEFAULT_ROBOT), seed, seconds)
    return _run_policy(source, robot, seed, seconds)


def has_display() -> bool:
    """Return whether a window can be opened."""
    return sys.platform != 'linux' or bool(
        os.environ.get('DISPLAY') or os.environ.get('WAYLAND_DISPLAY')
    )


def show(env: Walking, steps: Motion) -> None:
    """Open the interactive viewer and move in real time until it is closed."""
    import mujoco.viewer

    with mujoco.viewer.launch_passive(env.model, env.data) as window:
        window.cam.type = mujoco.mjtCamera.mjCAMERA_TRACKING
        window.cam.trackbodyid = env.model.body(env.spec.base.body).id
        window.cam.distance = 2.0 * env.model.stat.extent
        due = time.monotonic()
        for _ in steps:
            if not window.is_running():
                return
            window.sync()
            due += 1 / env.rate_hz
            time.sleep(max(0.0, due - time.monotonic()))
        while window.is_running():
            time.sleep(0.05)


def record(env: Walking, steps: Motion, film: Path, *, strip: Path | None, camera: str) -> None:
    """Write the motion as an mp4 and, where wanted, six of its frames as a PNG."""
    every = max(1, round(env.rate_hz / FRAMES_PER_S))
    try:
        with Camera(env.model, view=camera) as lens:
            frames = [lens.frame(env.data) for i, _ in enumerate(steps) if i % every == 0]
        film.parent.mkdir(parents=True, exist_ok=True)
        write_mp4(film, frames, fps=FRAMES_PER_S)
    except RenderingUnavailable as error:
        raise LsiqError(str(error)) from error
    if strip is not None:
        strip.parent.mkdir(parents=True, exist_ok=True)
        stride = frames[: round(1.1 * FRAMES_PER_S)] if len(frames) > 50 else frames
        write_strip(strip, [frame[:, 140:500] for frame in stride])


def _walk_expert(
    source: Path, robot: RobotSpec, seed: int, seconds: float
) -> tuple[Walking, Motion]:
    steps = round(seconds * robot.control.rate_hz)
    env = Walking(robot, WalkingConfig(max_episode_steps=steps))
    controller = load_expert(source, robot)

    def walk() -> Motion:
        controller.reset(env.reset(seed=seed), env.place_m)
        for _ in range(steps):
            fallen = env.step(controller.act(env.kinematic(), env.place_m).command).terminated
            yield
            if fallen:
                return

    return env, walk()


def _run_policy(source: Path, robot: str, seed: int, seconds: float) -> tuple[Walking, Motion]:
    from lsiq_core.policy.artifact.reading import read_artifact
    from lsiq_core.policy.artifact.runtime import OnnxPolicy

    policy = OnnxPolicy(read_artifact(source))
    terms = policy.metadata.observation_names
    spec = driven_by(load_robot(robot or policy.metadata.robot), policy.metadata)
    steps = round(seconds * spec.control.rate_hz)
    env, columns = _env_observing(source, spec, terms, steps)
    starts, memory = golden_starts(policy.metadata, spec), policy.memory()

    def run() -> Motion:
        obs = env.reset(seed=seed)
        if starts is not None:
            obs = env.reset_to(starts[seed % len(starts)])
        for _ in range(steps):
            answer = policy(memory.see(obs[columns]))
            memory.did(answer)
            obs, _, fallen, _ = env.step(answer)
            yield
            if fallen:
                return

    return env, run()


def golden_starts(policy: PolicyMetadata, spec: RobotSpec) -> Array | None:
    """
    Return the states of a policy's golden traces where the robot's file knows no stride, [F, D].

    From standing nobody catches a walk; the policy's file knows states of one.
    """
    observed, wanted = policy.observation_names, names(observation_terms(spec, 'kinematic'))
    if spec.reset.frames is not None or not policy.golden or not set(wanted) <= set(observed):
        return None
    columns = [observed.index(name) for name in wanted]
    return np.array([trace.observation for trace in policy.golden])[:, columns]


def driven_by(spec: RobotSpec, policy: PolicyMetadata) -> RobotSpec:
    """Return a robot that takes what the policy answers, with the policy's own gains."""
    joints = [re.escape(name) for name in policy.joint_names]
    control = {
        'action': policy.action,
        'stiffness': {joint: pd.stiffness for joint, pd in zip(joints, policy.pd)},
        'damping': {joint: pd.damping for joint, pd in zip(joints, policy.pd)},
    }
    return spec.model_copy(update={'control': spec.control.model_copy(update=control)})


def _replay(source: Path, robot: str, episode: int, seconds: float) -> tuple[Walking, Motion]:
    """Replay states; where the robot stands follows from its velocities."""
    from lsiq_core.data import demonstrations

    demos = demonstrations.load(source, with_actions=False)
    env = Walking(load_robot(robot or str(demos.metadata.get('task') or DEFAULT_ROBOT)))
    span = list(demos.state_slices())[episode % demos.num_episodes]
    states = demos.of_terms(names(env.observation_terms)).states[span].astype(np.float64)
    # What was written down more often than the robot is commanded would play in slow motion.
    states = states[:: max(1, round((demos.rate_hz or env.rate_hz) / env.rate_hz))]
    qpos, qvel = env.robot.base_qpos, env.robot.base_qvel

    def play() -> Motion:
        place = np.zeros(2)
        for state in states[: round(seconds * env.rate_hz)]:
            env.reset_to(state)
            env.data.qpos[qpos : qpos + 2] = place
            mujoco.mj_forward(env.model, env.data)
            place += env.data.qvel[qvel : qvel + 2] / env.rate_hz
            yield

    return env, play()


def _env_observing(
    source: Path, spec: RobotSpec, terms: tuple[str, ...], steps: int
) -> tuple[Walking, list[int]]:
    """Return the robot and which of its readings a policy takes, in the policy's order."""
    for observation in ('kinematic', 'full'):
        env = Walking(spec, WalkingConfig(observation, max_episode_steps=steps))
        at = {name: column for column, name in enumerate(names(env.observation_terms))}
        missing = [term for term in terms if term not in at]
        if not missing:
            return env, [at[term] for term in terms]
    raise TaskError(f'{source}: observes what {spec.name} does not read: {missing}')
