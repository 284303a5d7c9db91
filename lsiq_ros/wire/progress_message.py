# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""How a run goes, as a message that plotting tools understand."""

from __future__ import annotations

from collections.abc import Mapping
import math

from sensor_msgs.msg import JointState

# Always there and always first: Foxglove plots the elements of a list by their place.
FIRST = (
    'steps',
    'training/episode_length',
    'evaluation/episode_length_mean',
    'evaluation/normalized_return',
    'idm/heldout_r2',
)


def progress_message(figures: Mapping[str, float]) -> JointState:
    """Return the figures with their names; of those in ``FIRST``, NaN is yet unknown."""
    ordered = dict.fromkeys(FIRST, math.nan) | dict(figures)
    return JointState(name=list(ordered), position=[float(v) for v in ordered.values()])
