# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
Work of minutes that pauses often, so that whoever drives it can stop or show something.

A :data:`Work` is a generator: it yields at its pauses, a fraction of a second apart, and returns
its result; ``yield from`` puts one inside another.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeVar

Result = TypeVar('Result')


class Interrupted(Exception):
    """Somebody wants to stop in the middle of work that leaves nothing half done."""


Work = Generator[None, None, Result]


def complete(work: Work[Result]) -> Result:
    """Do all of it without a pause and return its result."""
    while True:
        try:
            next(work)
        except StopIteration as end:
            result: Result = end.value
            return result
