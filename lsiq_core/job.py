# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
Work of minutes that pauses often, so that whoever drives it can stop, save or show something.

A :data:`Job` is a generator: it yields at its pauses, a fraction of a second apart, and returns
its result; ``yield from`` puts one inside another.
"""

from collections.abc import Generator
from typing import NamedTuple, TypeVar

Result = TypeVar('Result')


class Interrupted(Exception):
    """Somebody wants to stop in the middle of work that leaves nothing half done."""


TRAINING = 'training'  # the stage after all pretraining


class StageProgress(NamedTuple):
    """How far a piece of work is."""

    stage: str  # babbling, training, ...
    done: int
    total: int


Job = Generator[None, None, Result]


def complete(job: Job[Result]) -> Result:
    """Do all of it without a pause and return its result."""
    while True:
        try:
            next(job)
        except StopIteration as end:
            result: Result = end.value
            return result
