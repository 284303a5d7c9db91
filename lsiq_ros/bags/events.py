# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Notice in raw messages what begins and ends an episode."""

from __future__ import annotations

import math

from lsiq_core.types import FallBounds
from lsiq_ros.bags.episodes import FALL, RESET
from lsiq_ros.wire.base import cosine_from_upright
from lsiq_ros.wire.cdr import Odometry


def is_fallen(bounds: FallBounds, odometry: Odometry) -> bool:
    """Return whether odometry shows a robot too low or leaning too far."""
    if bounds == FallBounds():
        return False
    base = odometry.base
    if not bounds.height_m[0] <= base.position_m[2] <= bounds.height_m[1]:
        return True
    if math.isinf(bounds.lean_rad):
        return False
    return not cosine_from_upright(base.orientation_xyzw) >= math.cos(bounds.lean_rad)


class ResetWatch:
    """Notice when the stamps of a topic go back, as they do when a simulation starts again."""

    def __init__(self) -> None:
        """Start without a stamp."""
        self._latest_ns = 0

    def went_back(self, stamp_ns: int) -> bool:
        """Return whether this stamp is earlier than the one before."""
        back = stamp_ns < self._latest_ns and stamp_ns != 0
        self._latest_ns = stamp_ns
        return back


class FallWatch:
    """Turn poses into events: a fall once, and a reset when the robot stands again."""

    def __init__(self, bounds: FallBounds) -> None:
        """Start with a robot that stands."""
        self._bounds = bounds
        self._fallen = False

    def event(self, odometry: Odometry) -> str | None:
        """Return ``fall``, ``reset`` or None."""
        fallen = is_fallen(self._bounds, odometry)
        changed = fallen != self._fallen
        self._fallen = fallen
        if not changed:
            return None
        return FALL if fallen else RESET
