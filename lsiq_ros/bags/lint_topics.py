# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Judge the timing of a topic: rate, gaps, drops, stamps."""

import json

from lsiq_core.types import Array
from lsiq_ros.bags.lint_report import ERROR, Finding, NOTE, TopicReport, WARNING
from lsiq_ros.bags.samples import BagSamples, Samples
from lsiq_ros.bags.timeline import HEADER, longest_step_s, period_s, RECEIVED, times_s
import numpy as np

DROPS_KEY = 'lsiq_drops'  # in the bag's custom data: topic -> messages lost
_WALL_CLOCK_NS = 10**18  # in 2001; a stamp before that is simulation time


def recorded_drops(samples: BagSamples) -> dict[str, int]:
    """Return what the recorder counted, empty if it did not."""
    try:
        drops = json.loads(samples.custom_data.get(DROPS_KEY, '{}'))
        return {str(topic): int(count) for topic, count in drops.items()}
    except (ValueError, TypeError, AttributeError):
        return {}


def report_topic(
    samples: BagSamples, topic: str, groups: list[Samples], control_rate_hz: float
) -> TopicReport:
    """
    Measure one topic.

    Joints that come in several messages are measured by the set of names that comes most.
    """
    group = max(groups, key=lambda one: len(one.received_ns))
    stamped = group.stamped
    times = times_s(group, HEADER if stamped else RECEIVED, int(group.received_ns[0]))
    period = period_s(times)
    steps = np.diff(times)
    forward = steps[steps > 0]
    skew_ms = (group.received_ns - group.stamp_ns) / 1e6 if stamped else None
    spread = None if skew_ms is None else np.subtract(*np.percentile(skew_ms, (99, 1)))
    steady = forward[forward < 3 * period]
    return TopicReport(
        topic=topic,
        messages=sum(len(one.received_ns) for one in groups),
        rate_hz=1 / period if period else 0.0,
        jitter_ms=float(steady.std() * 1e3) if len(steady) else 0.0,
        gaps=int(np.sum(forward > max(3 * period, 1.5 / control_rate_hz))),
        longest_gap_s=float(forward.max()) if len(forward) else 0.0,
        drops_recorded=recorded_drops(samples).get(topic),
        drops_inferred=_missing(forward, period),
        backwards=int(np.sum(steps < 0)),
        skew_ms=None if skew_ms is None else float(np.median(skew_ms)),
        skew_spread_ms=None if spread is None else float(spread),
        malformed=samples.malformed.get(topic, 0),
        unstamped=sum(one.unstamped for one in groups),
    )


def _missing(steps: Array, period: float) -> int:
    """
    Count the messages that would fill the late steps within episodes.

    A publisher that was late and caught up lost none, so it is never more than the whole
    time lacks.
    """
    steps = steps[steps < longest_step_s(period)]
    if not period or not len(steps):
        return 0
    late = steps[steps > 1.5 * period]
    in_late_steps = np.sum(np.round(late / period) - 1)
    in_the_whole = np.sum(steps) / period - len(steps)
    return max(0, round(min(float(in_late_steps), float(in_the_whole))))


def judge_topic(topic: TopicReport, control_rate_hz: float, simulated: bool) -> list[Finding]:
    """Say what is wrong with the timing of a topic."""
    found = []

    def say(severity: str, code: str, message: str) -> None:
        found.append(Finding(severity, code, topic.topic, message))

    if topic.messages < 2:
        say(ERROR, 'too_short', f'{topic.messages} message(s), a transition needs two')
        return found
    if topic.rate_hz < 0.9 * control_rate_hz:
        say(
            ERROR,
            'slow',
            f'{topic.rate_hz:.1f} Hz is slower than the control rate of {control_rate_hz:g} Hz: '
            'the states between would be made up',
        )
    lost = topic.drops_inferred if topic.drops_recorded is None else topic.drops_recorded
    share = lost / (lost + topic.messages)
    if lost:
        severity = ERROR if share > 0.05 else WARNING if share > 0.001 else NOTE
        say(severity, 'drops', f'{lost} messages are missing ({100 * share:.2f} %)')
    if topic.gaps:
        say(NOTE, 'gaps', f'{topic.gaps} gaps, the longest {topic.longest_gap_s:.3f} s')
    if topic.malformed:
        say(ERROR, 'malformed', f'{topic.malformed} messages whose fields do not fit together')
    if topic.unstamped:
        text = f'{topic.unstamped} messages have no stamp, theirs are taken from their neighbours'
        say(WARNING if topic.unstamped > 0.01 * topic.messages else NOTE, 'unstamped', text)
    if topic.backwards:
        say(NOTE, 'backwards', f'time goes back {topic.backwards} times: resets of a simulation?')
    _judge_stamps(topic, simulated, say)
    return found


def _judge_stamps(topic: TopicReport, simulated: bool, say) -> None:  # type: ignore[no-untyped-def]
    if topic.skew_ms is None or topic.skew_spread_ms is None:
        say(WARNING, 'no_stamps', 'headers have no stamps, the time of receipt is used')
    elif simulated:
        say(NOTE, 'simulation_time', 'stamps are simulation time')
    elif abs(topic.skew_ms) > 1000:
        say(
            WARNING,
            'skew',
            f'stamps and the time of receipt differ by {topic.skew_ms / 1e3:.1f} s: '
            'two machines whose clocks disagree?',
        )
    elif topic.skew_spread_ms > 50:
        say(
            WARNING,
            'skew_spread',
            f'the delay between stamp and receipt varies by {topic.skew_spread_ms:.0f} ms',
        )


def is_simulation_time(groups: list[Samples]) -> bool:
    """Return whether the stamps count from the start of a simulation."""
    stamps = np.concatenate([group.stamp_ns for group in groups])
    return bool(len(stamps) and np.all(stamps != 0) and np.median(stamps) < _WALL_CLOCK_NS)
