# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Turn a bag into demonstrations."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lsiq_core.data.demonstrations import Demonstrations
from lsiq_core.types import Array
from lsiq_ros.bags.episodes import Window
from lsiq_ros.bags.errors import BagError
from lsiq_ros.bags.lint import find_wrench, lint_prepared, trusted_terms
from lsiq_ros.bags.lint_joints import ABSENT
from lsiq_ros.bags.lint_report import LintReport
from lsiq_ros.bags.prepare import account, find_episodes, prepare, Prepared, Wanted
from lsiq_ros.bags.resample import common_grid, cut, hold, interpolate, stamp_range_ns
from lsiq_ros.bags.samples import BagSamples, Stream, track
from lsiq_ros.bags.timeline import origin_ns
from lsiq_ros.wire.base import ANGLE_TERMS, POSE_TERMS, POSITION_TERMS, RATE_TERMS
from lsiq_ros.wire.observation import ObservationSpec
import numpy as np

AUTO, DERIVED = 'auto', 'derived'  # or recorded


@dataclass(frozen=True)
class ImportOptions(Wanted):
    """What to take from the bag, and how; joints and base count where no terms are given."""

    terms: tuple[str, ...] | None = None  # what the bag has: base, positions, velocities
    velocities: str = AUTO  # take the recorded ones, derive them where absent
    action_joints: tuple[str, ...] = ()  # whose efforts become actions; none by default
    force: bool = False  # import in spite of the linter's errors


@dataclass(frozen=True)
class ImportResult:
    """The demonstrations and what was seen on the way."""

    demonstrations: Demonstrations
    lint: LintReport
    derived: tuple[str, ...]  # velocities that were differentiated from positions
    too_short: int  # stretches left out
    used_s: float
    discarded_s: dict[str, float]  # reason -> how long


def import_samples(samples: BagSamples, options: ImportOptions) -> ImportResult:
    """Judge what was read, cut it into episodes, and resample."""
    path = Path(samples.source)
    terms = options.terms or available_terms(samples, options)
    if not terms:
        raise BagError(f'{path}: no joint states in it, nothing to import')
    spec = ObservationSpec(terms)
    joints = dict.fromkeys([*spec.position_joints, *spec.velocity_joints, *options.action_joints])
    wanted = replace(options, joints=tuple(joints), soles=tuple(spec.soles), base=spec.needs_base)
    prepared = prepare(samples, wanted)
    report = lint_prepared(samples, prepared, wanted)
    refuse_untrainable(report, options.force)
    streams = _streams(prepared, spec, wanted, report)
    windows, breaks = find_episodes(prepared, wanted, trusted_terms(report.joints))
    episodes = [_episode(streams, terms, window, options, report.clock) for window in windows]
    kept = [episode for episode in episodes if episode is not None]
    if not kept:
        raise BagError(
            f'{path}: no episode of at least {options.min_episode_s} s in which all of '
            f'{len(terms)} terms are known; found {len(windows)} shorter stretches'
        )
    used = [None if e is None else (len(e.states) - 1) / options.rate_hz for e in episodes]
    discarded = account(prepared, windows, breaks, used)
    derived = tuple(term for stream in streams for term in stream.derive)
    used_s = sum(seconds for seconds in used if seconds is not None)
    metadata = {
        'source': samples.custom_data.get('lsiq_source', path.name),
        'bag': path.name,
        'clock': report.clock,
        'derived_velocities': list(derived),
        'lint_errors_passed_over': [error.code for error in report.errors()],
        'recorded_rate_hz': {topic.topic: topic.rate_hz for topic in report.topics},
        'discarded_s': {reason: round(seconds, 3) for reason, seconds in discarded.items()},
    }
    demos = _demonstrations(path, terms, options, kept, metadata)
    return ImportResult(demos, report, derived, len(episodes) - len(kept), used_s, discarded)


def available_terms(samples: BagSamples, options: ImportOptions) -> tuple[str, ...]:
    """Return the terms of a bag without a robot: the base if it is there, and the joints."""
    joints = options.joints or samples.joint_names()
    with_base = options.base is not False and bool(joints) and bool(samples.odometry)
    return (
        *(POSE_TERMS if with_base else ()),
        *(f'{joint}/position' for joint in joints),
        *(RATE_TERMS if with_base else ()),
        *(f'{joint}/velocity' for joint in joints),
    )


def refuse_untrainable(report: LintReport, force: bool) -> None:
    """Raise with the linter's errors unless they are to be passed over."""
    errors = report.errors()
    if errors and not force:
        listed = '; '.join(f'{error.where}: {error.message}' for error in errors[:5])
        more = f' and {len(errors) - 5} more' if len(errors) > 5 else ''
        raise BagError(
            f'{report.bag}: cannot be trained on: {listed}{more}. `lsiq demos lint` says more, '
            '--force imports all the same'
        )


