# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
One cycle of a motion that repeats, from a recording of it: less than a stride, or many.

Heading and sideways drift are taken out. A Fourier series is fitted to heights, angles and
the velocity along the floor; all other velocities are its exact derivatives. With a mirror the
mirror image, half a cycle later, is fitted as well: it fills what a short clip lacks and makes
the cycle symmetric. The period is the one at which parts that were left out are predicted best.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from lsiq_core.types import Array
import numpy as np
from sim.robot import kinematic_columns

Mirrored = Callable[[Array], Array]

HARMONICS = 6
_SHORTEST_S, _LONGEST_S = 0.25, 4.0
_SEARCH_HZ = 50.0  # enough to find the period
_SEARCH_S = 20.0  # as well
_PHASE_STEP = 0.1  # of a cycle, by which two periods that are tried disagree at the end
_PARTS = 8  # of the recording; each is left out once
_AS_GOOD = 1.15  # a longer period must be better than this much,
_EXACT = 0.02  # and there is nothing to better where a cycle misses less than this of the motion
_LEAST_COVERED = 1.1  # clip (and mirror image) must be so much longer than the cycle
_POOR = 0.5  # of the motion is not explained: it does not repeat


class Cycle(NamedTuple):
    """A motion that repeats."""

    frames: Array  # [T, D]; the first follows the last
    period_s: float  # as recorded
    speed_m_s: float  # as recorded
    unexplained: float  # share of the recording's variance, 0 to 1


def loop(
    frames: Array,
    rate_hz: float,
    wanted_hz: float,
    mirror: Mirrored | None = None,
    speed_m_s: float | None = None,
) -> Cycle:
    """
    Make one cycle of a recording.

    :param frames: [T, D] kinematic frames of one episode.
    :param rate_hz: of these.
    :param wanted_hz: of the cycle.
    :param mirror: returns frames as a mirror shows them; None for a cycle without symmetry.
    :param speed_m_s: play it faster or slower, to this forward speed; None as it is.
    """
    frames = straightened(frames, rate_hz)
    periodic = _periodic_part(frames)
    image = None if mirror is None else _periodic_part(mirror(frames))
    times = np.arange(len(frames)) / rate_hz
    images = 1 if image is None else 2
    longest = images * len(frames) / rate_hz / _LEAST_COVERED
    if longest <= _SHORTEST_S:
        raise ValueError(f'{times[-1]:.2f} s are too short to find a cycle in')
    period = _period(periodic, image, rate_hz, min(longest, _LONGEST_S))
    coefficients, error = _fit(periodic, image, times / period)
    if error > _POOR:
        raise ValueError(
            f'the motion does not repeat: a cycle of {period:.2f} s leaves {error:.0%} of it '
            'unexplained; cut it (--from-s, --to-s), or follow it without --loop'
        )
    columns = kinematic_columns(frames.shape[1])
    speed = float(frames[:, columns.twist.start].mean())
    played = period
    if speed_m_s is not None:
        if speed * speed_m_s <= 0:
            raise ValueError(f'it moves at {speed:.2f} m/s and cannot be played at {speed_m_s:g}')
        played = period * speed / speed_m_s
    # In halves that show each other in the mirror, so a tracker learns one of them.
    count = images * max(2, round(played * wanted_hz / images))
    return Cycle(_frames(coefficients, count, wanted_hz, period, columns), period, speed, error)


def straightened(frames: Array, rate_hz: float) -> Array:
    """Take the straight line out of the heading, and turn the velocities along."""
    columns = kinematic_columns(frames.shape[1])
    times = np.arange(len(frames)) / rate_hz
    yaw = columns.pose.stop - 1
    line = np.polyfit(times, frames[:, yaw], 1)
    straight = turned(frames, -np.polyval(line, times))
    straight[:, columns.twist.stop - 1] -= line[0]
    return straight


def turned(frames: Array, angle_rad: Array | float) -> Array:
    """Return frames with another heading: yaw, and the velocity along the floor."""
    columns = kinematic_columns(frames.shape[1])
    other = frames.copy()
    other[:, columns.pose.stop - 1] += angle_rad
    x, y = columns.twist.start, columns.twist.start + 1
    c, s = np.cos(angle_rad), np.sin(angle_rad)
    other[:, x] = c * frames[:, x] - s * frames[:, y]
    other[:, y] = s * frames[:, x] + c * frames[:, y]
    return other


def _periodic_part(frames: Array) -> Array:
    """Return what repeats: pose, joints, and the velocity along the floor without side drift."""
    columns = kinematic_columns(frames.shape[1])
    x = columns.twist.start
    floor = frames[:, x : x + 2].copy()
    floor[:, 1] -= floor[:, 1].mean()
    return np.concatenate((frames[:, : columns.positions.stop], floor), axis=1)


