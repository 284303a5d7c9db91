# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
Between the policy and the motors.

Every command leaves through :meth:`Gate.step`. What it returns is finite, within the
torque limits and no further from the last command than the slew limit allows, whatever
goes in. A violation trips: the command ramps from where it was to damping, and the policy
has no say until :meth:`Gate.arm` finds the robot in order again. Where the velocity itself
cannot be trusted, damping is zero torque. A state that violates anything is not shown to
the policy.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from enum import Enum
import math

from lsiq_ros.gate.checks import Check, Violation
from lsiq_ros.gate.settings import GateLimits, GateSettings
from lsiq_ros.gate.state_checks import all_finite, RobotState, StateChecks
from lsiq_ros.gate.torque_limits import clamp, power_share, Taper
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Ask = Callable[[], Array]


class GateState(str, Enum):
    """Who drives."""

    DISARMED = 'disarmed'
    RUNNING = 'running'
    TRIPPED = 'tripped'


class Gate:
    """
    The last word on every torque.

    :param limits: what the policy and the robot allow.
    :param settings: how strict to be.
    """

    def __init__(self, limits: GateLimits, settings: GateSettings) -> None:
        self.limits = limits
        self.settings = settings
        self.state = GateState.DISARMED
        self.tripped_by: Violation | None = None
        self.counts: Counter[Check] = Counter()
        self.command_nm: Array = np.zeros(len(limits.joints))
        self.checks = StateChecks(limits, settings, self.counts)
        self._taper = Taper(limits, settings)
        self._period_slew_nm: Array = limits.slew_nm_s * limits.period_s
        self._now_s: float | None = None  # of the last step
        self.since_s = -math.inf  # when the present state began
        self._left_at_nm = self.command_nm  # the command that a ramp starts from

    def arm(self, now_s: float, state: RobotState | None) -> list[Violation]:
        """Hand over to the policy, or return why not; a latched trip is cleared by it."""
        violations = self.checks.violations(now_s, state, patience_s=0.0)
        if not violations:
            self.state, self.tripped_by = GateState.RUNNING, None
            self.since_s, self._left_at_nm = now_s, self.command_nm
        return violations

    def trip(self, now_s: float, violation: Violation) -> None:
        """Take the robot from the policy; the first reason stays until it is armed again."""
        self.counts[violation.check] += 1
        if self.state is GateState.RUNNING:
            self.state, self.tripped_by = GateState.TRIPPED, violation
            self.since_s, self._left_at_nm = now_s, self.command_nm

    def take_limits(self, limits: GateLimits) -> None:
        """Go on with the limits of another policy that drives the same joints."""
        self.limits = limits
        self.checks = StateChecks(limits, self.settings, self.counts)
        self._taper = Taper(limits, self.settings)
        self._period_slew_nm = limits.slew_nm_s * limits.period_s

    def step(
        self,
        now_s: float,
        state: RobotState | None,
        request: Array | Ask,
        lateness_s: float = 0.0,
        fault: Violation | None = None,
    ) -> Array:
        """
        Return the command for this instant.

        :param now_s: steady clock.
        :param state: the newest state, or None if there was none yet.
        :param request: torques of the policy, or a function that returns them; it is called
            only while it runs and nothing is wrong with the state.
        :param lateness_s: how much later than planned this step comes.
        :param fault: what was found wrong before; it trips.
        """
        if not math.isfinite(now_s):  # no clock, no progress
            now_s = self._now_s or 0.0
        request_nm = self.command_nm
        if self.state is GateState.RUNNING:
            fault = fault or self._inspect(now_s, state, lateness_s)
            if fault is None:
                try:
                    request_nm = request() if callable(request) else request
                    fault = self._wrong_request(request_nm)
                except Exception as error:  # the robot must not keep the last torque
                    fault = Violation(Check.POLICY_ERROR, f'{type(error).__name__}: {error}')
            if fault is None:
                return self._command(now_s, state, request_nm, sound=True)
            self.trip(now_s, fault)
        with np.errstate(over='ignore', invalid='ignore'):
            return self._command(now_s, state, request_nm, sound=False)

    def _inspect(
        self, now_s: float, state: RobotState | None, lateness_s: float
    ) -> Violation | None:
        if not lateness_s <= self.settings.late_loop_periods * self.limits.period_s:
            return Violation(Check.LATE_LOOP, f'the loop woke {lateness_s * 1e3:.1f} ms late')
        found = self.checks.violations(now_s, state)
        return found[0] if found else None

    def _command(
        self, now_s: float, state: RobotState | None, request_nm: Array, sound: bool
    ) -> Array:
        trusted = state is not None and (sound or self.checks.trustworthy(now_s, state))
        target = self._target(now_s, state if trusted else None, request_nm)
        step_nm = self._slew_nm(now_s)
        if np.count_nonzero(np.abs(target - self.command_nm) > step_nm):
            self.counts[Check.SLEW_LIMIT] += sound
            lowest, highest = self.command_nm - step_nm, self.command_nm + step_nm
            target = clamp(target, lowest, highest)
        self.command_nm = target
        return target.copy()

    def _wrong_request(self, request_nm: Array) -> Violation | None:
        if request_nm.shape != self.command_nm.shape or not all_finite(request_nm):
            return Violation(
                Check.COMMAND_NOT_FINITE, f'the policy asks for {request_nm.tolist()}'
            )
        return None

    def _slew_nm(self, now_s: float) -> Array:
        """Return the largest step since the last command, never more than of a control period."""
        before_s, self._now_s = self._now_s, now_s
        period_s = self.limits.period_s
        elapsed_s = period_s if before_s is None else max(now_s - before_s, 0.0)
        if elapsed_s >= period_s:
            return self._period_slew_nm
        return self.limits.slew_nm_s * elapsed_s

    def _target(self, now_s: float, state: RobotState | None, request_nm: Array) -> Array:
        if self.state is GateState.RUNNING:
            share = self._ramp(now_s, self.settings.ramp_in_s)
            if share >= 1.0:
                return self._shape(request_nm, state)
            damping = self._damping(state)
            with np.errstate(over='ignore'):  # of a request that is finite and no more
                return self._shape(damping + share * (request_nm - damping), state)
        damping = self._damping(state)
        if self.state is GateState.TRIPPED:
            # A ramp that starts one period in: the last command is not repeated once.
            share = self._ramp(now_s + self.limits.period_s, self.settings.ramp_out_s)
            damping = self._left_at_nm + share * (damping - self._left_at_nm)
        return self._shape(damping, state)

    def _damping(self, state: RobotState | None) -> Array:
        """Return a torque against the motion, never more than at the velocity that trips."""
        if state is None:
            return np.zeros_like(self.command_nm)
        fastest = self.checks.trip_velocity_rad_s
        velocity = clamp(state.velocity_rad_s, -fastest, fastest)
        damping: Array = -self.settings.damping_nm_s_rad * velocity
        return damping

    def _ramp(self, now_s: float, duration_s: float) -> float:
        elapsed_s = now_s - self.since_s
        if duration_s <= 0.0 or elapsed_s >= duration_s:
            return 1.0
        return max(elapsed_s / duration_s, 0.0)

    def _shape(self, target: Array, state: RobotState | None) -> Array:
        low, high = self.limits.effort_low_nm, self.limits.effort_high_nm
        if state is None:
            return clamp(target, low, high)
        lowest, highest = self._taper.range_nm(state.position_rad, state.velocity_rad_s)
        shaped = clamp(target, lowest, highest)
        if self.state is GateState.RUNNING and np.count_nonzero(shaped != target):
            self._count_what_limited(target, shaped, state)
        share = power_share(shaped, state.velocity_rad_s, self.settings.power_w)
        if share < 1.0:
            self.counts[Check.POWER_LIMIT] += 1
            shaped = np.where(shaped * state.velocity_rad_s > 0, shaped * share, shaped)
        return shaped

    def _count_what_limited(self, target: Array, shaped: Array, state: RobotState) -> None:
        low, high = self.limits.effort_low_nm, self.limits.effort_high_nm
        clamped = clamp(target, low, high)
        tapered = clamp(clamped, *self._taper.range_by_position_nm(state.position_rad))
        for check, before, after in (
            (Check.TORQUE_CLAMP, target, clamped),
            (Check.POSITION_TAPER, clamped, tapered),
            (Check.VELOCITY_TAPER, tapered, shaped),
        ):
            if (before != after).any():
                self.counts[check] += 1
