# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Which states are answered, and how readings are put together."""

from __future__ import annotations

from lsiq_core.history import History
from lsiq_core.policy.artifact import verify
from lsiq_ros.control.controller import ControlGrid, Controller
from lsiq_ros.control.robot_view import joint_differences, RobotView
from lsiq_ros.gate.checks import Check
from lsiq_ros.gate.gate import GateState
from lsiq_ros.gate.settings import GateSettings
from lsiq_ros.wire.base import BaseOdometry
from lsiq_ros.wire.cdr import JointState, Odometry
from lsiq_ros.wire.observation import observe_raw
import numpy as np
import pytest
from spring_policy import Growing, TERMS, write_policy

BASE = BaseOdometry((0.0, 0.0, 1.0), (0.0, 0.0, 0.0, 1.0), (0.0,) * 3, (0.0,) * 3)


def joints(stamp_s: float, knee: float, hip: float) -> JointState:
    return JointState(round(stamp_s * 1e9), '', ('knee', 'hip'), (knee, hip), (0.0, 0.0), ())


def upright(stamp_s: float) -> Odometry:
    return Odometry(round(stamp_s * 1e9), 'odom', 'base_link', BASE)


def answered(stamps: np.ndarray, period_s: float = 0.01) -> list[float]:
    grid, found = ControlGrid(period_s), []
    for stamp in np.round(stamps * 1e9).astype(np.int64).tolist():
        if grid.due(stamp):
            grid.answered(stamp)
            found.append(stamp / 1e9)
        assert not grid.due(stamp), 'the same state is answered twice'
    return found


@pytest.mark.parametrize(
    ('rate_hz', 'expected_hz'), [(100, 100), (98, 98), (500, 100), (1000, 100), (102, 100)]
)
def test_one_state_in_a_period_is_answered(rate_hz: float, expected_hz: float) -> None:
    stamps = 5.0 + np.arange(10 * rate_hz) / rate_hz
    assert len(answered(stamps)) == pytest.approx(10 * expected_hz, abs=2)


def test_jitter_of_stamps_loses_no_state() -> None:
    rng = np.random.default_rng(0)
    stamps = np.arange(1000) * 0.01 + rng.uniform(-0.003, 0.003, 1000)
    assert len(answered(stamps)) == 1000


def test_a_clock_that_starts_again_is_followed_at_once() -> None:
    assert answered(np.array([100.0, 100.01, 0.0, 0.01, 0.02])) == [100.0, 100.01, 0, 0.01, 0.02]


def test_joints_are_compared_as_sets_of_single_names() -> None:
    assert joint_differences(['b', 'a', 'arm'], {'a', 'b'}, {'arm'}) == ''
    many = [str(number) for number in range(100_000)]
    assert joint_differences(many, {'a'}, set()).startswith("not in the policy: ['0', '1', '10'")
    found = joint_differences(['a', 'a', 'x'], {'a', 'b'}, set())
    assert found == "named twice: ['a']; not in the policy: ['x']"


def test_the_policy_waits_for_readings_of_one_instant(tmp_path) -> None:
    verification = verify(write_policy(tmp_path / 'p.onnx'), observe=observe_raw)
    strict = GateSettings(ramp_in_s=0.0, slew_periods=0.1, position_jump_rad=1.0)
    view = RobotView(verification.artifact.metadata, strict)
    controller = Controller(verification.policy, strict, view)
    gate = controller.new_gate()
    assert view.missing == ["joints missing: ['hip', 'knee']", 'no base'] and view.state() is None
    view.take_joints(joints(10.0, 0.2, 0.1), 0.0)
    view.take_odometry(upright(10.0), 0.0)
    controller.tick(0.001, 0.0, gate)
    assert gate.arm(0.001, controller.state) == []
    assert controller.tick(0.006, 0.0, gate) == pytest.approx([0, -20], abs=1e-4)
    view.take_joints(joints(10.04, 0.0, 0.0), 0.04)
    assert controller.tick(0.041, 0.0, gate) == pytest.approx([0, -20], abs=1e-4)
    view.take_odometry(upright(10.04), 0.042)
    assert controller.tick(0.043, 0.0, gate) == pytest.approx([20, 20], abs=1e-4)
    assert controller.policy_ticks == 2 and len(TERMS) == 5


