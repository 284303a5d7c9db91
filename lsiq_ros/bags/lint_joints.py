# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Judge the values of a joint: finite, in radians, of the right sign, with honest velocities."""

from collections.abc import Sequence
import math
from typing import NamedTuple

from lsiq_core.types import Array
from lsiq_ros.bags.lint_report import ERROR, Finding, JointReport, NOTE, WARNING
from lsiq_ros.bags.samples import Track
from lsiq_ros.bags.signals import noise_levels
from lsiq_ros.bags.timeline import HEADER, period_s
import numpy as np

AGREES, ABSENT, STILL, DISAGREES = 'agrees', 'absent', 'still', 'disagrees'
SLIGHT = 'disagrees, but by little'
LITTLE = 0.1  # rad/s or m/s: half of the noise that is worth a warning
# Velocities are summed up over this long and compared with the way made; longer where noise asks.
COMPARED_OVER_S = (0.05, 0.1, 0.25)
LEAST_MOTION_RAD = 2e-3  # rms over that time; below it, or below the noise, nothing can be judged
FASTEST_RAD_S = 40.0
MOST_TURNS_RAD = 2.1 * math.pi
DEGREE = math.pi / 180
RPM = 2 * math.pi / 60

# recorded velocity over differentiated position, and what then was recorded
_FACTORS = {
    1 / DEGREE: 'in degrees/s while positions are in rad',
    DEGREE: 'in rad/s while positions are in degrees',
    1 / RPM: 'in rpm while positions are in rad',
    1 / (2 * math.pi): 'in turns/s while positions are in rad',
}
Limits = dict[str, tuple[float, float]]  # joint -> lowest and highest rad


class Comparison(NamedTuple):
    """How recorded velocities relate to differentiated positions."""

    verdict: str
    slope: float | None = None
    correlation: float | None = None


def compare_velocity(times: Array, position: Array, velocity: Array) -> Comparison:
    """Compare the way made with the velocities summed up, window by window."""
    known = np.isfinite(position) & np.isfinite(velocity)
    if known.sum() < max(2, 0.5 * len(known)):
        return Comparison(ABSENT)
    times, position, velocity = times[known], position[known], velocity[known]
    period = period_s(times)
    if period == 0:
        return Comparison(STILL)
    steps = np.diff(times)
    summed = np.concatenate(([0.0], np.cumsum((velocity[1:] + velocity[:-1]) / 2 * steps)))
    noise, velocity_noise = noise_levels(times, position, velocity)
    for seconds in COMPARED_OVER_S:
        width = max(1, round(seconds / period))
        unbroken = _unbroken(steps, np.abs(np.diff(position)), period, width)
        way = (position[width:] - position[:-width])[unbroken]
        expected = (summed[width:] - summed[:-width])[unbroken]
        if len(way) < 10:
            continue
        moved, said = math.sqrt(np.mean(way**2)), math.sqrt(np.mean(expected**2))
        # Each against its own noise: their units may differ.
        loud = moved > max(LEAST_MOTION_RAD, 4 * math.sqrt(2) * noise)
        if loud and not 0 < said <= 4 * velocity_noise * math.sqrt(period * seconds):
            break
    else:
        return Comparison(STILL)
    slope = float(way @ expected / (way @ way))
    scale = math.sqrt(float(way @ way) * float(expected @ expected))
    correlation = float(way @ expected) / scale if scale > 0 else 0.0
    verdict = _verdict(slope, correlation)
    off = math.sqrt(np.mean((expected - way) ** 2)) / (width * period)
    if verdict == DISAGREES and off < LITTLE:
        verdict = SLIGHT  # a chatter between two samples, say
    return Comparison(verdict, slope, correlation)


def _unbroken(steps: Array, moved: Array, period: float, width: int) -> Array:
    """Return for every window of ``width`` steps whether it has neither gap nor teleport."""
    jumped = moved > 3 * np.percentile(moved, 95)
    broken = np.concatenate(([0], np.cumsum((steps <= 0) | (steps > 3 * period) | jumped)))
    return broken[width:] == broken[:-width]


def _verdict(slope: float, correlation: float) -> str:
    if correlation > 0.9 and 0.8 < slope < 1.25:
        return AGREES
    if abs(correlation) > 0.8:
        sign = 'with the wrong sign, ' if slope < 0 else ''
        for factor, meaning in _FACTORS.items():
            if 0.85 < abs(slope) / factor < 1.15:
                return f'{sign}{meaning}'
        if sign and 0.8 < -slope < 1.25:
            return 'with the wrong sign'
    return DISAGREES


