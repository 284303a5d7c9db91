# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Replay a policy's golden traces on this machine and print its card."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lsiq_core.errors import ArtifactError
from lsiq_core.history import History
from lsiq_core.policy.artifact.metadata import PolicyMetadata
from lsiq_core.policy.artifact.reading import Artifact, read_artifact
from lsiq_core.policy.artifact.runtime import OnnxPolicy
import numpy as np
import numpy.typing as npt

TOLERANCE = 1e-5  # relative to the action's range and to the term's scale
Observe = Callable[[Sequence[str], dict[str, Any]], npt.NDArray[np.float64]]


@dataclass(frozen=True)
class Verification:
    """A policy that answered as it did where it was exported."""

    artifact: Artifact
    policy: OnnxPolicy
    action_error: float  # largest deviation of an action, relative to its range
    observation_error: float | None  # of the observation from raw readings; None: not replayed


def verify(
    path: Path | str, *, expected_sha256: str = '', observe: Observe | None = None
) -> Verification:
    """
    Check a policy file from end to end on this machine.

    :param path: the ``.onnx`` file.
    :param expected_sha256: refuse any other policy than this one.
    :param observe: turns term names and raw readings into an observation, as the robot will.
    """
    return verify_artifact(read_artifact(path, expected_sha256=expected_sha256), observe=observe)


def verify_artifact(artifact: Artifact, *, observe: Observe | None = None) -> Verification:
    """Replay the golden traces of a policy that was read already."""
    policy = OnnxPolicy(artifact)
    metadata = artifact.metadata
    low, high = (np.array(end) for end in metadata.action_range)
    action_error = 0.0
    for number, trace in enumerate(metadata.golden):
        answer = policy(np.array(trace.observation))
        error = float(np.max(np.abs(answer - np.array(trace.action)) / (high - low)))
        # Written so that a NaN answer is refused as well.
        if not error <= TOLERANCE:
            raise ArtifactError(
                f'{artifact.source}: golden trace {number} is off by {error:.2e} of the action '
                f'range on this machine, at most {TOLERANCE:.0e} is accepted'
            )
        action_error = max(action_error, error)
    observation_error = None if observe is None else _replay_raw(artifact, observe)
    return Verification(artifact, policy, action_error, observation_error)


def _replay_raw(artifact: Artifact, observe: Observe) -> float | None:
    metadata = artifact.metadata
    scale = np.maximum(np.abs([term.scale for term in metadata.observation]), 1e-6)
    errors = []
    for number, trace in enumerate(metadata.golden):
        if trace.raw is None:
            continue
        present = np.array(trace.observation[: len(scale)])
        off = np.abs(observe(metadata.observation_names, trace.raw) - present) / scale
        error = float(np.max(off))
        if not error <= TOLERANCE:
            worst = int(np.argmax(off))
            raise ArtifactError(
                f'{artifact.source}: raw reading {number} gives another observation than at '
                f'export, {metadata.observation_names[worst]} is off by {error:.2e} of its scale'
            )
        errors.append(error)
    return max(errors) if errors else None


def card(verification: Verification) -> str:
    """Return what a person wants to read about a policy before it drives a robot."""
    artifact, metadata = verification.artifact, verification.artifact.metadata
    raw = verification.observation_error
    lines = [
        f'policy        {artifact.source}  ({len(artifact.content) / 1024:.0f} KiB)',
        f'sha256        {artifact.sha256}',
        f'robot, task   {metadata.robot}, {metadata.task}',
        f'robot model   {metadata.robot_model_sha256 or "not recorded"}',
        f'demos         {metadata.demonstrations_sha256 or "not recorded"}',
        f'algorithm     {metadata.algorithm}',
        f'rate          {metadata.rate_hz:g} Hz',
        f'history       {_remembered(metadata.history)}',
        'answers       '
        + (
            'PD targets, closed at the command rate' if metadata.pd else 'torques, held in between'
        ),
        f'golden        {len(metadata.golden)} traces replayed, actions within '
        f'{verification.action_error:.1e} of their range, raw readings '
        + ('not replayed' if raw is None else f'within {raw:.1e} of their scale'),
    ]
    lines += [f'training      {key} = {value}' for key, value in metadata.training.items()]
    lines += [f'gate          {key} = {value:g}' for key, value in metadata.gate.items()]
    lines += [f'version       {key} {value}' for key, value in metadata.versions.items()]
    tables = ['', *_joint_table(metadata), '', *_term_table(metadata)]
    return '\n'.join(lines + _target_table(metadata) + tables)


def _remembered(history: History) -> str:
    if not history.remembers:
        return 'none: it sees the present observation'
    return (
        f'{history.length} observations, one every {history.every} steps, and its last '
        f'{history.actions} actions; begun with {history.initialisation}'
    )


def _joint_table(metadata: PolicyMetadata) -> list[str]:
    def limit(value: float | None) -> str:
        return '-' if value is None else f'{value:g}'

    head = f'{"joint":<20}{"effort [N m]":>18}{"[rad/s]":>10}{"position [rad]":>22}'
    return [head] + [
        f'{joint.name:<20}'
        f'{f"{joint.effort_low_nm:g} .. {joint.effort_high_nm:g}":>18}'
        f'{limit(joint.velocity_rad_s):>10}'
        f'{f"{limit(joint.position_low_rad)} .. {limit(joint.position_high_rad)}":>22}'
        for joint in metadata.joints
    ]


def _target_table(metadata: PolicyMetadata) -> list[str]:
    if not metadata.pd:
        return []
    head = f'{"joint":<20}{"target [rad]":>22}{"nominal":>10}{"stiffness":>11}{"damping":>9}'
    return ['', head] + [
        f'{joint.name:<20}{f"{target.low_rad:.4g} .. {target.high_rad:.4g}":>22}'
        f'{target.nominal_rad:>10.4g}{target.stiffness:>11.4g}{target.damping:>9.4g}'
        for joint, target in zip(metadata.joints, metadata.pd)
    ]


def _term_table(metadata: PolicyMetadata) -> list[str]:
    bounds = metadata.demonstration_bounds, metadata.training_bounds
    head = f'{"observation":<28}{"unit":<7}{"frame":<8}{"offset, scale":>18}'
    return [head + f'{"demonstrations":>20}{"training":>20}'] + [
        f'{term.name:<28}{term.unit:<7}{term.frame or "-":<8}'
        f'{f"{term.offset:.3g}, {term.scale:.3g}":>18}'
        + ''.join(f'{f"{b.low[i]:.3g} .. {b.high[i]:.3g}":>20}' for b in bounds)
        for i, term in enumerate(metadata.observation)
    ]