def _period(motion: Array, image: Array | None, rate_hz: float, longest: float) -> float:
    """Return the period: searched coarsely, then finely around the best."""
    every = max(1, round(rate_hz / _SEARCH_HZ))
    motion, image = motion[::every], None if image is None else image[::every]
    times = np.arange(len(motion)) * every / rate_hz
    count = min(len(times), round(_SEARCH_S * rate_hz / every))
    few = motion[:count], None if image is None else image[:count]
    # Many short cycles tell periods apart that differ by little: steps are even in frequency.
    step_hz = _PHASE_STEP / (count * every / rate_hz)
    coarse = np.arange(1 / longest, 1 / _SHORTEST_S + step_hz, step_hz)[::-1]
    errors = np.array([_left_out_error(*few, times[:count] * f) for f in coarse])
    at = _first_good(errors, _EXACT * float(np.sqrt(few[0].var(axis=0).mean())))
    fine = coarse[at] + np.linspace(-step_hz, step_hz, 21)
    fine = fine[fine > 0]
    return float(1 / fine[np.argmin([_left_out_error(motion, image, times * f) for f in fine])])


def _first_good(errors: Array, exact: float) -> int:
    """
    Return the first dip that is nearly as deep as the deepest: not twice the period.

    :param exact: an error that is as good as none.
    """
    most = max(_AS_GOOD * float(errors.min()), exact)
    first = int(np.flatnonzero(errors <= most)[0])
    last = first
    while last + 1 < len(errors) and errors[last + 1] <= most:
        last += 1
    return first + int(np.argmin(errors[first : last + 1]))


def _left_out_error(motion: Array, image: Array | None, phases: Array) -> float:
    """Return how badly parts are predicted by a series fitted to the others."""
    basis, target = _stacked(motion, image, phases)
    part = np.tile(np.arange(len(motion)) * _PARTS // len(motion), len(basis) // len(motion))
    parts_of_images = part + _PARTS * (np.arange(len(basis)) // len(motion))
    gram, moment = basis.T @ basis, basis.T @ target
    squared = 0.0
    for number in range(int(parts_of_images.max()) + 1):
        out = parts_of_images == number
        rest = gram - basis[out].T @ basis[out]
        found = _solve(rest, moment - basis[out].T @ target[out], len(basis))
        squared += float(((basis[out] @ found - target[out]) ** 2).sum())
    return float(np.sqrt(squared / target.size))


def _fit(motion: Array, image: Array | None, phases: Array) -> tuple[Array, float]:
    basis, target = _stacked(motion, image, phases)
    found = _solve(basis.T @ basis, basis.T @ target, len(basis))
    error = float(((basis @ found - target) ** 2).mean() / target.var(axis=0).mean())
    return found, error


def _stacked(motion: Array, image: Array | None, phases: Array) -> tuple[Array, Array]:
    if image is None:
        return _basis(phases), motion
    basis = np.concatenate((_basis(phases), _basis(phases + 0.5)))
    return basis, np.concatenate((motion, image))


def _solve(gram: Array, moment: Array, samples: int) -> Array:
    # Damping that grows with the order keeps harmonics quiet where the images leave a gap.
    order = np.r_[0.0, np.tile(np.arange(1, HARMONICS + 1), 2)]
    found: Array = np.linalg.solve(gram + np.diag(1e-6 * samples * (1e-3 + order**4)), moment)
    return found


def _frames(
    coefficients: Array, count: int, rate_hz: float, period_s: float, columns: Any
) -> Array:
    """Return the series as kinematic frames, ``count`` of them to a cycle."""
    phases = np.arange(count) / count
    values = _basis(phases) @ coefficients
    slopes = _basis_slope(phases) @ coefficients * (rate_hz / count)
    frames = np.zeros((count, columns.velocities.stop))
    last = columns.positions.stop
    frames[:, :last] = values[:, :last]
    x = columns.twist.start
    # What is played slower is slower by as much.
    frames[:, x : x + 2] = values[:, last:] * (period_s * rate_hz / count)
    pose = slopes[:, columns.pose]
    frames[:, x + 2 : x + 6] = pose  # the rates of height, roll, pitch, yaw
    frames[:, columns.velocities] = slopes[:, columns.positions]
    return frames


def _basis(phases: Array) -> Array:
    angle = 2 * np.pi * np.outer(phases, np.arange(1, HARMONICS + 1))
    return np.concatenate((np.ones((len(phases), 1)), np.cos(angle), np.sin(angle)), axis=1)


def _basis_slope(phases: Array) -> Array:
    order = 2 * np.pi * np.arange(1, HARMONICS + 1)
    angle = np.outer(phases, order)
    slopes = (np.zeros((len(phases), 1)), -order * np.sin(angle), order * np.cos(angle))
    return np.concatenate(slopes, axis=1)
