# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
Before a run: are its demonstrations feasible, and what is done where they are not.

A recording of a robot is retraced, if the run may (``auto``). Otherwise nothing that resets to
a recorded state is trusted: the inverse dynamics model learns online, as in the paper, and no
found action is cloned.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
import os
from pathlib import Path
from typing import NamedTuple

from lsiq_core.config import RunConfig
from lsiq_core.data.demonstrations import Demonstrations
from lsiq_core.data.minari_dataset import PREFIX
from lsiq_core.data.smoothing import noise_level
from lsiq_core.env import StartsAnywhere
from lsiq_core.learning.feasibility import Feasibility, judge
from lsiq_core.robot import is_robot, load_robot, RobotSpec
from lsiq_core.shipped_files import find_file
from lsiq_core.types import names
from lsiq_ros.runs.recording import (
    foot_heights,
    kinematic_episodes,
    open_recording,
    resampled,
)
from lsiq_ros.runs.setup import RunSetup, write_setup
from lsiq_ros.runs.tasks import load_demos
from lsiq_ros.simulator.tasks import make_env
import numpy as np
from sim.robot import kinematic_columns, MujocoRobot, observation_terms

Log = Callable[[str], None]
AUTO, ALWAYS, NEVER = 'auto', 'always', 'never'
RETRACED, TRACKER = 'retraced.npz', 'tracker'  # in the run directory


class Judgement(NamedTuple):
    """What is said of a recording."""

    feasibility: Feasibility
    text: str


def judge_recording(demos: Demonstrations, spec: RobotSpec) -> Judgement:
    """Judge a recording of a robot by its kinematics, at the robot's own rate."""
    robot = MujocoRobot(spec, forces=False)
    rate_hz = spec.control.rate_hz
    recorded = kinematic_episodes(demos, robot)
    episodes = [resampled(frames, demos.rate_hz or rate_hz, rate_hz) for frames in recorded]
    kinematic = Demonstrations(
        states=np.concatenate(episodes).astype(np.float32),
        episode_lengths=np.array([len(frames) - 1 for frames in episodes]),
        terminated=np.zeros(len(episodes), bool),
        state_names=names(robot.terms('kinematic')),
        rate_hz=rate_hz,
        source=demos.source,
    )
    found = judge(make_env(str(spec.path), {'observation': 'kinematic'}), kinematic)
    text = f'the best action explains {found.explained:.0%} of {found.tried} recorded steps'
    if found.exact:
        return Judgement(found, f'{text}: resets are exact, it can be trained on as it is')
    columns = kinematic_columns(robot.kinematic_size)
    noise, of_velocity = (
        float(np.median([noise_level(frames[:, k]) for frames in recorded for k in chosen]))
        for chosen in (
            range(columns.positions.start, columns.positions.stop),
            range(columns.velocities.start, columns.velocities.stop),
        )
    )
    height = 1e3 * foot_heights(robot, episodes)
    return Judgement(
        found,
        f'{text}, one is missed by {found.miss:.0%} of a step (noise about {1e3 * noise:.2g} mrad '
        f'and {of_velocity:.2g} rad/s; the lowest foot is {np.percentile(height, 5):+.0f} to '
        f'{np.percentile(height, 95):+.0f} mm above the floor). Retrace it',
    )


def ready(
    run: Path,
    setup: RunSetup,
    *,
    log: Log,
    stopped: Callable[[], bool] = lambda: False,
) -> tuple[RunSetup, Demonstrations] | None:
    """
    Return what a new run begins with: feasible demonstrations, or settings that need none.

    :param run: the run directory; what is retraced is kept there.
    :param setup: the settings, the demonstrations, and whether they may be retraced.
    :param log: takes sentences for a person.
    :param stopped: asked while a tracker is trained; then all is saved and nothing returned.
    """
    config, task = setup.config, setup.config.task
    if (run / RETRACED).is_file():  # stopped after it
        return _from_retraced(run, setup)
    if is_robot(task) and setup.demos is not None and not setup.demos.startswith(PREFIX):
        spec = load_robot(task)
        demos = open_recording(find_file(setup.demos), spec, log)
        demos = demos if setup.episodes is None else demos.first(setup.episodes)
        if demos.observed is not None and demos.actions is not None:
            return setup, demos  # collected where worlds differ: no other world explains it
        for sentence in shown_falls(demos, spec):
            log(sentence)
        found = judge_recording(demos, spec)
        exact = found.feasibility.exact
        shown_s = demos.num_transitions / (demos.rate_hz or spec.control.rate_hz)
        retracing = setup.retrace == ALWAYS or (
            setup.retrace == AUTO and not (exact and shown_s >= ENOUGH_S)
        )
        advice = '' if retracing or exact else f' ({_ADVICE})'
        log(f'{demos.source}: {found.text}{advice}.')
        if exact and shown_s < ENOUGH_S:
            said = 'it is retraced' if retracing else _ADVICE
            log(f'{shown_s:.0f} s are few, a tracker shows more ways to recover: {said}')
        if retracing:
            return _retraced(run, setup, demos, spec, log, stopped)
        return setup._replace(config=trusting(config, found.feasibility, log)), demos
    demos = load_demos(setup.demos, task, episodes=setup.episodes)
    if config.observations_only and config.pretraining.refine:
        env = make_env(task, config.task_options)
        if isinstance(env, StartsAnywhere):
            setup = setup._replace(config=trusting(config, judge(env, demos), log))
        env.close()
    return setup, demos


