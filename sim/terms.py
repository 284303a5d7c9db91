# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""How a task names what it observes and what it commands."""

from __future__ import annotations

from typing import NamedTuple


class Term(NamedTuple):
    """
    One scalar of an observation or an action.

    The name follows ros2_control: ``<joint or link>/<quantity>``, for example
    ``knee_angle_l/position``; the unit is SI; the frame is a REP-105 frame or
    empty where none applies.
    """

    name: str
    unit: str = ''
    frame: str = ''


def names(terms: tuple[Term, ...]) -> tuple[str, ...]:
    """Return the names alone, in order."""
    return tuple(term.name for term in terms)
