# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""What may be wrong with the state of a robot, one method for each check."""

from __future__ import annotations

from collections import Counter
import math
from typing import NamedTuple

from lsiq_ros.gate.checks import Check, Violation
from lsiq_ros.gate.settings import GateLimits, GateSettings
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Within = npt.NDArray[np.bool_]
_MOST_COSINE = 1 + 1e-6  # with rounding; more is no rotation


class RobotState(NamedTuple):
    """What the gate looks at, in the policy's order of joints and terms."""

    position_rad: Array  # [A]
    velocity_rad_s: Array  # [A]
    observation: Array  # [D]
    arrival_s: float  # steady clock, of the older of the readings
    latency_s: float = 0.0
    cosine_upright: float = 1.0
    height_m: float = math.inf
    skew_s: float = 0.0  # between the newest and the oldest reading, by their stamps
    oldest: str = 'state'  # the source whose reading came first


def all_finite(values: Array) -> bool:
    """Return whether all values [N] are finite; counting is quicker than ``all``."""
    return np.count_nonzero(np.isfinite(values)) == len(values)


class StateChecks:
    """
    Hold a state against the limits.

    :param limits: what the policy and the robot allow.
    :param settings: how strict to be.
    :param counts: where leaving the demonstrations is counted.
    """

    def __init__(self, limits: GateLimits, settings: GateSettings, counts: Counter[Check]) -> None:
        self.limits = limits
        self.settings = settings
        self.counts = counts
        self.trip_velocity_rad_s: Array = limits.velocity_rad_s * settings.velocity_trip_factor
        self._position_low = limits.position_low_rad - settings.position_trip_rad
        self._position_high = limits.position_high_rad + settings.position_trip_rad
        self._cosine_limit = math.cos(settings.max_tilt_rad)
        self._oldest_s = settings.stale_periods * limits.period_s
        self._most_latency_s = settings.late_state_periods * limits.period_s
        self._most_skew_s = settings.skew_periods * limits.period_s
        self._lowest_m = settings.min_height_m
        # Three rows: what was demonstrated, what was trained with its margin, and far away.
        self._lowest = np.stack([limits.demonstrated_low, limits.trained_low, limits.far_low])
        self._highest = np.stack([limits.demonstrated_high, limits.trained_high, limits.far_high])
        # Where nothing is wrong: positions, velocities, observation.
        fastest = self.trip_velocity_rad_s
        self._ordinary_low = np.concatenate(
            (self._position_low, -fastest, self._lowest.max(axis=0))
        )
        self._ordinary_high = np.concatenate(
            (self._position_high, fastest, self._highest.min(axis=0))
        )
        self._above = np.empty(len(self._ordinary_low), np.bool_)
        self._below = np.empty(len(self._ordinary_low), np.bool_)
        self._outside_since_s: float | None = None
        self._skewed_since_s: float | None = None

    def trustworthy(self, now_s: float, state: RobotState) -> bool:
        """Return whether positions and velocities are fresh and finite enough to act on."""
        return (
            abs(now_s - state.arrival_s) <= self._oldest_s
            and all_finite(state.position_rad)
            and all_finite(state.velocity_rad_s)
        )

    def violations(
        self, now_s: float, state: RobotState | None, patience_s: float | None = None
    ) -> list[Violation]:
        """
        Return all that is wrong with a state.

        :param now_s: steady clock.
        :param state: the newest state.
        :param patience_s: how long the distribution may be left and readings may be of
            different times; if None, as long as the settings and a control period allow.
        """
        if state is None:
            return [Violation(Check.STALE_STATE, 'no state has come yet')]
        if self._ordinary(now_s, state):
            self._skewed_since_s = self._outside_since_s = None
            return []
        names = self._not_finite(state)
        if names:
            return [Violation(Check.STATE_NOT_FINITE, ', '.join(dict.fromkeys(names)))]
        position, velocity, seen = state.position_rad, state.velocity_rad_s, state.observation
        placed = (position >= self._position_low) & (position <= self._position_high)
        slow = np.abs(velocity) <= self.trip_velocity_rad_s
        found = [
            self._stale(now_s, state),
            self._late(state),
            self._skewed(now_s, state, patience_s),
            None if placed.all() else self._misplaced(state, placed),
            None if slow.all() else self._fast(state, slow),
            self._leaning(state),
            self._low(state),
            self._outside(
                now_s, state, (seen >= self._lowest) & (seen <= self._highest), patience_s
            ),
        ]
        return [violation for violation in found if violation is not None]

    def _ordinary(self, now_s: float, state: RobotState) -> bool:
        """
        Return at once whether nothing is wrong with a state and all of it was demonstrated.

        Most states are such, and few calls keep a control period short. Written so that what
        is not finite is never within.
        """
        values = np.concatenate((state.position_rad, state.velocity_rad_s, state.observation))
        above = np.greater_equal(values, self._ordinary_low, self._above)
        below = np.less_equal(values, self._ordinary_high, self._below)
        return (
            b'\0' not in above.tobytes()  # a fifth of the time of all()
            and b'\0' not in below.tobytes()
            and abs(now_s - state.arrival_s) <= self._oldest_s
            and state.latency_s <= self._most_latency_s
            and state.skew_s <= self._most_skew_s
            and self._cosine_limit <= state.cosine_upright <= _MOST_COSINE
            and state.height_m >= self._lowest_m
        )

    def _not_finite(self, state: RobotState) -> list[str]:
        joints, terms = self.limits.joints, self.limits.terms
        return [
            *(f'{joints[i]}/position' for i in np.flatnonzero(~np.isfinite(state.position_rad))),
            *(f'{joints[i]}/velocity' for i in np.flatnonzero(~np.isfinite(state.velocity_rad_s))),
            *(terms[i] for i in np.flatnonzero(~np.isfinite(state.observation))),
            *(['the base'] if math.isnan(state.cosine_upright + state.height_m) else []),
        ]

    def _stale(self, now_s: float, state: RobotState) -> Violation | None:
        age_s = now_s - state.arrival_s
        if abs(age_s) <= self._oldest_s:
            return None
        return Violation(
            Check.STALE_STATE, f'the newest {state.oldest} is {age_s * 1e3:.1f} ms old'
        )

    def _late(self, state: RobotState) -> Violation | None:
        if state.latency_s <= self._most_latency_s:
            return None
        return Violation(
            Check.LATE_STATE, f'states come {state.latency_s * 1e3:.1f} ms later than they did'
        )

    def _skewed(
        self, now_s: float, state: RobotState, patience_s: float | None
    ) -> Violation | None:
        """Wait half a period: two messages of one instant do not arrive in one."""
        if state.skew_s <= self._most_skew_s:
            self._skewed_since_s = None
            return None
        if self._skewed_since_s is None:
            self._skewed_since_s = now_s
        grace_s = self.limits.period_s / 2 if patience_s is None else patience_s
        if now_s - self._skewed_since_s < grace_s:
            return None
        return Violation(
            Check.SKEW,
            f'the readings are {state.skew_s * 1e3:.1f} ms apart by their stamps, trips at '
            f'{self._most_skew_s * 1e3:.1f} ms',
        )

    def _misplaced(self, state: RobotState, placed: Within) -> Violation:
        joint, limits = int(np.argmin(placed)), self.limits
        return Violation(
            Check.POSITION,
            f'{limits.joints[joint]} is at {state.position_rad[joint]:.4g} rad, its limits are '
            f'{limits.position_low_rad[joint]:.4g} and {limits.position_high_rad[joint]:.4g}, '
            f'trips {self.settings.position_trip_rad:g} rad beyond',
        )

    def _fast(self, state: RobotState, slow: Within) -> Violation:
        joint = int(np.argmin(slow))
        return Violation(
            Check.VELOCITY,
            f'{self.limits.joints[joint]} turns at {state.velocity_rad_s[joint]:.2f} rad/s, trips '
            f'at {self.trip_velocity_rad_s[joint]:.2f}',
        )

    def _leaning(self, state: RobotState) -> Violation | None:
        if self._cosine_limit <= state.cosine_upright <= _MOST_COSINE:
            return None
        angle = math.acos(max(-1.0, min(1.0, state.cosine_upright)))
        return Violation(
            Check.TILT, f'the base leans {angle:.2f} rad, trips at {self.settings.max_tilt_rad}'
        )

    def _low(self, state: RobotState) -> Violation | None:
        if state.height_m >= self._lowest_m:
            return None
        return Violation(
            Check.FALL,
            f'the base is {state.height_m:.2f} m high, trips below {self.settings.min_height_m}',
        )

    def _outside(
        self, now_s: float, state: RobotState, within: Within, patience_s: float | None
    ) -> Violation | None:
        limits, seen = self.limits, state.observation
        demonstrated, trained, near = within
        self.counts[Check.OUTSIDE_DEMONSTRATIONS] += not demonstrated.all()
        if trained.all():
            self._outside_since_s = None
            return None
        if self._outside_since_s is None:
            self._outside_since_s = now_s
        grace_s = self.settings.distribution_grace_s if patience_s is None else patience_s
        if now_s - self._outside_since_s < grace_s and near.all():
            return None
        term = int(np.argmin(trained if near.all() else near))
        return Violation(
            Check.DISTRIBUTION,
            f'{limits.terms[term]} is {seen[term]:.4g}, trained from '
            f'{limits.trained_low[term]:.4g} to {limits.trained_high[term]:.4g} with margin',
        )