def remembering(tmp_path) -> tuple[RobotView, Controller]:
    """Return the view and the controller of a policy that sees its own last answer."""
    written = write_policy(tmp_path / 'p.onnx', module=Growing(), history=History(actions=1))
    policy = verify(written, observe=observe_raw).policy
    strict = GateSettings(ramp_in_s=0.0, slew_periods=0.1)
    view = RobotView(policy.metadata, strict)
    controller = Controller(policy, strict, view)
    return view, controller


def test_a_policy_remembers_while_it_drives_and_no_longer(tmp_path) -> None:
    view, controller = remembering(tmp_path)

    def commands(stamps_s: list[float]) -> list[float]:
        found = []
        for stamp_s in stamps_s:
            view.take_joints(joints(stamp_s, 0.1, 0.1), stamp_s)
            view.take_odometry(upright(stamp_s), stamp_s)
            found.append(controller.tick(stamp_s, 0.0, gate)[0])
        return found

    for begun_s in (10.0, 10.16):  # it drives, and is given the robot again
        gate = controller.new_gate()
        commands([begun_s])
        assert gate.arm(begun_s, controller.state) == []
        assert commands([begun_s + 0.04, begun_s + 0.08, begun_s + 0.12]) == [8, 12, 14]


def test_a_policy_begins_anew_when_a_gate_of_its_own_takes_the_robot(tmp_path) -> None:
    """From shadow to the robot: what it answered in the shadow moved nothing."""
    view, controller = remembering(tmp_path)

    def command(stamp_s: float) -> float:
        view.take_joints(joints(stamp_s, 0.1, 0.1), stamp_s)
        view.take_odometry(upright(stamp_s), stamp_s)
        return float(controller.tick(stamp_s, 0.0, gate)[0])

    gate = controller.new_gate()  # of the shadow
    command(10.0)
    assert gate.arm(10.0, controller.state) == []
    assert [command(10.04), command(10.08)] == [8, 12]
    gate = controller.new_gate()
    assert gate.arm(10.08, controller.state) == []
    assert [command(10.12), command(10.16)] == [8, 12]


def test_an_answer_that_is_no_number_is_forgotten_when_the_gate_is_armed_again(tmp_path) -> None:
    view, controller = remembering(tmp_path)
    gate = controller.new_gate()

    def command(now_s: float, new: bool = True) -> float:
        if new:
            view.take_joints(joints(now_s, 0.1, 0.1), now_s)
            view.take_odometry(upright(now_s), now_s)
        return float(controller.tick(now_s, 0.0, gate)[0])

    command(10.0)
    assert gate.arm(10.0, controller.state) == []
    command(10.04)
    controller._memory.did(np.full(2, np.nan))
    command(10.08)
    assert gate.tripped_by is not None and gate.tripped_by.check is Check.COMMAND_NOT_FINITE
    command(10.12)
    assert gate.arm(10.122, controller.state) == []
    assert command(10.124, new=False) == 8, gate.tripped_by


def test_a_policy_that_raises_trips(tmp_path) -> None:
    policy = verify(write_policy(tmp_path / 'p.onnx')).policy
    strict = GateSettings()
    view = RobotView(policy.metadata, strict)
    controller = Controller(policy, strict, view)
    gate = controller.new_gate()
    view.take_joints(joints(10.0, 0.2, 0.1), 0.0)
    view.take_odometry(upright(10.0), 0.0)
    controller.tick(0.001, 0.0, gate)
    gate.arm(0.001, controller.state)
    controller.policy = None  # type: ignore[assignment]
    view.take_joints(joints(10.04, 0.2, 0.1), 0.04)
    view.take_odometry(upright(10.04), 0.04)
    controller.tick(0.04, 0.0, gate)
    assert gate.state is GateState.TRIPPED
    assert gate.tripped_by is not None and gate.tripped_by.check is Check.POLICY_ERROR
