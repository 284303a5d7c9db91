# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""What the task asks of Atlas: walk at 1.25 m/s and do not fall."""

from __future__ import annotations

from dataclasses import dataclass
import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

WALKING_SPEED_MPS = 1.25
_DEGREE = math.pi / 180


class Step(NamedTuple):
    """
    What one control step brought.

    ``terminated`` means a fall, ``truncated`` that only the clock ran out. The fields are
    those that a learner expects; both rooms define them, because neither imports the other.
    """

    obs: npt.NDArray[np.float64]  # [D]
    reward: float
    terminated: bool
    truncated: bool


@dataclass(frozen=True)
class FallBounds:
    """
    The pelvis poses that still count as walking.

    They are those of the public Atlas task, except that list is bounded alike on both
    sides (there: -15 to 22.5 degrees). Negative tilt leans forward.
    """

    height_m: tuple[float, float] = (0.64, 1.04)
    tilt_rad: tuple[float, float] = (-40 * _DEGREE, 15 * _DEGREE)
    list_rad: tuple[float, float] = (-15 * _DEGREE, 15 * _DEGREE)
    rotation_rad: tuple[float, float] = (-18 * _DEGREE, 18 * _DEGREE)

    @property
    def low(self) -> npt.NDArray[np.float64]:
        """Return the lower bounds of height, tilt, list and rotation."""
        return np.array([pair[0] for pair in self._pairs()])

    @property
    def high(self) -> npt.NDArray[np.float64]:
        """Return the upper bounds of height, tilt, list and rotation."""
        return np.array([pair[1] for pair in self._pairs()])

    def _pairs(self) -> tuple[tuple[float, float], ...]:
        return self.height_m, self.tilt_rad, self.list_rad, self.rotation_rad


def metric(forward_velocity_mps: float) -> float:
    """Return the paper's r = exp(-(v - 1.25)^2) of the upper body's forward velocity."""
    return math.exp(-((forward_velocity_mps - WALKING_SPEED_MPS) ** 2))


def metrics(forward_velocity_mps: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return :func:`metric` of many robots; one that diverged gets nothing."""
    return np.nan_to_num(np.exp(-((forward_velocity_mps - WALKING_SPEED_MPS) ** 2)))
