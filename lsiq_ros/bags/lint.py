# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Say plainly whether a bag can be trained on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from lsiq_ros.bags.base_samples import chain_samples, CHILD, choose_body, WORLD
from lsiq_ros.bags.episodes import find_windows, read_marks, Window
from lsiq_ros.bags.lint_joints import (
    AGREES,
    compare_velocity,
    judge_joint,
    Limits,
    report_joint,
    STILL,
)
from lsiq_ros.bags.lint_report import ERROR, Finding, JointReport, LintReport, WARNING
from lsiq_ros.bags.lint_topics import is_simulation_time, judge_topic, report_topic
from lsiq_ros.bags.samples import BagSamples, Samples, Track, track
from lsiq_ros.bags.timeline import choose_clock, find_breaks, HEADER, MAX_GAP_S, period_s, times_s
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class LintOptions:
    """What the bag is to be good for."""

    control_rate_hz: float = 100.0
    joints: tuple[str, ...] | None = None  # that must be there; all of the bag's if None
    soles: tuple[str, ...] = ()  # whose wrenches must be there
    needs_pelvis: bool = False
    pelvis_topic: str | None = None
    twist_frame: str = CHILD
    limits: Limits = field(default_factory=dict)
    max_gap_s: float = MAX_GAP_S


DEFAULTS = LintOptions()


def lint(samples: BagSamples, options: LintOptions = DEFAULTS) -> LintReport:
    """Look at the timing, the joints and the pelvis of a bag."""
    clock = choose_clock(samples)
    groups = _by_topic(samples)
    rate_hz = options.control_rate_hz
    topics = tuple(report_topic(samples, topic, found, rate_hz) for topic, found in groups.items())
    findings = [
        finding
        for topic in topics
        for finding in judge_topic(topic, rate_hz, is_simulation_time(groups[topic.topic]))
    ]
    findings += _judge_presence(samples, options)
    present = samples.joint_names()
    joints = present if options.joints is None else options.joints
    reports = []
    for joint in joints:
        if joint in present:
            path = track(samples, joint)
            reports.append(report_joint(joint, path, clock))
            findings += judge_joint(reports[-1], path, options.limits)
    pelvis = choose_body(samples, options.pelvis_topic)
    if pelvis is not None:
        pelvis_reports, pelvis_findings = lint_pelvis(pelvis, clock, options.twist_frame)
        reports += pelvis_reports
        findings += pelvis_findings
    return LintReport(
        bag=samples.source,
        trainable=not any(finding.severity == ERROR for finding in findings),
        duration_s=_duration_s(samples),
        control_rate_hz=options.control_rate_hz,
        clock=clock,
        episodes=_count_episodes(samples, episode_windows(samples, clock, options, reports)),
        topics=topics,
        joints=tuple(reports),
        findings=tuple(findings),
    )


def episode_windows(
    samples: BagSamples, clock: str, options: LintOptions, reports: Sequence[JointReport]
) -> list[Window]:
    """Find the episodes, trusting only velocities that agree with the positions."""
    honest = all(report.velocity in (AGREES, STILL) for report in reports)
    rate = 'velocity' if honest else None
    moving = [group for group in samples.joints if len(group.received_ns) > 1]
    pelvis = choose_body(samples, options.pelvis_topic)
    if pelvis is not None and len(pelvis.received_ns) > 1:
        moving.append(chain_samples(pelvis, options.twist_frame))
    breaks = [
        one
        for group in moving
        for one in find_breaks(
            group, clock, max_gap_s=options.max_gap_s, quantity='position', rate=rate
        )
    ]
    received = [group.received_ns for group in moving]
    if not received:
        return []
    first_ns = min(int(times.min()) for times in received)
    last_ns = max(int(times.max()) for times in received)
    marks = read_marks(samples.custom_data, samples.source)
    return find_windows(marks, first_ns, last_ns, breaks)


def _count_episodes(samples: BagSamples, windows: list[Window]) -> int:
    """Count the windows of at least half a second, by the clock of the joints."""
    if not samples.joints:
        return 0
    group = max(samples.joints, key=lambda one: len(one.received_ns))
    shortest = 0.5 / max(period_s(times_s(group, choose_clock(samples))), 1e-9)
    received = group.received_ns
    held = [np.sum((received >= w.first_ns) & (received <= w.last_ns)) for w in windows]
    return sum(int(count) >= shortest for count in held)


