# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""The checks of the gate; each has a counter and a diagnostic of its own."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class Check(str, Enum):
    """One thing that can be wrong with a state, a command or the loop."""

    # These shape the command and let it pass.
    TORQUE_CLAMP = 'torque_clamp'
    POSITION_TAPER = 'position_taper'
    VELOCITY_TAPER = 'velocity_taper'
    POWER_LIMIT = 'power_limit'
    SLEW_LIMIT = 'slew_limit'
    OUTSIDE_DEMONSTRATIONS = 'outside_demonstrations'
    STATE_REORDERED = 'state_reordered'
    STATE_DUPLICATED = 'state_duplicated'
    STATE_RESTARTED = 'state_restarted'
    STATE_MALFORMED = 'state_malformed'
    OTHER_JOINTS = 'other_joints'
    CLOCK_JUMP = 'clock_jump'
    DEADLINE_MISS = 'deadline_miss'
    # These trip: the policy loses the robot until somebody arms again.
    STALE_STATE = 'stale_state'
    LATE_STATE = 'late_state'
    SKEW = 'skew'
    STATE_NOT_FINITE = 'state_not_finite'
    JOINT_MISMATCH = 'joint_mismatch'
    POSITION = 'position'
    POSITION_JUMP = 'position_jump'
    VELOCITY = 'velocity'
    ORIENTATION = 'orientation'
    TILT = 'tilt'
    FALL = 'fall'
    DISTRIBUTION = 'distribution'
    COMMAND_NOT_FINITE = 'command_not_finite'
    POLICY_ERROR = 'policy_error'
    LATE_LOOP = 'late_loop'
    SECOND_CONTROLLER = 'second_controller'
    DISARMED = 'disarmed'


FIRST_TRIP = list(Check).index(Check.STALE_STATE)
TRIPS = frozenset(list(Check)[FIRST_TRIP:])


class Violation(NamedTuple):
    """A check that trips, with what was found."""

    check: Check
    detail: str

    def __str__(self) -> str:
        """Return one line for people."""
        return f'{self.check.value}: {self.detail}'
