# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Policy and gate together: a state in, a command out, at every tick of the loop."""

from __future__ import annotations

from collections.abc import Callable
import math

from lsiq_core.policy.artifact import (
    ArtifactError,
    contract_differences,
    OnnxPolicy,
    PolicyMetadata,
)
from lsiq_ros.control.robot_view import RobotView
from lsiq_ros.gate.gate import Gate, GateState
from lsiq_ros.gate.settings import GateSettings, limits_of
from lsiq_ros.gate.state_checks import all_finite, RobotState
from lsiq_ros.gate.torque_limits import clamp
from lsiq_ros.wire.cdr import NS_PER_S
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
AVERAGING = 0.1  # of the interval between states, per state
WAIT_PERIODS = 0.5  # for readings of one instant; then the policy takes what there is


class Controller:
    """
    Run the policy at its own rate; in between hold its torques, or follow its PD targets.

    The policy answers a state as soon as it is there. Which states it answers is decided
    by their stamps (:class:`ControlGrid`), so its phase follows the robot and a late answer
    does not delay the next one. The policy begins anew whenever it is given the robot: what it
    answered before was not what moved it. Its memory begins anew after a gap of the states, too.

    :param policy: a verified policy.
    :param settings: how strict the gate is.
    :param view: where states come from.
    """

    def __init__(self, policy: OnnxPolicy, settings: GateSettings, view: RobotView) -> None:
        self.policy = policy
        self.settings = settings
        self.view = view
        self.limits = limits_of(policy.metadata, settings)
        self._memory = policy.memory()
        self._mandate: tuple[Gate, float] | None = None  # who gave it the robot last, and when
        self._to_torque = torque_law(policy.metadata)
        self.state: RobotState | None = None
        self.policy_ticks = 0
        self._begin()

    def new_gate(self) -> Gate:
        """Return a gate for this policy, disarmed."""
        return Gate(self.limits, self.settings)

    def tick(self, now_s: float, lateness_s: float, gate: Gate) -> Array:
        """Return the command for this instant; all of it passes the gate."""
        self.state = self.view.state()
        mandate = (gate, gate.since_s) if gate.state is GateState.RUNNING else None
        if mandate != self._mandate:
            self._begin()
        self._mandate = mandate
        fault = self.view.fault
        return gate.step(now_s, self.state, lambda: self._request(now_s), lateness_s, fault)

    def swap(self, policy: OnnxPolicy) -> None:
        """
        Let another policy take over between two ticks.

        :raises ArtifactError: if its contract is not the same.
        """
        differences = contract_differences(self.policy.metadata, policy.metadata)
        if differences:
            raise ArtifactError(
                f'{policy.artifact.source}: has another contract, {"; ".join(differences)}'
            )
        self.limits = limits_of(policy.metadata, self.settings)
        self.policy, self._to_torque = policy, torque_law(policy.metadata)

    def _begin(self) -> None:
        """Know nothing of the past."""
        self._memory.begin()
        self._grid = ControlGrid(self.limits.period_s)
        self.request_nm: Array = np.zeros(len(self.limits.joints))
        self._answer: Array | None = None  # of the policy: torques, or PD targets

    def _request(self, now_s: float) -> Array:
        """Return the torques to ask for; the gate asks only for a state that is in order."""
        assert self.state is not None
        # Not a number stands if the policy raises, now and until it has answered again.
        if self._due(now_s, self.state):
            if self._grid.broken(self.view.newest_ns or 0):
                self._memory.begin()
            self._grid.answered(self.view.newest_ns or 0)
            self.policy_ticks += 1
            self._answer = self.request_nm = np.full_like(self.request_nm, np.nan)
            self._answer = self.policy(self._memory.see(self.state.observation))
            self._memory.did(self._answer)
        if self._answer is not None:  # before the first answer: no torque
            self.request_nm = self._to_torque(self._answer, self.state)
        return self.request_nm

    def _due(self, now_s: float, state: RobotState) -> bool:
        if self.view.newest_ns is None or not self._grid.due(self.view.newest_ns):
            return False
        period_s = self.limits.period_s
        waited = now_s - self.view.newest_arrival_s > WAIT_PERIODS * period_s
        return self.view.coherent or (
            waited and state.skew_s <= self.settings.skew_periods * period_s
        )


def torque_law(metadata: PolicyMetadata) -> Callable[[Array, RobotState], Array]:
    """Return how an answer of the policy and the newest state become torque."""
    if not metadata.pd:
        return lambda answer, _state: answer
    stiffness = np.array([target.stiffness for target in metadata.pd])
    damping = np.array([target.damping for target in metadata.pd])
    low, high = (np.array(end) for end in metadata.action_range)
    least = np.array([joint.effort_low_nm for joint in metadata.joints])
    most = np.array([joint.effort_high_nm for joint in metadata.joints])

    def follow(target: Array, state: RobotState) -> Array:
        if not all_finite(target):  # it must trip, not be clamped
            return np.full_like(target, np.nan)
        # As the simulation computes it, target range and torque limits included.
        error = clamp(target, low, high) - state.position_rad
        return clamp(stiffness * error - damping * state.velocity_rad_s, least, most)

    return follow


class ControlGrid:
    """
    Decide which states the policy answers: one in a control period of the robot's own time.

    A robot that sends faster has some states left out; one that sends a little slower has
    all of them answered. Half an interval between two states is forgiven for jitter.

    :param period_s: the control period.
    """

    def __init__(self, period_s: float) -> None:
        self._period_ns = period_s * NS_PER_S
        self._next_ns = -math.inf
        self._newest_ns = -math.inf
        self._interval_ns = self._period_ns
        self._answered_ns: int | None = None

    def due(self, stamp_ns: int) -> bool:
        """Return whether the state of this stamp is to be answered."""
        if stamp_ns != self._newest_ns:
            interval_ns = min(max(stamp_ns - self._newest_ns, 0.0), self._period_ns)
            self._interval_ns += AVERAGING * (interval_ns - self._interval_ns)
            self._newest_ns = stamp_ns
        if stamp_ns == self._answered_ns:
            return False
        if self.broken(stamp_ns):
            return True
        return stamp_ns >= self._next_ns - self._interval_ns / 2

    def broken(self, stamp_ns: int) -> bool:
        """Return whether a clock that went back, or a long gap, begins a new grid."""
        return abs(stamp_ns - self._next_ns) > 2 * self._period_ns

    def answered(self, stamp_ns: int) -> None:
        """Note that this state was answered."""
        self._answered_ns = stamp_ns
        if abs(stamp_ns - self._next_ns) > self._period_ns:
            self._next_ns = stamp_ns
        self._next_ns += self._period_ns
