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
from dataclasses import dataclass, field
from pathlib import Path

from lsiq_core.data.demonstrations import Demonstrations
from lsiq_core.robot import RobotSpec
from lsiq_core.types import names
from lsiq_ros.runs.recording import Preparation, prepare
import numpy as np
from sim.robot import MujocoRobot
from sim.tracking.reference import Reference
from sim.tracking.retraced import collect_retraced, CollectConfig
from sim.tracking.train_tracker import evaluate, TrackerConfig, TrackerRun

Log = Callable[[str], None]

CHECKPOINT = 'tracker.safetensors'
_SAVE_EVERY_S = 60.0


@dataclass(frozen=True)
class RetraceConfig:
    """What is done to a recording."""

    preparation: Preparation = field(default_factory=Preparation)
    tracker: TrackerConfig = field(default_factory=TrackerConfig)
    collect: CollectConfig = field(default_factory=CollectConfig)


def reference_of(
    demos: Demonstrations, spec: RobotSpec, config: RetraceConfig, log: Log
) -> Reference:
    """Make what the tracker follows of a recording."""
    episodes = prepare(demos, spec, config.preparation, log)
    return Reference.of(episodes, spec.control.rate_hz, cyclic=config.preparation.loop)


def retrace(
    demos: Demonstrations,
    spec: RobotSpec,
    out: Path,
    config: RetraceConfig,
    *,
    log: Log = print,
    show: Callable[[dict[str, float]], None] = lambda metrics: None,
    stopped: Callable[[], bool] = lambda: False,
) -> Demonstrations | None:
    """
    Make feasible demonstrations of a recording.

    :param demos: the recording: states by name, no actions needed.
    :param spec: the robot.
    :param out: directory for the tracker; one that lies there is gone on with.
    :param config: what to do.
    :param log: takes sentences for a person.
    :param show: takes the metrics of each round of training.
    :param stopped: asked after each round; then all is saved and nothing returned.
    """
    reference = reference_of(demos, spec, config, log)
    run = TrackerRun(spec, reference, config.tracker)
    out.mkdir(parents=True, exist_ok=True)
    checkpoint = out / CHECKPOINT
    if checkpoint.is_file():
        run.restore(checkpoint)
        log(f'going on with the tracker of {checkpoint} at step {run.steps}')
    saved = run.seconds
    while not run.done:
        show(run.iterate())
        if stopped() or run.seconds - saved > _SAVE_EVERY_S:
            run.save(checkpoint)
            saved = run.seconds
        if stopped():
            log(f'saved {checkpoint} at step {run.steps}; the same command goes on')
            return None
    run.save(checkpoint)
    run.env.batch.close()
    policy = run.learner.policy
    tracking = evaluate(policy, spec, reference)
    log(f'tracker after {run.seconds / 60:.1f} minutes, {run.steps} steps: {tracking.line}')
    episodes, tried = collect_retraced(policy, spec, reference, config.collect)
    log(f'{len(episodes)} episodes kept to the reference, {tried} were tried')
    robot = MujocoRobot(spec)
    return Demonstrations(
        states=np.concatenate([x.states for x in episodes]).astype(np.float32),
        episode_lengths=np.array([len(x.actions) for x in episodes]),
        terminated=np.zeros(len(episodes), bool),
        actions=np.concatenate([x.actions for x in episodes]).astype(np.float32),
        returns=np.array([x.metric.sum() for x in episodes]),
        state_names=names(robot.terms(config.collect.observation)),
        action_names=names(robot.action_terms),
        rate_hz=spec.control.rate_hz,
        metadata={
            'robot': spec.name,
            'source': f'retraced from {Path(demos.source).name}',
            'recording_sha256': demos.sha256,
            'tracking': tracking.metrics(),
            'noise': list(config.collect.noise),
            'seed': config.collect.seed,
        },
        source=str(out),
    )
