# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Say plainly whether a bag can be trained on."""

from collections import Counter
from collections.abc import Sequence

from lsiq_ros.bags.base_samples import base_readings, CHILD, WORLD
from lsiq_ros.bags.episodes import read_marks, Window
from lsiq_ros.bags.lint_joints import (
    AGREES,
    compare_velocity,
    judge_joint,
    LITTLE,
    report_joint,
    SLIGHT,
    STILL,
)
from lsiq_ros.bags.lint_report import ERROR, Finding, JointReport, LintReport, NOTE, WARNING
from lsiq_ros.bags.lint_topics import is_simulation_time, judge_topic, report_topic
from lsiq_ros.bags.prepare import account, find_episodes, prepare, Prepared, Wanted
from lsiq_ros.bags.samples import BagSamples, Samples, Track, track
from lsiq_ros.bags.timeline import Break, HEADER, JUMP
import numpy as np

NOISE_RAD, NOISE_RAD_S = 1e-3, 0.2  # more than this, of most joints, is said
# Of a joint's samples; more is a broken sensor. Light ankles strike in 1.7 %.
MOST_SPIKES = 0.03
MOST_FROZEN = 0.2  # of the time
HEIGHT_DRIFT_M, HEIGHT_DRIFT_M_S = 0.1, 0.02  # of the base within an episode on a level floor
SHIFT_MS = 20.0  # between the delays of joints and base
LOCKED_RAD = 0.1  # a joint that the robot holds moves less than this
WANT_ALL = Wanted()


def lint(samples: BagSamples, wanted: Wanted = WANT_ALL) -> LintReport:
    """Look at the timing, the joints and the base of a bag."""
    return lint_prepared(samples, prepare(samples, wanted), wanted)


def lint_prepared(samples: BagSamples, prepared: Prepared, wanted: Wanted) -> LintReport:
    """Look at a bag of which what is wanted was picked out already."""
    groups: dict[str, list[Samples]] = {}
    for group in samples.groups:
        groups.setdefault(group.topic, []).append(group)
    rate_hz = wanted.rate_hz
    topics = tuple(report_topic(samples, topic, found, rate_hz) for topic, found in groups.items())
    findings = [
        finding
        for topic in topics
        for finding in judge_topic(topic, rate_hz, is_simulation_time(groups[topic.topic]))
    ]
    findings += _judge_presence(samples, wanted)
    reports = []
    for joint in prepared.samples.joint_names():
        path = track(prepared.samples, joint)
        reports.append(_report(joint, path, prepared))
        findings += judge_joint(reports[-1], path, wanted.limits)
        findings += _judge_signal(reports[-1], prepared)
    findings += _judge_noise(reports)
    findings += _judge_locked(samples, wanted)
    if prepared.base is not None:
        base_reports, base_findings = _lint_base(prepared, wanted.twist_frame)
        reports += base_reports
        findings += base_findings
        findings += _judge_shift(prepared)
    windows, breaks = find_episodes(prepared, wanted, trusted_terms(reports))
    findings += _judge_jumps(prepared, breaks)
    used = [_usable_s(prepared, window, wanted.min_episode_s) for window in windows]
    findings += _judge_height(prepared, [w for w, held in zip(windows, used) if held is not None])
    return LintReport(
        bag=samples.source,
        robot=wanted.robot,
        trainable=not any(finding.severity == ERROR for finding in findings),
        duration_s=_duration_s(prepared),
        control_rate_hz=wanted.rate_hz,
        clock=prepared.clock,
        episodes=sum(held is not None for held in used),
        usable_s=sum(held for held in used if held is not None),
        discarded_s=account(prepared, windows, breaks, used),
        topics=topics,
        joints=tuple(reports),
        findings=tuple(findings),
    )


def trusted_terms(reports: Sequence[JointReport]) -> list[str]:
    """Return the joints whose velocities agree with their positions, or do not matter."""
    return [report.joint for report in reports if report.velocity in (AGREES, STILL, SLIGHT)]


def _report(name: str, path: Track, prepared: Prepared) -> JointReport:
    spikes, frozen = prepared.spikes_s.get(name, ()), prepared.frozen_s.get(name, ())
    return report_joint(name, path, prepared.clock, spikes=len(spikes), frozen_s=frozen)


def _usable_s(prepared: Prepared, window: Window, least_s: float) -> float | None:
    group = max(prepared.moving, key=lambda one: len(one.received_ns))
    inside = (group.received_ns >= window.first_ns) & (group.received_ns <= window.last_ns)
    times = prepared.seconds(group)[inside]
    seconds = float(np.maximum(np.diff(times), 0.0).sum()) if len(times) else 0.0
    return seconds if seconds >= least_s else None


