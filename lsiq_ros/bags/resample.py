# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Bring streams of different topics and rates onto one grid of control periods."""

from collections.abc import Sequence
from dataclasses import dataclass

from lsiq_core.types import Array
from lsiq_ros.bags.episodes import Window
from lsiq_ros.bags.samples import Stream
from lsiq_ros.bags.timeline import HEADER
import numpy as np

LATE_NS = 100_000_000  # how far apart the messages of one instant may be received


@dataclass(frozen=True)
class Piece:
    """A stream within one episode: times strictly increase and all values are finite."""

    times_s: Array  # [n]
    columns: dict[str, Array]


def stamp_range_ns(streams: Sequence[Stream], window: Window) -> tuple[int, int]:
    """
    Return the first and the last stamp of an episode.

    Messages of one instant come on several topics, one after the other. A boundary between
    episodes that was found on one topic therefore cuts the instant in two on the others;
    the stamps put it together again.
    """
    inside = [stream.stamp_ns[_received_in(stream, window, 0)] for stream in streams]
    inside = [stamps for stamps in inside if len(stamps)]
    first = min((int(stamps[0]) for stamps in inside), default=0)
    last = max((int(stamps[-1]) for stamps in inside), default=0)
    return first, min(last, window.last_stamp_ns or last)


def _received_in(stream: Stream, window: Window, slack_ns: int) -> Array:
    earliest, latest = window.first_ns - slack_ns, window.last_ns + slack_ns
    return (stream.received_ns >= earliest) & (stream.received_ns <= latest)


def cut(
    stream: Stream, window: Window, clock: str, origin_ns: int, stamps_ns: tuple[int, int]
) -> Piece | None:
    """
    Return the part of a stream that lies in a window, None if that is no transition.

    :param stamps_ns: what :func:`stamp_range_ns` says of the window.
    """
    inside = _received_in(stream, window, LATE_NS if clock == HEADER else 0)
    if clock == HEADER:
        inside &= (stream.stamp_ns >= stamps_ns[0]) & (stream.stamp_ns <= stamps_ns[1])
    times = stream.stamp_ns if clock == HEADER else stream.received_ns
    times = (times[inside] - origin_ns) / 1e9
    columns = {term: values[inside] for term, values in stream.columns.items()}
    needed = [values for term, values in columns.items() if term not in stream.derive]
    keep = np.all([np.isfinite(values) for values in needed], axis=0)
    if len(times):
        earlier = np.maximum.accumulate(np.concatenate(([-np.inf], times[:-1])))
        keep &= times > earlier
    times = times[keep]
    if len(times) < 2:
        return None
    columns = {term: values[keep] for term, values in columns.items()}
    for velocity, position in stream.derive.items():
        columns[velocity] = np.gradient(columns[position], times)
    return Piece(times, columns)


def common_grid(pieces: Sequence[Piece], rate_hz: float, *, from_end: bool) -> Array:
    """
    Return the times that all pieces cover, one control period apart.

    :param from_end: let the grid end at the last state (a fall), not begin at the first.
    """
    first = max(float(piece.times_s[0]) for piece in pieces)
    last = min(float(piece.times_s[-1]) for piece in pieces)
    # A hundredth of a period of slack, so that rounding never costs a state.
    periods = int(np.floor((last - first) * rate_hz + 0.01))
    steps = np.arange(max(periods, 0) + 1) / rate_hz
    return last - steps[::-1] if from_end else first + steps


def interpolate(pieces: Sequence[Piece], terms: Sequence[str], grid: Array) -> Array:
    """Return the terms at the times of the grid, [len(grid), len(terms)]."""
    columns: dict[str, tuple[Array, Array]] = {}
    for piece in pieces:
        columns |= {term: (piece.times_s, values) for term, values in piece.columns.items()}
    return np.stack([np.interp(grid, *columns[term]) for term in terms], axis=1)


def hold(pieces: Sequence[Piece], terms: Sequence[str], grid: Array) -> Array:
    """Return the latest value at the times of the grid, as a held command is."""
    columns: dict[str, Array] = {}
    for piece in pieces:
        latest = np.searchsorted(piece.times_s, grid + 1e-6, side='right') - 1
        latest = np.clip(latest, 0, len(piece.times_s) - 1)
        columns |= {term: values[latest] for term, values in piece.columns.items()}
    return np.stack([columns[term] for term in terms], axis=1)
