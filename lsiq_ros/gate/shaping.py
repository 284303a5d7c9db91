# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""How a finite torque request is made harmless. Pure functions of arrays in joint order."""

from __future__ import annotations

from lsiq_ros.gate.settings import GateLimits
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def position_room(
    limits: GateLimits, position_rad: Array, taper_rad: float
) -> tuple[Array, Array]:
    """
    Return which share of the torque is left towards the lower and the upper position limit.

    :return: two arrays of 0 (at the limit or beyond) to 1 (further away than the taper).
    """
    to_low = (position_rad - limits.position_low_rad) / taper_rad
    to_high = (limits.position_high_rad - position_rad) / taper_rad
    return _share(to_low), _share(to_high)


def velocity_room(limits: GateLimits, velocity_rad_s: Array, soft: float) -> tuple[Array, Array]:
    """Return which share of the torque may still speed a joint up, backwards and forwards."""
    fraction = velocity_rad_s / limits.velocity_rad_s
    return _share((1 + fraction) / (1 - soft)), _share((1 - fraction) / (1 - soft))


def power_share(effort_nm: Array, velocity_rad_s: Array, power_w: float) -> float:
    """Return by how much motoring torques must shrink to put in no more power than this."""
    power = effort_nm * velocity_rad_s
    motoring = float(power[power > 0].sum())
    return 1.0 if motoring <= power_w else power_w / motoring


def clamp(effort_nm: Array, low_nm: Array, high_nm: Array) -> Array:
    """Keep every torque between its two limits."""
    return np.minimum(np.maximum(effort_nm, low_nm), high_nm)


def slew(last_nm: Array, target_nm: Array, step_nm: Array) -> Array:
    """Move from the last command towards the target by no more than the step."""
    return last_nm + np.maximum(np.minimum(target_nm - last_nm, step_nm), -step_nm)


def _share(room: Array) -> Array:
    return np.maximum(np.minimum(room, 1.0), 0.0)
