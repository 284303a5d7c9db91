# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""How a finite torque request is made harmless. Pure functions of arrays in joint order."""

from __future__ import annotations

from lsiq_ros.gate.settings import GateLimits, GateSettings
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
_NOTHING, _ALL = np.array(0.0), np.array(1.0)  # arrays, which ufuncs take faster than floats


class Taper:
    """
    Fade torque out where it would push a joint against a limit of position or velocity.

    What is left of the limits' torque falls from 1 to 0 along a line; torques come in rows,
    the lowest first and the highest second, so that both directions are one calculation.

    :param limits: of the joints.
    :param settings: how early the fading begins.
    """

    def __init__(self, limits: GateLimits, settings: GateSettings) -> None:
        per_rad = np.full(len(limits.joints), 1 / settings.position_taper_rad)
        ends = [-limits.position_low_rad * per_rad, limits.position_high_rad * per_rad]
        self._position_slope = np.stack([per_rad, -per_rad])
        self._position_start = np.stack(ends)
        self._velocity_start = np.array(1 / (1 - settings.velocity_soft_fraction))
        per_rad_s = self._velocity_start / limits.velocity_rad_s
        self._velocity_slope = np.stack([per_rad_s, -per_rad_s])
        self._effort_nm = np.stack([limits.effort_low_nm, limits.effort_high_nm])

    def range_nm(self, position_rad: Array, velocity_rad_s: Array) -> Array:
        """Return the lowest and the highest torque [2, A] that both limits leave."""
        by_position = self._position_start + self._position_slope * position_rad
        by_velocity = self._velocity_start + self._velocity_slope * velocity_rad_s
        return self._effort_nm * _share(np.minimum(by_position, by_velocity))

    def range_by_position_nm(self, position_rad: Array) -> Array:
        """Return the lowest and the highest torque [2, A] that the position leaves."""
        return self._effort_nm * _share(self._position_start + self._position_slope * position_rad)


def power_share(effort_nm: Array, velocity_rad_s: Array, power_w: float) -> float:
    """Return by how much motoring torques must shrink to put in no more power than this."""
    most = effort_nm.dot(effort_nm) * velocity_rad_s.dot(velocity_rad_s)  # squared, and quick
    if most <= power_w * power_w:
        return 1.0
    motoring = float(np.maximum(effort_nm * velocity_rad_s, _NOTHING).sum())
    return 1.0 if motoring <= power_w else power_w / motoring


def clamp(effort_nm: Array, low_nm: Array, high_nm: Array) -> Array:
    """Keep every torque between its two limits."""
    return np.minimum(np.maximum(effort_nm, low_nm), high_nm)


def _share(room: Array) -> Array:
    """Return 0 at a limit or beyond it, 1 further away than its taper."""
    return np.minimum(np.maximum(room, _NOTHING), _ALL)
