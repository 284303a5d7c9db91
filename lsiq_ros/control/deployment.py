# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""A policy on a robot: topics, controller, gate and loop, from configure to cleanup."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
import threading
import time
from typing import Any

from lsiq_core.errors import LsiqError, TaskError
from lsiq_core.policy.artifact import OnnxPolicy
from lsiq_ros.control.compatibility import check_identity, check_robot_rate
from lsiq_ros.control.controller import Controller
from lsiq_ros.control.diagnostics import lateness_summary
from lsiq_ros.control.parameters import ControlParameters
from lsiq_ros.control.robot_view import RobotView
from lsiq_ros.control.state_topics import StateTopics
from lsiq_ros.control.trip_report import TripReporter
from lsiq_ros.gate.black_box import BlackBox
from lsiq_ros.gate.checks import Check, Violation
from lsiq_ros.gate.gate import Gate, GateState
from lsiq_ros.gate.loop import LatenessRecord, SteadyLoop
from lsiq_ros.gate.robot_clock import RobotClock
from lsiq_ros.wire.cdr import write_float64_array
from lsiq_ros.wire.topics import EFFORT_COMMANDS, SHADOW_COMMANDS
import numpy as np
import numpy.typing as npt
from rclpy.node import Node

EFFORT_TYPE = 'std_msgs/msg/Float64MultiArray'
RATE_SAMPLES = 10
REPEAT_S = 0.1  # a simulated robot that sends nothing new for so long gets its last answer again
Array = npt.NDArray[np.float64]
OnTrip = Callable[[Violation], None]


