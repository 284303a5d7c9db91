# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""What the linter has to say about a bag, for people and for programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

ERROR, WARNING, NOTE = 'error', 'warning', 'note'
INFEASIBLE = 'infeasible'  # the code of a recording that is to be retraced
_MARKS = {ERROR: 'ERROR  ', WARNING: 'warning', NOTE: 'note   '}


@dataclass(frozen=True)
class Finding:
    """One thing that the linter noticed."""

    severity: str
    code: str  # short and stable, for programs: 'degrees', 'missing_joint'
    where: str  # a topic or a joint
    message: str
    spans_s: tuple[tuple[float, float], ...] = ()  # when, since the first state of the bag


@dataclass(frozen=True)
class TopicReport:
    """The timing of one topic."""

    topic: str
    messages: int
    rate_hz: float
    jitter_ms: float  # standard deviation of the period
    gaps: int  # pauses of more than three periods and one and a half control periods
    longest_gap_s: float
    drops_recorded: int | None  # counted by the recorder, None if it did not count
    drops_inferred: int  # missing stamps
    backwards: int  # stamps that went back
    skew_ms: float | None  # median of receive time minus header stamp, None without stamps
    skew_spread_ms: float | None  # between its 1st and 99th percentile
    malformed: int
    unstamped: int


@dataclass(frozen=True)
class JointReport:
    """The values of one joint, in the units of the bag."""

    joint: str
    samples: int
    lowest: float
    highest: float
    fastest: float  # 99th percentile of the differentiated position
    not_finite: int
    velocity: str  # 'agrees', 'absent', 'still', or what is wrong with it
    velocity_slope: float | None  # recorded over differentiated
    velocity_correlation: float | None
    velocity_rms: float
    noise: float  # standard deviation of what no motion explains, at most; rad or m
    velocity_noise: float
    spikes: int  # samples that jump away and back
    frozen_s: float  # while it kept one value although the robot moved


@dataclass(frozen=True)
class LintReport:
    """Whether a bag can be trained on, and why not."""

    bag: str
    robot: str  # whose joints, limits and topics were asked for; empty for none
    trainable: bool
    duration_s: float
    control_rate_hz: float
    clock: str  # 'header' or 'received'
    episodes: int
    usable_s: float
    discarded_s: dict[str, float]  # reason -> how long
    topics: tuple[TopicReport, ...]
    joints: tuple[JointReport, ...]
    findings: tuple[Finding, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return the report as plain JSON values."""
        return asdict(self)

    def errors(self) -> list[Finding]:
        """Return what stands in the way of training."""
        return [finding for finding in self.findings if finding.severity == ERROR]

    def with_findings(self, more: Sequence[Finding]) -> LintReport:
        """Return the report with what was found elsewhere."""
        trainable = self.trainable and not any(one.severity == ERROR for one in more)
        return replace(self, trainable=trainable, findings=(*self.findings, *more))

    def verdict(self) -> str:
        """Return in one sentence whether it can be trained on."""
        whom = f' for {self.robot}' if self.robot else ''
        if not self.trainable:
            return f'This bag can NOT be trained on{whom}: {len(self.errors())} error(s).'
        if any(finding.code == INFEASIBLE for finding in self.findings):
            return f'This bag can be trained on{whom} once it is retraced (lsiq demos retrace).'
        if self.robot:
            return f'This bag can be trained on{whom}.'
        return 'This bag is sound. Whether a robot can be trained on it says --robot NAME.'

    def text(self) -> str:
        """Return the report for people, the verdict first."""
        lines = [f'{self.bag}: {self.verdict()}']
        said: dict[tuple[str, str], list[str]] = {}  # what is said of several is said once
        for finding in self.findings:
            said.setdefault((finding.severity, finding.message), []).append(finding.where)
        lines += [
            f'{_MARKS[severity]} {", ".join(dict.fromkeys(where))}: {message}'
            for marked in _MARKS
            for (severity, message), where in said.items()
            if severity == marked
        ]
        lines += ['', discarded_line(self.duration_s, self.usable_s, self.discarded_s)]
        lines += [f'{self.episodes} episode(s) at {self.control_rate_hz:g} Hz', '']
        lines += [_topic_line(topic) for topic in self.topics]
        lines += [
            '',
            f'{"":24} {"lowest":>9} {"highest":>9} {"speed":>8} {"noise":>8} '
            f'{"of vel.":>8}  velocity',
        ]
        lines += [_joint_line(joint) for joint in self.joints]
        return '\n'.join(lines)


def discarded_line(duration_s: float, usable_s: float, discarded_s: Mapping[str, float]) -> str:
    """Account for every second."""
    reasons = [f'{reason} {seconds:.2f} s' for reason, seconds in discarded_s.items()]
    left_out = f', left out {sum(discarded_s.values()):.2f} s: {", ".join(reasons)}'
    return f'recorded {duration_s:.2f} s, used {usable_s:.2f} s' + (left_out if reasons else '')


def _topic_line(topic: TopicReport) -> str:
    drops = 'not counted' if topic.drops_recorded is None else str(topic.drops_recorded)
    skew = 'no stamps' if topic.skew_ms is None else f'{topic.skew_spread_ms:.1f} ms'
    return (
        f'{topic.topic}: {topic.messages} messages, {topic.rate_hz:.1f} Hz '
        f'(jitter {topic.jitter_ms:.2f} ms), gaps {topic.gaps} '
        f'(longest {topic.longest_gap_s * 1e3:.0f} ms), drops {drops}, '
        f'stamps missing {topic.drops_inferred}, skew spread {skew}'
    )


def _joint_line(joint: JointReport) -> str:
    detail = '' if joint.velocity_slope is None else f' (x {joint.velocity_slope:.3g})'
    return (
        f'{joint.joint:24} {joint.lowest:9.3f} {joint.highest:9.3f} {joint.fastest:8.3f} '
        f'{joint.noise:8.5f} {joint.velocity_noise:8.4f}  '
        f'{joint.velocity}{detail}'
    )