def _duration_s(prepared: Prepared) -> float:
    group = max(prepared.moving, key=lambda one: len(one.received_ns), default=None)
    if group is None:
        return 0.0
    return float(np.maximum(np.diff(prepared.seconds(group)), 0.0).sum())


def _judge_signal(report: JointReport, prepared: Prepared) -> list[Finding]:
    """Say what a person sees in the curve of a joint or of the base."""
    found = []
    if report.spikes:
        share = report.spikes / max(report.samples, 1)
        text = f'{report.spikes} single samples jump away and back; the import interpolates them'
        spans = tuple((at, at) for at in prepared.spikes_s[report.joint])
        severity = ERROR if share > MOST_SPIKES else WARNING
        found.append(Finding(severity, 'spikes', report.joint, text, spans))
    if report.frozen_s:
        spans = prepared.frozen_s[report.joint]
        text = (
            f'keeps one value for {report.frozen_s:.2f} s ({len(spans)} times) while the robot '
            'moves; the import cuts that out'
        )
        often = report.frozen_s > MOST_FROZEN * _duration_s(prepared)
        found.append(Finding(ERROR if often else WARNING, 'frozen', report.joint, text, spans))
    elif report.highest - report.lowest < 1e-6 and report.velocity_rms > 0.1:
        text = f'never moves while its velocity says {report.velocity_rms:.2f} rad/s (rms)'
        found.append(Finding(ERROR, 'frozen', report.joint, text))
    return found


def _judge_noise(reports: Sequence[JointReport]) -> list[Finding]:
    moving = [report for report in reports if report.velocity != STILL] or list(reports)
    if not moving:
        return []
    noise = float(np.median([report.noise for report in moving]))
    of_velocity = float(np.median([report.velocity_noise for report in moving]))
    if noise <= NOISE_RAD and of_velocity <= NOISE_RAD_S:
        return []
    text = (
        f'noise of about {1e3 * noise:.1f} mrad on positions and {of_velocity:.2f} rad/s on '
        'velocities: a simulation that is reset to such states feels other contact forces '
        '(docs/recordings.md)'
    )
    return [Finding(WARNING, 'noise', 'joints', text)]


def _judge_locked(samples: BagSamples, wanted: Wanted) -> list[Finding]:
    found = []
    for joint in samples.joint_names():
        if joint in wanted.locked:
            position = track(samples, joint).values['position']
            away = np.nanmax(np.abs(position - wanted.locked[joint]))
            if away > LOCKED_RAD:
                text = f'{wanted.robot} holds it at {wanted.locked[joint]:.2f} rad, it moves away '
                text += f'by {away:.2f} rad: the recording shows another motion'
                found.append(Finding(WARNING, 'locked', joint, text))
    return found


def _judge_jumps(prepared: Prepared, breaks: Sequence[Break]) -> list[Finding]:
    """Say where the robot is put elsewhere; where the recorder marked a reset that is normal."""
    marks = [m.received_ns for m in read_marks(prepared.samples.custom_data, '')]
    found = []
    for group in prepared.moving:
        received, seconds = group.received_ns, prepared.seconds(group)
        jumps = [
            one
            for one in breaks
            if one.reason == JUMP and one.last_ns in received and one.first_ns in received
        ]
        if jumps:
            rows = [int(np.searchsorted(received, one.last_ns)) for one in jumps]
            spans = tuple((float(seconds[row]), float(seconds[row + 1])) for row in rows)
            marked = all(any(abs(one.first_ns - m) < 2e8 for m in marks) for one in jumps)
            what = 'the base is' if group.is_odometry else 'the joints are'
            text = f'{what} put elsewhere {len(jumps)} times, first at {spans[0][0]:.2f} s'
            severity = NOTE if marked else WARNING
            found.append(Finding(severity, 'teleport', group.topic, text, spans))
    return found


def _judge_height(prepared: Prepared, windows: Sequence[Window]) -> list[Finding]:
    """Say where the base sinks or rises slowly, as odometry does that drifts."""
    base, worst, spans = prepared.base, 0.0, []
    if base is None:
        return []
    times, height = prepared.seconds(base), base.values['position'][:, 2]
    for window in windows:
        inside = (base.received_ns >= window.first_ns) & (base.received_ns <= window.last_ns)
        inside &= np.isfinite(height)
        at, level = times[inside], height[inside]
        if window.terminated and len(at):  # the fall itself is no drift
            at, level = at[at < at[-1] - 1.0], level[at < at[-1] - 1.0]
        if len(at) < 20 or at[-1] - at[0] < 1.0:
            continue
        slope, seconds = float(np.polyfit(at - at[0], level, 1)[0]), float(at[-1] - at[0])
        drift = slope * seconds
        if abs(drift) > HEIGHT_DRIFT_M or abs(slope) > HEIGHT_DRIFT_M_S:
            spans.append((float(at[0]), float(at[-1])))
            worst = drift if abs(drift) > abs(worst) else worst
    if not spans:
        return []
    what = 'sinks' if worst < 0 else 'rises'
    text = f'the base {what} by up to {abs(worst):.2f} m within an episode: does odometry drift?'
    return [Finding(WARNING, 'height_drift', base.topic, text, tuple(spans))]


