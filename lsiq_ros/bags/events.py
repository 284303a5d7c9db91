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
from lsiq_ros.wire.cdr import read_odometry, stamp_ns


def is_fallen(bounds: FallBounds, odometry_data: bytes) -> bool:
    """Return whether a raw odometry message shows a robot too low or leaning too far."""
    if bounds == FallBounds():
        return False
    pose = [float(value) for value in read_odometry(odometry_data).pose]
    if not bounds.height_m[0] <= pose[2] <= bounds.height_m[1]:
        return True
    if math.isinf(bounds.lean_rad):
        return False
    upright = cosine_from_upright((pose[3], pose[4], pose[5], pose[6]))
    return not upright >= math.cos(bounds.lean_rad)


class ResetWatch:
    """Notice when the stamps of a topic go back, as they do when a simulation starts again."""

    def __init__(self) -> None:
        """Start without a stamp."""
        self._latest_ns = 0

    def went_back(self, data: bytes) -> bool:
        """Return whether this message is stamped earlier than the one before."""
        stamp = stamp_ns(data)
        back = stamp < self._latest_ns and stamp != 0
        self._latest_ns = stamp
        return back


class FallWatch:
    """Turn poses into events: a fall once, and a reset when the robot stands again."""

    def __init__(self, bounds: FallBounds) -> None:
        """Start with a robot that stands."""
        self._bounds = bounds
        self._fallen = False

    def event(self, odometry_data: bytes) -> str | None:
        """Return ``fall``, ``reset`` or None."""
        fallen = is_fallen(self._bounds, odometry_data)
        changed = fallen != self._fallen
        self._fallen = fallen
        if not changed:
            return None
        return FALL if fallen else RESET
