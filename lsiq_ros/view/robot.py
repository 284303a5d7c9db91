# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Show Atlas in motion: a window where there is a display, else a film."""

from __future__ import annotations

from collections.abc import Iterator
import os
from pathlib import Path
import sys
import time

from lsiq_core.errors import LsiqError, TaskError
from lsiq_core.shipped_files import find_file
from lsiq_core.types import names
from lsiq_ros.simulator.noisy_expert import load_expert
import mujoco
import numpy as np
from sim.atlas import AtlasConfig, AtlasEnv
from sim.atlas.readings import FORWARD, LATERAL, observation_terms, SPECS
from sim.atlas.render import Camera, RenderingUnavailable, write_mp4, write_strip

FRAMES_PER_S = 25  # in software a frame takes a fifth of a second
Motion = Iterator[None]  # each turn, the simulation has moved on by one control period


def motion(source: Path, *, seed: int, seconds: float) -> tuple[AtlasEnv, Motion]:
    """
    Set a robot up to be moved by what the file holds.

    :param source: an expert, a policy (or its directory), or states.
    :param seed: of the start; of a replay the number of the episode.
    :param seconds: how long at most.
    """
    source = find_file(str(source))
    if source.is_dir():
        source = find_file(str(source / 'policy.onnx'))
    steps = round(seconds * AtlasEnv.rate_hz)
    if source.suffix == '.npz':
        return _replay(source, seed, steps)
    import onnx

    facts = {item.key: item.value for item in onnx.load(str(source)).metadata_props}
    if facts.get('schema', '').startswith('lsiq_expert/'):
        return _walk_expert(source, seed, steps)
    return _run_policy(source, seed, steps)


def has_display() -> bool:
    """Return whether a window can be opened."""
    return sys.platform != 'linux' or bool(
        os.environ.get('DISPLAY') or os.environ.get('WAYLAND_DISPLAY')
    )


def show(env: AtlasEnv, steps: Motion) -> None:
    """Open the interactive viewer and move in real time until it is closed."""
    import mujoco.viewer

    with mujoco.viewer.launch_passive(env.model, env.data) as window:
        window.cam.type = mujoco.mjtCamera.mjCAMERA_TRACKING
        window.cam.trackbodyid = env.model.body('pelvis').id
        window.cam.distance = 4.0
        due = time.monotonic()
        for _ in steps:
            if not window.is_running():
                return
            window.sync()
            due += 1 / env.rate_hz
            time.sleep(max(0.0, due - time.monotonic()))
        while window.is_running():
            time.sleep(0.05)


def record(env: AtlasEnv, steps: Motion, film: Path, *, strip: Path | None, camera: str) -> None:
    """Write the motion as an mp4 and, where wanted, six of its frames as a PNG."""
    every = round(env.rate_hz / FRAMES_PER_S)
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


def _walk_expert(source: Path, seed: int, steps: int) -> tuple[AtlasEnv, Motion]:
    env = AtlasEnv(AtlasConfig(max_episode_steps=steps))
    controller = load_expert(source)

    def walk() -> Motion:
        controller.reset(env.reset(seed=seed))
        for _ in range(steps):
            fallen = env.step(controller.act(env.kinematic(), env.lateral_m)).terminated
            yield
            if fallen:
                return

    return env, walk()


def _run_policy(source: Path, seed: int, steps: int) -> tuple[AtlasEnv, Motion]:
    from lsiq_core.policy.artifact.reading import read_artifact
    from lsiq_core.policy.artifact.runtime import OnnxPolicy

    policy = OnnxPolicy(read_artifact(source))
    terms = tuple(term.name for term in policy.metadata.observation)
    env = _env_observing(source, terms, steps)

    def run() -> Motion:
        obs = env.reset(seed=seed)
        for _ in range(steps):
            obs, _, fallen, _ = env.step(policy(obs))
            yield
            if fallen:
                return

    return env, run()


def _replay(source: Path, episode: int, steps: int) -> tuple[AtlasEnv, Motion]:
    """Replay states; where the robot stands follows from its velocities."""
    from lsiq_core.data import demonstrations

    demos = demonstrations.load(source, with_actions=False)
    env = AtlasEnv()
    wanted = names(env.observation_terms)
    columns = {name: column for column, name in enumerate(demos.state_names)}
    missing = [name for name in wanted if name not in columns]
    if missing:
        raise TaskError(f'{source}: cannot show a pose without {missing}')
    span = list(demos.state_slices())[episode % demos.num_episodes]
    states = demos.states[span][:, [columns[name] for name in wanted]].astype(np.float64)

    def play() -> Motion:
        place = np.zeros(2)
        for state in states[:steps]:
            env.reset_to(state)
            env.data.qpos[[FORWARD, LATERAL]] = place
            mujoco.mj_forward(env.model, env.data)
            place += env.data.qvel[[FORWARD, LATERAL]] / env.rate_hz
            yield

    return env, play()


def _env_observing(source: Path, terms: tuple[str, ...], steps: int) -> AtlasEnv:
    for upper_body in (False, True):
        for spec in SPECS:
            config = AtlasConfig(spec, upper_body=upper_body, max_episode_steps=steps)
            if names(observation_terms(spec, config.model.joints)) == terms:
                return AtlasEnv(config)
    raise TaskError(
        f"{source}: observes {len(terms)} terms that are none of Atlas' own specs "
        f'({list(SPECS)}): {list(terms)[:5]}...'
    )