def _streams(
    prepared: Prepared, spec: ObservationSpec, options: ImportOptions, report: LintReport
) -> list[Stream]:
    samples = prepared.samples
    verdicts = {joint.joint: joint.velocity for joint in report.joints}
    streams = []
    for joint in options.joints or ():
        path = track(samples, joint)
        columns = {f'{joint}/position': path.values['position']}
        derive = {}
        if joint in spec.velocity_joints:
            columns[f'{joint}/velocity'] = path.values['velocity']
            if _is_derived(options, verdicts[joint] == ABSENT):
                derive[f'{joint}/velocity'] = f'{joint}/position'
        if joint in options.action_joints:
            columns[f'{joint}/effort'] = path.values['effort']
            if not np.all(np.isfinite(path.values['effort'])):
                raise BagError(f'{samples.source}: joint {joint!r} has no efforts for actions')
        streams.append(Stream(path.stamp_ns, path.received_ns, columns, derive))
    if spec.needs_base:
        streams.append(_base_stream(prepared, options))
    for sole in spec.soles:
        wrench = find_wrench(samples, sole)
        if wrench is None:
            raise BagError(f'{samples.source}: no wrench of {sole}')
        forces = wrench.values['wrench'][:, :3]
        columns = {f'{sole}/force_{axis}': forces[:, k] for k, axis in enumerate('xyz')}
        streams.append(Stream(wrench.stamp_ns, wrench.received_ns, columns, {}))
    return streams


def _is_derived(options: ImportOptions, absent: bool) -> bool:
    return options.velocities == DERIVED or (options.velocities == AUTO and absent)


def _base_stream(prepared: Prepared, options: ImportOptions) -> Stream:
    base = prepared.base
    if base is None:
        raise BagError(f'{prepared.samples.source}: no nav_msgs/Odometry of the base')
    columns = dict(zip(POSITION_TERMS, base.values['position'].T))
    columns |= dict(zip(RATE_TERMS, base.values['velocity'].T))
    twist = prepared.samples.odometry[0].values['twist']
    derived = _is_derived(options, not np.any(twist))
    derive = dict(zip(RATE_TERMS, POSITION_TERMS)) if derived else {}
    return Stream(base.stamp_ns, base.received_ns, columns, derive)


@dataclass(frozen=True)
class _Episode:
    states: Array  # [T+1, D]
    actions: Array | None  # [T, A]
    terminated: bool


def _episode(
    streams: list[Stream],
    terms: Sequence[str],
    window: Window,
    options: ImportOptions,
    clock: str,
) -> _Episode | None:
    origin = origin_ns(streams, clock)
    stamps_ns = stamp_range_ns(streams, window)
    pieces = []
    for stream in streams:
        piece = cut(stream, window, clock, origin, stamps_ns)
        if piece is None:
            return None
        pieces.append(piece)
    grid = common_grid(pieces, options.rate_hz, from_end=window.terminated)
    shortest = max(1, round(options.min_episode_s * options.rate_hz))
    if len(grid) < shortest + 1:
        return None
    actions = None
    if options.action_joints:
        efforts = [f'{joint}/effort' for joint in options.action_joints]
        actions = hold(pieces, efforts, grid[:-1])
    states = interpolate(pieces, terms, grid)
    for column in [k for k, term in enumerate(terms) if term in ANGLE_TERMS]:
        # Angles run on past pi within an episode, but every episode begins in the first turn.
        states[:, column] -= 2 * np.pi * np.round(states[0, column] / (2 * np.pi))
    return _Episode(states, actions, window.terminated)


def _demonstrations(
    path: Path,
    terms: tuple[str, ...],
    options: ImportOptions,
    episodes: list[_Episode],
    metadata: dict[str, Any],
) -> Demonstrations:
    demos = Demonstrations(
        states=np.concatenate([episode.states for episode in episodes]),
        episode_lengths=np.array([len(episode.states) - 1 for episode in episodes]),
        terminated=np.array([episode.terminated for episode in episodes]),
        state_names=terms,
        rate_hz=options.rate_hz,
        metadata=metadata,
        source=str(path),
    )
    if not options.action_joints:
        return demos
    return replace(
        demos,
        actions=np.concatenate([e.actions for e in episodes if e.actions is not None]),
        action_names=tuple(f'{joint}/effort' for joint in options.action_joints),
    )


def merge(parts: Sequence[Demonstrations]) -> Demonstrations:
    """
    Put the episodes of several sets one behind the other, terms matched by name.

    Actions stay only if all have them.
    """
    first = parts[0]
    for part in parts[1:]:
        missing = sorted(set(first.state_names) ^ set(part.state_names))
        if missing:
            raise BagError(f'{part.source}: {missing} are in it or in {first.source}, not in both')
        if part.rate_hz != first.rate_hz:
            raise BagError(
                f'{part.source}: {part.rate_hz:g} Hz, {first.source} has {first.rate_hz:g} Hz'
            )
    parts = [part.of_terms(first.state_names) for part in parts]
    acting = all(part.action_names == first.action_names for part in parts)
    actions = [part.actions for part in parts if part.actions is not None and acting]
    known = [part.returns for part in parts if part.returns is not None]
    seen = [part.observed for part in parts if part.observed is not None]
    whole = len(actions) == len(parts)
    return replace(
        first,
        states=np.concatenate([part.states for part in parts]),
        observed=np.concatenate(seen) if len(seen) == len(parts) else None,
        episode_lengths=np.concatenate([part.episode_lengths for part in parts]),
        terminated=np.concatenate([part.terminated for part in parts]),
        actions=np.concatenate(actions) if whole else None,
        action_names=first.action_names if whole else (),
        returns=np.concatenate(known) if len(known) == len(parts) else None,
        metadata={**first.metadata, 'merged': [part.source for part in parts]},
        source=', '.join(part.source for part in parts),
    )