def report_joint(
    joint: str,
    track: Track,
    clock: str,
    *,
    spikes: int = 0,
    frozen_s: Sequence[tuple[float, float]] = (),
) -> JointReport:
    """
    Measure one joint.

    :param spikes: how many samples were repaired before.
    """
    stamps = track.stamp_ns if clock == HEADER else track.received_ns
    times = (stamps - stamps[0]) / 1e9
    position = track.values['position']
    noise = noise_levels(times, position, track.values['velocity'])
    comparison = compare_velocity(times, position, track.values['velocity'])
    finite = position[np.isfinite(position)]
    speed = _speeds(times, position)
    speeds = track.values['velocity'][np.isfinite(track.values['velocity'])]
    return JointReport(
        joint=joint,
        samples=len(position),
        lowest=float(finite.min()) if len(finite) else math.nan,
        highest=float(finite.max()) if len(finite) else math.nan,
        fastest=float(np.percentile(speed, 99)) if len(speed) else 0.0,
        not_finite=_not_finite(track, comparison.verdict),
        velocity=comparison.verdict,
        velocity_slope=comparison.slope,
        velocity_correlation=comparison.correlation,
        velocity_rms=math.sqrt(float(np.mean(speeds**2))) if len(speeds) else 0.0,
        noise=noise[0],
        velocity_noise=noise[1],
        spikes=spikes,
        frozen_s=sum(last - first for first, last in frozen_s),
    )


def _speeds(times: Array, position: Array) -> Array:
    """Return speeds over a few samples, which stamps that jitter do not spoil."""
    period = period_s(times)
    width = max(1, round(COMPARED_OVER_S[0] / period)) if period else 1
    spans, ways = times[width:] - times[:-width], position[width:] - position[:-width]
    usable = (spans > 0) & (spans < 3 * width * period) & np.isfinite(ways)
    return np.abs(ways[usable] / spans[usable])


def _not_finite(track: Track, verdict: str) -> int:
    bad = ~np.isfinite(track.values['position'])
    if verdict != ABSENT:  # a robot without velocities is not a robot with broken ones
        bad = bad | ~np.isfinite(track.values['velocity'])
    return int(bad.sum())


def judge_joint(report: JointReport, track: Track, limits: Limits) -> list[Finding]:
    """Say what is wrong with the values of a joint."""
    found = []

    def say(severity: str, code: str, message: str) -> None:
        found.append(Finding(severity, code, report.joint, message))

    if report.not_finite:
        say(ERROR, 'not_finite', f'{report.not_finite} values are NaN or infinite')
    if report.velocity == ABSENT:
        say(WARNING, 'no_velocity', 'no velocities; the import derives them from positions')
    elif report.velocity == STILL:
        say(
            NOTE, 'still', 'moves less than its noise, so velocity, sign and unit cannot be judged'
        )
    elif report.velocity == SLIGHT:
        text = f'velocities and positions disagree by less than {LITTLE:g} rad/s'
        say(WARNING, 'velocity', text)
    elif report.velocity != AGREES:
        slope = f'{report.velocity_slope:.3g}, correlation {report.velocity_correlation:.2f}'
        text = f'velocity {report.velocity} (recorded over differentiated: {slope})'
        say(ERROR, 'velocity', text)
    if report.joint in limits:
        _judge_limits(report, track, limits[report.joint], say)
    else:
        _judge_magnitude(report, say)
    return found


def _judge_magnitude(report: JointReport, say) -> None:  # type: ignore[no-untyped-def]
    largest = max(abs(report.lowest), abs(report.highest))
    if largest > MOST_TURNS_RAD:
        say(
            ERROR, 'degrees', f'reaches {largest:.1f}: degrees? More than one turn is not expected'
        )
    elif report.fastest > FASTEST_RAD_S:
        say(ERROR, 'degrees', f'moves at {report.fastest:.0f} rad/s: degrees? Or jumps')


def _judge_limits(  # type: ignore[no-untyped-def]
    report: JointReport, track: Track, limits: tuple[float, float], say
) -> None:
    position = track.values['position']
    position = position[np.isfinite(position)]
    outside = _outside(position, limits)
    if outside < 0.001:
        return
    span = f'[{limits[0]:.3f}, {limits[1]:.3f}] rad'
    found = f'found [{report.lowest:.3f}, {report.highest:.3f}]'
    # A joint that stays within half a turn is one in rad; in degrees it would hardly move.
    turns = max(abs(report.lowest), abs(report.highest)) > math.pi
    if outside > 0.01 and _outside(-position, limits) < 0.001:
        say(ERROR, 'sign', f'wrong sign? Its negative fits the limits {span}, {found}')
    elif turns and outside > 0.01 and _outside(position * DEGREE, limits) < 0.001:
        say(ERROR, 'degrees', f'degrees? Converted to rad it fits the limits {span}, {found}')
    elif turns and outside > 0.01 and _outside(-position * DEGREE, limits) < 0.001:
        say(ERROR, 'degrees', f'degrees of the wrong sign? Limits {span}, {found}')
    else:
        severity = ERROR if outside > 0.05 else WARNING
        say(severity, 'limits', f'{100 * outside:.1f} % outside of the limits {span}, {found}')


def _outside(position: Array, limits: tuple[float, float]) -> float:
    slack = 0.02 * (limits[1] - limits[0])
    beyond = (position < limits[0] - slack) | (position > limits[1] + slack)
    return float(beyond.mean()) if len(beyond) else 0.0