def _judge_shift(prepared: Prepared) -> list[Finding]:
    """Compare how late joints and base come after their stamps."""
    if prepared.clock != HEADER or not prepared.samples.joints or prepared.base is None:
        return []
    joints = max(prepared.samples.joints, key=lambda one: len(one.received_ns))
    delays = [(one.received_ns - one.stamp_ns) / 1e6 for one in (prepared.base, joints)]
    shift = float(np.median(delays[0]) - np.median(delays[1]))
    if abs(shift) <= SHIFT_MS:
        return []
    text = (
        f'comes {abs(shift):.0f} ms {"later" if shift > 0 else "earlier"} after its stamps than '
        f'{joints.topic}: base and joints of one stamp may be of different instants'
    )
    return [Finding(WARNING, 'time_shift', prepared.base.topic, text)]


def _lint_base(prepared: Prepared, twist_frame: str) -> tuple[list[JointReport], list[Finding]]:
    """Look at the base as six joints, and at the frame of its twist."""
    (odometry,), chain = prepared.samples.odometry, prepared.base
    assert chain is not None
    findings = []
    length = np.linalg.norm(odometry.values['pose'][:, 3:7], axis=1)
    skewed = int(np.sum(~(np.abs(length - 1) < 0.02)))
    if skewed:
        text = f'{skewed} quaternions are not of length 1'
        findings.append(Finding(ERROR, 'quaternion', odometry.topic, text))
    reports = [
        _report(name, _column(chain, column), prepared)
        for column, name in enumerate(chain.columns)
    ]
    for report in reports:
        findings += _judge_signal(report, prepared)
    bad = sum(report.not_finite for report in reports)
    if bad:
        text = f'{bad} values of the base are NaN or infinite'
        findings.append(Finding(ERROR, 'not_finite', odometry.topic, text))
    fine = (AGREES, STILL, SLIGHT)
    wrong = [report.joint for report in reports if report.velocity not in fine]
    slight = [report.joint for report in reports if report.velocity == SLIGHT]
    if wrong and not np.any(odometry.values['twist']):
        text = 'the twist is empty; the import derives velocities from poses'
        findings.append(Finding(WARNING, 'no_twist', odometry.topic, text))
    elif wrong:
        findings.append(_explain_twist(odometry, prepared, twist_frame, wrong))
    elif slight:
        text = (
            f'the twist and the differentiated pose disagree by less than {LITTLE:g} in {slight}'
        )
        findings.append(Finding(WARNING, 'velocity', odometry.topic, text))
    return reports, findings


def _explain_twist(
    odometry: Samples, prepared: Prepared, twist_frame: str, wrong: list[str]
) -> Finding:
    other = WORLD if twist_frame == CHILD else CHILD
    chain, times = base_readings(odometry, other), prepared.seconds(odometry)
    verdicts = [
        compare_velocity(times, chain.values['position'][:, k], chain.values['velocity'][:, k])
        for k in range(len(chain.columns))
    ]
    if all(verdict.verdict in (AGREES, STILL, SLIGHT) for verdict in verdicts):
        text = f'the twist is given in the {other} frame: use --twist-frame {other}'
        return Finding(ERROR, 'twist_frame', odometry.topic, text)
    text = (
        f'the twist disagrees with the differentiated pose in {wrong}; --velocities derived takes '
        'velocities from the poses'
    )
    return Finding(ERROR, 'velocity', odometry.topic, text)


def _judge_presence(samples: BagSamples, wanted: Wanted) -> list[Finding]:
    found = []
    present = samples.joint_names()
    if not present:
        found.append(Finding(ERROR, 'no_joints', samples.source, 'no joint states at all'))
    missing = [joint for joint in wanted.joints or () if joint not in present]
    if missing:
        text = f'joints {missing} are missing, found {list(present)}'
        found.append(Finding(ERROR, 'missing_joint', samples.source, text))
    for joint, topics in _duplicates(samples).items():
        if wanted.joints is None or joint in wanted.joints:
            text = f'comes more than once, on {topics}: choose topics with --topic'
            found.append(Finding(ERROR, 'duplicate_joint', joint, text))
    if wanted.base and not samples.odometry:
        text = 'no nav_msgs/Odometry of the base, which the terms ask for'
        found.append(Finding(ERROR, 'no_base', samples.source, text))
    for sole in wanted.soles:
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


def _column(chain: Samples, column: int) -> Track:
    values = {name: rows[:, column] for name, rows in chain.values.items()}
    return Track(chain.stamp_ns, chain.received_ns, values)
