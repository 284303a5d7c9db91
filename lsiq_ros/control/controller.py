# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Policy and gate together: a state in, a command out, at every tick of the loop."""

from __future__ import annotations

from lsiq_core.artifact import ArtifactError, contract_differences, OnnxPolicy
from lsiq_ros.control.robot_view import RobotView
from lsiq_ros.gate.checks import Check, Violation
from lsiq_ros.gate.gate import Gate, GateState
from lsiq_ros.gate.inspection import RobotState
from lsiq_ros.gate.settings import GateSettings, limits_of
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
WAIT_PERIODS = 1.5  # without a coherent state for so long, the policy takes what there is


class Controller:
    """
    Run the policy at its own rate and hold its torques in between.

    The policy answers each state once, as soon as it is there, and no more often than
    once in a control period; so its phase follows the robot, not our clock.

    :param policy: a verified policy.
    :param settings: how strict the gate is.
    :param view: where states come from.
    :param command_period_s: how often :meth:`tick` is called.
    """

    def __init__(
        self, policy: OnnxPolicy, settings: GateSettings, view: RobotView, command_period_s: float
    ) -> None:
        self.policy = policy
        self.settings = settings
        self.view = view
        self.limits = limits_of(policy.metadata, settings)
        self.request_nm: Array = np.zeros(len(self.limits.joints))
        self.state: RobotState | None = None
        self.policy_ticks = 0
        self._due_s = self.limits.period_s - command_period_s / 2
        self._answered_s = float('-inf')  # when the policy last ran, steady clock
        self._answered_stamp_s = float('-inf')  # which state it answered
        self._failure: Violation | None = None

    def new_gate(self) -> Gate:
        """Return a gate for this policy, disarmed."""
        return Gate(self.limits, self.settings)

    def tick(self, now_s: float, lateness_s: float, gate: Gate) -> Array:
        """Return the command for this instant; all of it passes the gate."""
        self.state = self.view.state()
        mismatch = self.view.mismatch
        if mismatch is not None and gate.state is GateState.RUNNING:
            gate.trip(now_s, mismatch)
        if self.state is not None and self._due(now_s):
            self._ask(now_s, self.state)
        if self._failure is not None and gate.state is GateState.RUNNING:
            gate.trip(now_s, self._failure)
        return gate.step(now_s, self.state, self.request_nm, lateness_s)

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
        self.policy = policy

    def _due(self, now_s: float) -> bool:
        if self.view.newest_s == self._answered_stamp_s or now_s - self._answered_s < self._due_s:
            return False
        waited_s = now_s - self._answered_s
        return self.view.coherent or waited_s > WAIT_PERIODS * self.limits.period_s

    def _ask(self, now_s: float, state: RobotState) -> None:
        self._answered_s, self._answered_stamp_s = now_s, self.view.newest_s
        self.policy_ticks += 1
        try:
            self.request_nm = self.policy(state.observation)
            self._failure = None
        except Exception as error:  # whatever it was, the robot must not keep the last torque
            self._failure = Violation(Check.POLICY_ERROR, f'{type(error).__name__}: {error}')