def lint_pelvis(
    body: Samples, clock: str, twist_frame: str
) -> tuple[list[JointReport], list[Finding]]:
    """Look at the pelvis as six joints, and at the frame of its twist."""
    findings = []
    length = np.linalg.norm(body.values['pose'][:, 3:7], axis=1)
    skewed = int(np.sum(~(np.abs(length - 1) < 0.02)))
    if skewed:
        text = f'{skewed} quaternions are not of length 1'
        findings.append(Finding(ERROR, 'quaternion', body.topic, text))
    chain = chain_samples(body, twist_frame)
    reports = [
        report_joint(name, _column(chain, column), clock)
        for column, name in enumerate(chain.columns)
    ]
    bad = sum(report.not_finite for report in reports)
    if bad:
        text = f'{bad} values of the pelvis are NaN or infinite'
        findings.append(Finding(ERROR, 'not_finite', body.topic, text))
    wrong = [report.joint for report in reports if report.velocity not in (AGREES, STILL)]
    if wrong and not np.any(body.values['twist']):
        text = 'the twist is empty; the import derives velocities from poses'
        findings.append(Finding(WARNING, 'no_twist', body.topic, text))
    elif wrong:
        findings.append(_explain_twist(body, clock, twist_frame, wrong))
    return reports, findings


def _explain_twist(body: Samples, clock: str, twist_frame: str, wrong: list[str]) -> Finding:
    other = WORLD if twist_frame == CHILD else CHILD
    chain = chain_samples(body, other)
    stamps = chain.stamp_ns if clock == HEADER else chain.received_ns
    times = (stamps - stamps[0]) / 1e9
    verdicts = [
        compare_velocity(times, chain.values['position'][:, k], chain.values['velocity'][:, k])
        for k in range(len(chain.columns))
    ]
    if all(verdict.verdict in (AGREES, STILL) for verdict in verdicts):
        text = f'the twist is given in the {other} frame: use --twist-frame {other}'
        return Finding(ERROR, 'twist_frame', body.topic, text)
    text = f'the twist disagrees with the differentiated pose in {wrong}'
    return Finding(ERROR, 'velocity', body.topic, text)


def _judge_presence(samples: BagSamples, options: LintOptions) -> list[Finding]:
    found = []
    present = samples.joint_names()
    if not present:
        found.append(Finding(ERROR, 'no_joints', samples.source, 'no joint states at all'))
    missing = [joint for joint in options.joints or () if joint not in present]
    if missing:
        text = f'joints {missing} are missing, found {list(present)}'
        found.append(Finding(ERROR, 'missing_joint', samples.source, text))
    for joint, topics in _duplicates(samples).items():
        text = f'comes more than once, on {topics}: choose topics with --topic'
        found.append(Finding(ERROR, 'duplicate_joint', joint, text))
    if options.needs_pelvis and not samples.bodies:
        text = 'no nav_msgs/Odometry of the pelvis, which the terms ask for'
        found.append(Finding(ERROR, 'no_pelvis', samples.source, text))
    for sole in options.soles:
        if find_wrench(samples, sole) is None:
            topics = [wrench.topic for wrench in samples.wrenches]
            text = f'no wrench on .../{sole}/wrench, found {topics}'
            found.append(Finding(ERROR, 'no_wrench', sole, text))
    return found


def find_wrench(samples: BagSamples, sole: str) -> Samples | None:
    """Return the wrench whose topic has the sole's name as one of its parts."""
    fitting = [one for one in samples.wrenches if sole in one.topic.split('/')]
    return fitting[0] if len(fitting) == 1 else None


def _duplicates(samples: BagSamples) -> dict[str, list[str]]:
    """Return joints that stand twice in one message or on two topics."""
    homes: dict[str, set[str]] = {}
    twice: dict[str, list[str]] = {}
    for group in samples.joints:
        for joint, times in Counter(group.columns).items():
            homes.setdefault(joint, set()).add(group.topic)
            if times > 1:
                twice[joint] = [group.topic]
    return twice | {joint: sorted(topics) for joint, topics in homes.items() if len(topics) > 1}


def _by_topic(samples: BagSamples) -> dict[str, list[Samples]]:
    groups: dict[str, list[Samples]] = {}
    for group in (*samples.joints, *samples.bodies, *samples.wrenches):
        groups.setdefault(group.topic, []).append(group)
    return groups


def _duration_s(samples: BagSamples) -> float:
    times = [g.received_ns for g in (*samples.joints, *samples.bodies, *samples.wrenches)]
    if not times:
        return 0.0
    return (max(int(t.max()) for t in times) - min(int(t.min()) for t in times)) / 1e9


def _column(chain: Samples, column: int) -> Track:
    values = {name: rows[:, column] for name, rows in chain.values.items()}
    return Track(chain.stamp_ns, chain.received_ns, values)
