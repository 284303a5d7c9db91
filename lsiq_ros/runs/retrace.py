# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
From a recording to demonstrations that the robot can do: smooth, follow, collect.

A recorded state is noisy or belongs to another body; put into the simulation it is another
contact and another torque. A tracker that follows the recording in simulation gives states that
follow each other by the robot's own dynamics, and the torques between them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
import time
from typing import Any

from lsiq_core.data.demonstrations import Demonstrations
from lsiq_core.robot import Randomisation, RobotSpec
from lsiq_core.types import Array, names
from lsiq_ros.runs.recording import Preparation, prepare
import numpy as np
from sim.robot import forward_speed_mps, kinematic_columns, MujocoRobot
from sim.tracking.collect import collect, CollectConfig
from sim.tracking.reference import gait_reference, Reference
from sim.tracking.report import read_curve_json, write_curve_json
from sim.tracking.tracking_env import AnswerTo
from sim.tracking.train import answers, TrackerConfig, TrackerRun

Log = Callable[[str], None]

CHECKPOINT, CURVE = 'tracker.safetensors', 'curve.jsonl'
_SAVE_EVERY_S = 60.0
_MOST_OUT_OF_REACH = 0.02  # of the time
_SAY_EVERY_S = 60.0
_MORE = 'lsiq demos retrace --minutes gives it more time'


@dataclass(frozen=True)
class RetraceConfig:
    """What is done to a recording."""

    preparation: Preparation = field(default_factory=Preparation)
    tracker: TrackerConfig = field(default_factory=TrackerConfig)
    collect: CollectConfig = field(default_factory=CollectConfig)


@dataclass(frozen=True)
class Listener:
    """Who hears how a long training goes, and may stop it."""

    log: Log = print
    """Takes sentences for a person."""
    show: Callable[[dict[str, float]], None] = lambda metrics: None
    """Takes the metrics of each round."""
    stopped: Callable[[], bool] = lambda: False
    """Asked after each round; then all is saved."""


def evaluated(metrics: dict[str, float]) -> str:
    """Say in one line how a tracker did in a round's evaluation; nothing of a round without."""
    if 'tracking/survived' not in metrics:
        return ''
    return (
        f'{metrics["steps"] / 1e6:5.2f} M  follows {metrics["tracking/survived"]:4.0%}  '
        f'joints {metrics["tracking/joint_error_rad"]:.3f} rad  '
        f'speed {metrics["tracking/drift_mps"]:.2f} m/s off  {metrics["minutes"]:.1f} min'
    )


class Lines:
    """Says how a tracker does: at each evaluation, and else once a minute."""

    def __init__(self, log: Log) -> None:
        """
        Begin.

        :param log: takes the lines.
        """
        self._log, self._said_at = log, time.monotonic()

    def __call__(self, metrics: dict[str, float]) -> None:
        """Take the metrics of a round."""
        said = evaluated(metrics)
        if not said and time.monotonic() - self._said_at > _SAY_EVERY_S:
            said = (
                f'{metrics["steps"] / 1e6:5.2f} M  loses the motion '
                f'{metrics["lost_per_s"]:.2f} times a second  {metrics["minutes"]:.1f} min'
            )
        if said:
            self._said_at = time.monotonic()
            self._log(f'tracker: {said}')


def worlds_of(spec: RobotSpec, randomise: bool = True) -> Randomisation | None:
    """Return how worlds differ by a robot's file, or None where they do not."""
    differs = randomise and spec.randomisation != Randomisation()
    return spec.randomisation if differs else None


def own_reference(spec: RobotSpec) -> Reference:
    """Return the gait of a robot's file."""
    return gait_reference(spec, MujocoRobot(spec, forces=False).joints)


def reference_of(
    demos: Demonstrations, spec: RobotSpec, config: RetraceConfig, log: Log
) -> Reference:
    """Make what the tracker follows of a recording."""
    episodes, cyclic = prepare(demos, spec, config.preparation, log)
    for sentence in out_of_reach(MujocoRobot(spec, forces=False), np.concatenate(episodes)):
        log(sentence)
    return Reference.of(episodes, spec.control.rate_hz, cyclic=cyclic)


def out_of_reach(robot: MujocoRobot, frames: Array) -> list[str]:
    """Say which joints a motion takes where no PD target can hold them."""
    if robot.action != 'pd_target':
        return []
    said = []
    positions = frames[:, kinematic_columns(frames.shape[1]).positions].T
    for joint, place, low, high in zip(
        robot.joints, positions, robot.action_low, robot.action_high
    ):
        if ((place < low) | (place > high)).mean() > _MOST_OUT_OF_REACH:
            said.append(
                f'{joint} goes from {place.min():.2f} to {place.max():.2f} rad, PD targets from '
                f'{low:.2f} to {high:.2f}: it cannot be followed; set control.target_range_rad, '
                f'or reset.pose_rad to a pose of the motion, in {robot.spec.path}'
            )
    return said


