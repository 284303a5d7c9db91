# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Percentiles of durations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Timing:
    """Percentiles of one quantity, in microseconds."""

    p50: float
    p99: float
    p999: float
    max: float
    samples: int

    @staticmethod
    def of(seconds: npt.NDArray[np.float64]) -> Timing:
        """Summarise durations."""
        p50, p99, p999 = np.percentile(seconds * 1e6, [50, 99, 99.9])
        return Timing(p50, p99, p999, float(seconds.max() * 1e6), len(seconds))

    def line(self) -> str:
        """Return one line for people."""
        return (
            f'p50 {self.p50:8.1f}  p99 {self.p99:8.1f}  p99.9 {self.p999:8.1f}  '
            f'max {self.max:8.1f} us  ({self.samples})'
        )