# Of clean motion. Atlas from states as they are: 1,000 s walk in 57 of 60 episodes, 250 s in 47,
# 50 s in none; 50 s that were retraced in 19 of 20 (docs/recordings.md).
ENOUGH_S = 500.0
_PHYSICS_THREADS = min(2, os.cpu_count() or 1)
_ALL = 0.9  # share of explained steps above which found actions are as good as true ones
_MOST_FALLEN = 0.005  # of the recorded states
_ADVICE = 'lsiq demos retrace, or train with --retrace auto'


def shown_falls(demos: Demonstrations, spec: RobotSpec) -> list[str]:
    """Say where the motion itself is what the robot's file calls a fall."""
    bounds = spec.task.fall.bounds()
    frames = np.concatenate(kinematic_episodes(demos, MujocoRobot(spec, forces=False)))
    pose = frames[:, : len(bounds.low)].copy()
    pose[:, -1] = 0.0  # the heading is turned away
    fallen = float((~bounds.contain(pose)).mean())
    if fallen <= _MOST_FALLEN:
        return []
    lean = np.arccos((np.cos(pose[:, 1]) * np.cos(pose[:, 2])).min())
    return [
        f'{demos.source}: {fallen:.0%} of the recorded states are falls by task.fall of '
        f'{spec.path} (the base is {pose[:, 0].min():.2f} to {pose[:, 0].max():.2f} m high '
        f'and leans up to {lean:.2f} rad): each ends an episode there. Widen task.fall, '
        'and gate with it'
    ]


def trusting(config: RunConfig, found: Feasibility, log: Log) -> RunConfig:
    """Return settings that trust found actions only where resets are exact."""
    if not config.observations_only or not config.pretraining.refine:
        return config
    if found.exact:
        if found.explained > _ALL or not config.bc.weight:
            return config
        log(f'{found.explained:.0%} of the steps are explained: cloning weighs as much less')
        return replace(config, bc=replace(config.bc, weight=config.bc.weight * found.explained))
    log(
        f'resets are not exact ({found.explained:.0%} of {found.tried} steps explained): actions '
        'are not refined and not cloned, the inverse dynamics model learns online'
    )
    return replace(
        config,
        idm=replace(config.idm, online=True),
        pretraining=replace(config.pretraining, refine=False),
        bc=replace(config.bc, pretrain_updates=0, weight=0.0),
    )


def _retraced(
    run: Path,
    setup: RunSetup,
    demos: Demonstrations,
    spec: RobotSpec,
    log: Log,
    stopped: Callable[[], bool],
) -> tuple[RunSetup, Demonstrations] | None:
    """Follow the recording, and let the run learn from what follows it."""
    from lsiq_ros.runs.retrace import Lines, Listener, retrace, RetraceConfig, worlds_of

    run.mkdir(parents=True, exist_ok=True)
    write_setup(run, setup)  # so that it can be continued

    listener = Listener(log=log, show=Lines(log), stopped=stopped)
    config = RetraceConfig()
    worlds = worlds_of(spec, setup.config.collection.randomise)
    config = replace(
        config, tracker=replace(config.tracker, randomisation=worlds, threads=_PHYSICS_THREADS)
    )
    retraced = retrace(demos, spec, run / TRACKER, config, listener)
    if retraced is None:
        return None
    if 'observation' in setup.config.task_options:  # else the task observes what is there
        terms = observation_terms(spec, setup.config.task_options['observation'])
        retraced = retraced.of_terms(names(terms))
    retraced.save(run / RETRACED, actions_apart=True)
    log(f'{run / RETRACED}: {retraced.num_episodes} episodes to learn from')
    return _from_retraced(run, setup)


def _from_retraced(run: Path, setup: RunSetup) -> tuple[RunSetup, Demonstrations]:
    """Let a run learn from what the tracker did; its actions are the simulation's own."""
    file, collection = str(run / RETRACED), setup.config.collection
    # Episodes start in this motion: the stride that a robot's file knows may be another gait's.
    start = {'start': str((run / RETRACED).resolve())}
    config = replace(
        setup.config,
        observations_only=False,
        task_options={**setup.config.task_options, **start},
        collection=replace(collection, task_options={**collection.task_options, **start}),
    )
    return RunSetup(config, file, episodes=None, retrace=NEVER), load_demos(file, config.task)