def train_tracker(
    spec: RobotSpec, reference: Reference, out: Path, config: TrackerConfig, listener: Listener
) -> TrackerRun | None:
    """
    Train a tracker until it tracks or its time is over.

    :param out: directory for the checkpoint; one that lies there is gone on with.
    :return: the run, or None where it was stopped.
    """
    run = TrackerRun(spec, reference, config)
    out.mkdir(parents=True, exist_ok=True)
    checkpoint = out / CHECKPOINT
    if checkpoint.is_file():
        run.restore(checkpoint)
        run.curve = read_curve_json(out / CURVE)
        listener.log(f'going on with the tracker of {checkpoint} at step {run.steps}')
    saved = run.seconds
    while not run.done:
        listener.show(run.iterate())
        if listener.stopped() or run.seconds - saved > _SAVE_EVERY_S:
            run.save(checkpoint)
            write_curve_json(run.curve, out / CURVE)
            saved = run.seconds
        if listener.stopped():
            listener.log(f'saved {checkpoint} at step {run.steps}; the same command goes on')
            return None
    run.save(checkpoint)
    run.finish()
    said = '' if run.tracking is None else f': {run.tracking.line}'
    verdict = 'it tracks' if run.follows else f'it does NOT track, its best is taken ({_MORE})'
    listener.log(
        f'tracker after {run.seconds / 60:.1f} minutes, {run.steps} steps{said}; {verdict}'
    )
    return run


def collected(
    answer: AnswerTo,
    spec: RobotSpec,
    reference: Reference,
    config: CollectConfig,
    metadata: dict[str, Any],
    *,
    observation: str = 'full',
    log: Log = print,
) -> Demonstrations:
    """
    Let an expert follow its reference and return what it did as demonstrations.

    :param metadata: what the file should say beside how it was collected.
    :param observation: what is kept, by name.
    """
    episodes, tried = collect(answer, spec, reference, config)
    log(f'{len(episodes)} episodes, {tried} were tried')
    robot = MujocoRobot(spec)
    states = np.concatenate([x.states for x in episodes]).astype(np.float32)
    observed = None
    if config.randomisation is not None:
        observed = np.concatenate([x.observed for x in episodes]).astype(np.float32)
    demos = Demonstrations(
        states=states,
        observed=observed,
        episode_lengths=np.array([len(x.actions) for x in episodes]),
        terminated=np.zeros(len(episodes), bool),
        actions=np.concatenate([x.actions for x in episodes]).astype(np.float32),
        returns=np.array([x.metric.sum() for x in episodes]),
        state_names=names(robot.terms('full')),
        action_names=names(robot.action_terms),
        rate_hz=spec.control.rate_hz,
        metadata={
            'task': spec.name,
            'observation': observation,
            'seed': config.seed,
            'noise': list(config.noise),
            'noise_of_episodes': [round(x.noise, 4) for x in episodes],
            **metadata,
        },
    )
    return demos.of_terms(names(robot.terms(observation)))


def retrace(
    demos: Demonstrations,
    spec: RobotSpec,
    out: Path,
    config: RetraceConfig,
    listener: Listener | None = None,
) -> Demonstrations | None:
    """
    Make feasible demonstrations of a recording.

    :param demos: the recording: states by name, no actions needed.
    :param spec: the robot.
    :param out: directory for the tracker; one that lies there is gone on with.
    :param config: what to do.
    :return: the demonstrations, or None where it was stopped.
    """
    listener = listener or Listener()
    reference = reference_of(demos, spec, config, listener.log)
    run = train_tracker(spec, reference, out, config.tracker, listener)
    if run is None or run.tracking is None:
        return None
    facts = {
        'source': f'retraced from {Path(demos.source).name}',
        'recording_sha256': demos.sha256,
        'tracking': run.tracking.metrics(),
        'speed_mps': forward_speed_mps(reference.frames),  # what returns are measured by
    }
    answer, collect = answers(run.learner.policy), config.collect
    if run.randomised:
        try:
            varied = replace(collect, randomisation=config.tracker.randomisation)
            return collected(answer, spec, run.reference, varied, facts, log=listener.log)
        except RuntimeError as error:
            listener.log(f'where worlds differ {error}; demonstrations of the bare world instead')
    return collected(answer, spec, run.reference, collect, facts, log=listener.log)
