# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Where episodes begin and end: by the recorder's marks, and by breaks in the data."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
import json

from lsiq_ros.bags.errors import BagError
from lsiq_ros.bags.timeline import Break

MARKS_KEY = 'lsiq_episodes'  # in the bag's custom data
START, SPLIT, RESET, FALL, STOP = 'start', 'split', 'reset', 'fall', 'stop'
LATE_MARK_NS = 20_000_000  # marks and states come on different topics
NEAR_BREAK_NS = 100_000_000
BEGINNINGS = (START, SPLIT, RESET)
EVENTS = (*BEGINNINGS, FALL)  # what a robot may announce


@dataclass(frozen=True)
class Mark:
    """Something that the recorder noticed."""

    received_ns: int
    reason: str
    stamp_ns: int = 0  # the header's stamp of the message that caused it, if one did

    def as_json(self) -> str:
        """Return the mark as text."""
        return json.dumps(asdict(self))


@dataclass(frozen=True)
class Window:
    """A stretch of the recording, by receive time, both ends included."""

    first_ns: int
    last_ns: int
    terminated: bool = False  # ended by a fall
    last_stamp_ns: int = 0  # the stamp of the last state, where it is known


def marks_to_json(marks: Sequence[Mark]) -> str:
    """Return the marks as the bag's custom data keeps them."""
    return json.dumps([asdict(mark) for mark in marks])


def read_marks(custom_data: dict[str, str], source: str) -> list[Mark]:
    """Return the recorder's marks, none if the bag is not ours."""
    text = custom_data.get(MARKS_KEY, '[]')
    try:
        marks = [
            Mark(int(mark['received_ns']), str(mark['reason']), int(mark.get('stamp_ns', 0)))
            for mark in json.loads(text)
        ]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BagError(f'{source}: {MARKS_KEY} in its metadata is damaged ({error!r})') from error
    return sorted(marks, key=lambda mark: mark.received_ns)


def find_windows(
    marks: Sequence[Mark], first_ns: int, last_ns: int, breaks: Iterable[Break]
) -> list[Window]:
    """
    Return the episodes as stretches of time.

    What lies between a fall and the next beginning is in no episode.
    """
    breaks = sorted(breaks)
    marks = sorted((_moved(mark, breaks) for mark in marks), key=lambda mark: mark.received_ns)
    windows = _marked_windows(marks, first_ns, last_ns)
    for gap in breaks:
        windows = [piece for window in windows for piece in _cut(window, gap)]
    return windows


def _moved(mark: Mark, breaks: Sequence[Break]) -> Mark:
    """Let a beginning that was noted near a break begin with the first state behind it."""
    if mark.reason not in BEGINNINGS:
        return mark
    near = [gap for gap in breaks if abs(gap.first_ns - mark.received_ns) < NEAR_BREAK_NS]
    if not near:
        return mark
    closest = min(near, key=lambda gap: abs(gap.first_ns - mark.received_ns))
    return replace(mark, received_ns=closest.first_ns)


def _marked_windows(marks: Sequence[Mark], first_ns: int, last_ns: int) -> list[Window]:
    if not marks:
        return [Window(first_ns, last_ns)]
    windows = []
    begun: int | None = None
    for mark in marks:
        if begun is not None:
            last = mark.received_ns - (mark.reason in BEGINNINGS)
            fell = mark.reason == FALL
            windows.append(Window(begun, last, fell, mark.stamp_ns if fell else 0))
        begun = mark.received_ns if mark.reason in BEGINNINGS else None
    if begun is not None:
        windows.append(Window(begun, last_ns))
    return [window for window in windows if window.first_ns < window.last_ns]


def _cut(window: Window, gap: Break) -> list[Window]:
    if gap.first_ns <= window.first_ns or gap.last_ns >= window.last_ns:
        return [window]
    before = replace(window, last_ns=max(gap.last_ns, window.first_ns))
    after = replace(window, first_ns=gap.first_ns)
    if window.terminated and window.last_ns - gap.first_ns < LATE_MARK_NS:
        return [before]  # the fall was noted when the next episode had just begun
    before = replace(before, terminated=False, last_stamp_ns=0)
    return [piece for piece in (before, after) if piece.first_ns < piece.last_ns]
