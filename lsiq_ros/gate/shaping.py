# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""How a finite torque request is made harmless. Pure functions of arrays in joint order."""

from __future__ import annotations

from typing import NamedTuple

from lsiq_ros.gate.settings import GateLimits, GateSettings
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


class Room(NamedTuple):
    """Which share of the torque is left, from 0 to 1, backwards and forwards."""

    backward: Array  # [A]
    forward: Array  # [A]


class Taper:
    """
    Fade torque out where it would push a joint against a limit of position or velocity.

    :param limits: of the joints.
    :param settings: how early the fading begins.
    """

    def __init__(self, limits: GateLimits, settings: GateSettings) -> None:
        self._per_rad = 1 / settings.position_taper_rad
        self._lowest = limits.position_low_rad * self._per_rad
        self._highest = limits.position_high_rad * self._per_rad
        self._full = 1 / (1 - settings.velocity_soft_fraction)
        self._per_rad_s = self._full / limits.velocity_rad_s

    def position_room(self, position_rad: Array) -> Room:
        """Return 0 at the limit or beyond, 1 further away than the taper; may leave 0 to 1."""
        place = position_rad * self._per_rad
        return Room(place - self._lowest, self._highest - place)

    def velocity_room(self, velocity_rad_s: Array) -> Room:
        """Return 0 at the limit or beyond, 1 below the soft fraction; may leave 0 to 1."""
        speed = velocity_rad_s * self._per_rad_s
        return Room(self._full + speed, self._full - speed)

    def room(self, position_rad: Array, velocity_rad_s: Array) -> Room:
        """Return what both leave, from 0 to 1."""
        position, velocity = self.position_room(position_rad), self.velocity_room(velocity_rad_s)
        return Room(
            _share(np.minimum(position.backward, velocity.backward)),
            _share(np.minimum(position.forward, velocity.forward)),
        )

    def position_alone(self, position_rad: Array) -> Room:
        """Return what the position leaves, from 0 to 1."""
        room = self.position_room(position_rad)
        return Room(_share(room.backward), _share(room.forward))


def power_share(effort_nm: Array, velocity_rad_s: Array, power_w: float) -> float:
    """Return by how much motoring torques must shrink to put in no more power than this."""
    motoring = float(np.maximum(effort_nm * velocity_rad_s, 0.0).sum())
    return 1.0 if motoring <= power_w else power_w / motoring


def clamp(effort_nm: Array, low_nm: Array, high_nm: Array) -> Array:
    """Keep every torque between its two limits."""
    return np.minimum(np.maximum(effort_nm, low_nm), high_nm)


def _share(room: Array) -> Array:
    return np.minimum(np.maximum(room, 0.0), 1.0)