class Deployment:
    """
    Everything that exists between configure and cleanup.

    :param node: owns subscriptions and clock.
    :param parameters: what the user set.
    :param policy: verified.
    :param on_trip: called with the reason, in a thread of its own.
    """

    def __init__(
        self, node: Node, parameters: ControlParameters, policy: OnnxPolicy, on_trip: OnTrip
    ) -> None:
        self._node, self.parameters = node, parameters
        check_identity(parameters, policy)
        directory = Path(parameters.black_box_directory).expanduser()  # may refuse
        command_period_s = 1 / parameters.command_rate_hz
        # Of a simulated robot: its time is the machine's only as far as the machine keeps up.
        self._clock = RobotClock(command_period_s) if parameters.simulated_time else None
        self._view = RobotView(
            policy.metadata, parameters.gate, parameters.ignored_joints, self._clock
        )
        self._controller = Controller(policy, parameters.gate, self._view)
        self._gate = self._controller.new_gate()
        self._black_box = BlackBox(parameters.black_box_s)
        self._topics = StateTopics(node, self._view, self._black_box)
        self._loop = SteadyLoop(command_period_s, self._tick, parameters.realtime_priority)
        self._lock = threading.Lock()  # the loop's tick against everything from outside
        self._counts: Counter[Check] = Counter()
        self._shadow: Any = None
        self._effort: Any = None
        self._yields = self._is_silent = False  # to others who command the robot
        self._answered: tuple[int | None, float] = (None, -REPEAT_S)  # a stamp, and when
        self._shadow_reasons: set[Check] = set()  # why the shadow's gate does not run
        self._trips = TripReporter(
            self._black_box, directory, self.type_names(), on_trip, node.get_logger()
        )

    # -- before the loop runs --------------------------------------------------------------

    def wait_for_robot(self, *, check_rate: bool = True) -> None:
        """
        Wait for the robot's topics, then hold its joints and its rate against the policy.

        :param check_rate: refuse a robot that is slower than the policy.
        :raises TaskError: naming what is missing or does not fit.
        """
        until_s = time.monotonic() + self.parameters.wait_for_robot_s
        stamps_ns: list[int] = []
        while len(stamps_ns) < RATE_SAMPLES:
            fault = self._view.fault
            if fault is not None and fault.check is Check.JOINT_MISMATCH:
                raise TaskError(f'the robot has other joints, {fault.detail}')
            if time.monotonic() > until_s:
                raise TaskError(self._what_is_missing(stamps_ns))
            self._topics.poll(time.monotonic())
            newest_ns = self._view.newest_ns
            if newest_ns is not None and self._view.complete and newest_ns not in stamps_ns:
                stamps_ns.append(newest_ns)
            time.sleep(0.001)
        if check_rate:
            check_robot_rate(self._controller.policy.metadata.rate_hz, stamps_ns)

    def _what_is_missing(self, stamps_ns: list[int]) -> str:
        waited = f'within {self.parameters.wait_for_robot_s:g} s'
        if self._view.missing:
            return f'the robot was not heard {waited}: {"; ".join(self._view.missing)}'
        dropped = ', '.join(f'{check.value} {n}' for check, n in self._view.counts.items())
        return (
            f'the robot sent {len(stamps_ns)} new states {waited}, {RATE_SAMPLES} are needed; '
            f'dropped or noticed: {dropped or "none"}'
        )

    def start(self, shadow: Any) -> None:
        """Begin to tick in shadow mode."""
        self._shadow = shadow
        self._loop.start()

    def stop(self) -> None:
        """End the loop and give the subscriptions back."""
        if self._loop.alive:
            self._loop.stop()
        self._topics.close()
        self._trips.join()

    # -- the loop --------------------------------------------------------------------------

    def _now_s(self) -> float:
        """Return the time that the gate counts in."""
        steady_s = time.monotonic()
        return steady_s if self._clock is None else self._clock.now_s(steady_s)

    def _tick(self, now_s: float, lateness_s: float) -> None:
        with self._lock:
            try:
                self._topics.poll(now_s)
                if self._clock is not None:
                    if not self._owes_an_answer(now_s):
                        return
                    # Its periods wait for their commands: no tick is late for it.
                    now_s, lateness_s = self._clock.now_s(now_s), 0.0
                self._revive_shadow(now_s)
                if self._yields and self._gate.state is GateState.TRIPPED:
                    command = self._gate.step(now_s, None, self._controller.request_nm)
                else:
                    command = self._controller.tick(now_s, lateness_s, self._gate)
            except Exception as error:  # a dead loop would leave its last torque standing
                now_s = self._now_s()
                failure = Violation(Check.POLICY_ERROR, f'{type(error).__name__}: {error}')
                self._gate.trip(now_s, failure)
                command = self._gate.step(now_s, None, self._controller.request_nm)
            self._publish(command)
            if self._effort is not None:
                self._trips.look(self._gate.tripped_by, self._notes)

    def _owes_an_answer(self, steady_s: float) -> bool:
        """
        Return whether a simulated robot waits for a command.

        Each of its states is answered once. Commands bear no stamp: where there were more of them
        than states, the simulator would take old ones for answers to new states. What trips does
        so at once: until a state can be answered, its fault may be over.
        """
        if self._view.fault is not None and self._gate.state is GateState.RUNNING:
            return True
        stamp_ns, at_s = self._answered
        newest_ns = self._view.newest_ns
        is_new = newest_ns != stamp_ns and self._view.coherent
        if not is_new and steady_s - at_s < REPEAT_S:
            return False
        self._answered = newest_ns, steady_s
        return True

    def _publish(self, command: Array) -> None:
        if self._is_silent:
            return
        publisher = self._shadow if self._effort is None else self._effort
        data = write_float64_array(command)
        publisher.publish(data)
        self._black_box.add(publisher.topic_name, time.time_ns(), data)
        yielded = self._yields and self._gate.state is not GateState.RUNNING
        self._is_silent = yielded and not command.any()

    def _revive_shadow(self, now_s: float) -> None:
        """In shadow nothing latches: the gate runs whenever the robot is in order."""
        if self._effort is not None or self._gate.state is GateState.RUNNING:
            return
        fault = self._view.fault
        reasons = [fault] if fault else self._gate.arm(now_s, self._controller.state)
        checks = {reason.check for reason in reasons}
        known = {self._gate.tripped_by.check} if self._gate.tripped_by else set()
        self._counts.update(checks - self._shadow_reasons - known)  # each once, when it begins
        self._shadow_reasons = checks

    def _notes(self) -> dict[str, str]:
        """Return what a black box should say beside its messages."""
        return {
            'policy_sha256': self._controller.policy.artifact.sha256,
            'joints': ' '.join(self._controller.limits.joints),
        }

    # -- from outside the loop -------------------------------------------------------------

    def check_ready(self) -> None:
        """Refuse, naming every reason, unless the robot could be driven now."""
        with self._lock:
            self._arm(self._controller.new_gate())

    def go_live(self, effort: Any) -> None:
        """Drive the robot from the next tick on."""
        with self._lock:
            gate = self._controller.new_gate()
            self._arm(gate)
            self._counts += self._gate.counts
            self._gate, self._effort = gate, effort

    def arm(self) -> None:
        """Hand the robot back to the policy after a trip."""
        with self._lock:
            if self._gate.state is GateState.RUNNING:
                raise LsiqError('runs already')
            self._arm(self._gate)

    def _arm(self, gate: Gate) -> None:
        """Arm a gate, or refuse with every reason why not."""
        fault = self._view.fault
        reasons = [fault] if fault else gate.arm(self._now_s(), self._controller.state)
        if reasons:
            raise LsiqError('; '.join([*map(str, reasons), *self._view.missing]))

    def yield_to_rivals(self, there_are: bool) -> None:
        """
        Tell whether others command the robot, too.

        A tripped node beside others ramps to zero torque and falls silent: two hands on one
        wheel are worse than either. When it is alone again, it damps.
        """
        with self._lock:
            self._yields = there_are
            self._is_silent &= there_are

    def trip(self, violation: Violation) -> None:
        """Take the robot from the policy."""
        with self._lock:
            if self._effort is not None and self._gate.state is GateState.RUNNING:
                self._gate.trip(self._now_s(), violation)

    def trip_for_dead_loop(self) -> None:
        """Trip in place of a loop that has died; who drives must let go now."""
        with self._lock:
            self._gate.trip(self._now_s(), Violation(Check.LATE_LOOP, 'the loop has died'))
            self._trips.look(self._gate.tripped_by, self._notes)

    def release(self) -> None:
        """Ramp to damping, then leave zero torque as the last command."""
        wanted = Violation(Check.DISARMED, 'deactivated')
        with self._lock:
            if self._gate.state is GateState.RUNNING:
                self._trips.expect(wanted)
                self._gate.trip(self._now_s(), wanted)
        ramp_s = self.parameters.gate.ramp_out_s + self._controller.limits.period_s
        if self._loop.alive:
            time.sleep(ramp_s)
        with self._lock:
            while True:  # the slew limit says how long
                self._publish(self._gate.step(self._now_s(), None, self._controller.request_nm))
                if not self._gate.command_nm.any():
                    break
                time.sleep(1 / self.parameters.command_rate_hz)
            self._effort, self._yields, self._is_silent = None, False, False
            self._counts += self._gate.counts
            self._gate = self._controller.new_gate()

    def swap(self, policy: OnnxPolicy) -> None:
        """Let another verified policy with the same contract take over."""
        check_identity(self.parameters, policy)
        with self._lock:
            self._controller.swap(policy)
            self._gate.take_limits(self._controller.limits)

    def count(self, check: Check) -> None:
        """Count what was noticed outside the gate."""
        with self._lock:
            self._counts[check] += 1

    # -- what others want to know ----------------------------------------------------------

    @property
    def mode(self) -> str:
        """Return shadow, or what the gate does with the robot."""
        return 'shadow' if self._effort is None else self._gate.state.value

    @property
    def loop_alive(self) -> bool:
        """Return whether commands still come."""
        return self._loop.alive

    @property
    def latched(self) -> Violation | None:
        """Return what tripped, until it is armed again."""
        return None if self._effort is None else self._gate.tripped_by

    @property
    def lateness(self) -> LatenessRecord:
        """Return how late the loop's ticks were."""
        return self._loop.record

    def counts(self) -> Counter[Check]:
        """Return how often each check has spoken since configure."""
        misses = Counter({Check.DEADLINE_MISS: self._loop.record.misses})
        with self._lock:  # a count that is new changes a dictionary while it is read
            heard = self._view.counts + self._topics.counts
            return self._counts + self._gate.counts + heard + misses

    def summary(self) -> dict[str, object]:
        """Return what a person wants to see first."""
        artifact, state = self._controller.policy.artifact, self._controller.state
        return {
            'policy': artifact.source,
            'policy_sha256': artifact.sha256,
            'robot': artifact.metadata.robot,
            'policy_ticks': self._controller.policy_ticks,
            'skew_ms': '' if state is None else f'{state.skew_s * 1e3:.1f}',
            'loop_alive': self.loop_alive,
            'realtime': self._loop.realtime_error or self.parameters.realtime_priority,
            **lateness_summary(self._loop.record),
        }

    def type_names(self) -> dict[str, str]:
        """Return the message type of every topic in the black box."""
        states = {
            self._node.resolve_topic_name(topic): f'{_package_of(kind)}/msg/{kind.__name__}'
            for topic, kind in self._topics.kinds.items()
        }
        efforts = [
            self._node.resolve_topic_name(topic) for topic in (EFFORT_COMMANDS, SHADOW_COMMANDS)
        ]
        return states | dict.fromkeys(efforts, EFFORT_TYPE)


def _package_of(kind: Any) -> str:
    return str(kind.__module__).split('.')[0]
