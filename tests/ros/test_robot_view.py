# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""What the robot's readings come to: joints by name, the oldest reading's age, what is missing."""

from __future__ import annotations

from dataclasses import replace
import math

from lsiq_core.policy.artifact import ArtifactError, Bounds, verify
from lsiq_ros.control.controller import Controller
from lsiq_ros.control.robot_view import RobotView
from lsiq_ros.gate.checks import Check
from lsiq_ros.gate.gate import GateState
from lsiq_ros.gate.settings import GateSettings
from lsiq_ros.wire.base import BaseOdometry
from lsiq_ros.wire.cdr import JointState, Odometry
import pytest
from spring_policy import write_policy

SETTINGS = GateSettings(ramp_in_s=0.0, slew_periods=0.1)
PERIOD_S = 0.04


def pelvis(height_m: float = 1.0, lean_rad: float = 0.0) -> BaseOdometry:
    turn = (math.sin(lean_rad / 2), 0.0, 0.0, math.cos(lean_rad / 2))
    return BaseOdometry((0.0, 0.0, height_m), turn, (0.0,) * 3, (0.0,) * 3)


class Robot:
    """A controller and the readings that it is fed with."""

    def __init__(self, folder) -> None:
        self.policy = verify(write_policy(folder / 'policy.onnx')).policy
        self.view = RobotView(self.policy.metadata, SETTINGS)
        self.controller = Controller(self.policy, SETTINGS, self.view)
        self.gate = self.controller.new_gate()
        self.tick(0)
        assert self.gate.arm(0.0, self.controller.state) == []

    def joints(self, step: int, names=('hip', 'knee'), **values) -> bool:
        found = {'position': (0.0,) * len(names), 'velocity': (0.0,) * len(names)}
        now_s = step * PERIOD_S
        stamp_ns = round((10 + now_s) * 1e9)
        message = JointState(stamp_ns, '', tuple(names), effort=(), **(found | values))
        return self.view.take_joints(message, now_s)

    def body(self, step: int, delay_s: float = 0.0, **values) -> None:
        stamp_ns = round((10 + step * PERIOD_S - delay_s) * 1e9)
        message = Odometry(stamp_ns, 'odom', 'base_link', pelvis(**values))
        self.view.take_odometry(message, step * PERIOD_S)

    def tick(self, step: int, **values):
        self.joints(step)
        self.body(step, **values)
        return self.controller.tick(step * PERIOD_S, 0.0, self.gate)

    @property
    def tripped_by(self) -> Check | None:
        return None if self.gate.tripped_by is None else self.gate.tripped_by.check


@pytest.fixture
def robot(tmp_path) -> Robot:
    return Robot(tmp_path)


@pytest.mark.parametrize(
    ('names', 'values'),
    [
        (('hip',), {}),
        (('hip', 'knee', 'arm'), {}),
        (('hip', 'knee', 'knee'), {}),
        (('hip', 'knee'), {'velocity': ()}),
        (('hip', 'knee'), {'position': [0.0]}),
    ],
    ids=['missing', 'extra', 'twice', 'no velocities', 'too few positions'],
)
def test_other_joints_trip_and_are_forgiven_after_arming(robot: Robot, names, values) -> None:
    assert not robot.joints(1, names, **values)
    robot.body(1)
    robot.controller.tick(PERIOD_S, 0.0, robot.gate)
    assert robot.tripped_by is Check.JOINT_MISMATCH
    robot.tick(2)
    assert robot.view.fault is None and robot.gate.arm(0.08, robot.controller.state) == []
    robot.tick(3)
    assert robot.gate.state is GateState.RUNNING


def test_the_oldest_reading_decides_what_is_stale(robot: Robot) -> None:
    """The joints come, the pelvis has stopped."""
    for step in range(1, 6):
        robot.joints(step)
        robot.controller.tick(step * PERIOD_S, 0.0, robot.gate)
    assert robot.tripped_by is Check.STALE_STATE


def test_the_latest_reading_decides_what_is_late(robot: Robot) -> None:
    """The joints are in time, the pelvis falls behind by almost a period in each."""
    for step in range(1, 6):
        robot.tick(step, delay_s=0.9 * step * PERIOD_S)
    assert robot.tripped_by is Check.LATE_STATE


@pytest.mark.parametrize(
    ('values', 'check'),
    [({'lean_rad': 0.9}, Check.TILT), ({'height_m': 0.4}, Check.FALL)],
    ids=['tilt', 'fall'],
)
def test_the_pelvis_is_watched(robot: Robot, values, check: Check) -> None:
    robot.tick(1, **values)
    assert robot.tripped_by is check


def test_readings_that_never_meet_are_answered_after_half_a_period(robot: Robot) -> None:
    robot.joints(1)
    answered = robot.controller.policy_ticks
    robot.controller.tick(1.4 * PERIOD_S, 0.0, robot.gate)
    assert robot.controller.policy_ticks == answered
    robot.controller.tick(1.6 * PERIOD_S, 0.0, robot.gate)
    assert robot.controller.policy_ticks == answered + 1


def test_another_policy_takes_over_with_its_own_distribution_only(robot: Robot, tmp_path) -> None:
    other = verify(write_policy(tmp_path / 'other.onnx', robot='three_joints')).policy
    with pytest.raises(ArtifactError, match='another contract'):
        robot.controller.swap(other)
    narrow = Bounds((-1.0,) * 4 + (0.9,), (1.0,) * 4 + (1.05,), 10)
    bounds = {'demonstration_bounds': narrow, 'training_bounds': narrow}
    same = verify(write_policy(tmp_path / 'same.onnx', **bounds)).policy
    robot.controller.swap(same)
    robot.gate.take_limits(robot.controller.limits)
    assert robot.controller.policy is same
    for step in range(1, 5):
        robot.tick(step, height_m=1.3)
    assert robot.tripped_by is Check.DISTRIBUTION


def test_who_gets_a_command_cannot_change_the_next_one(robot: Robot) -> None:
    command = robot.tick(1)
    before = command.copy()
    command[:] = 1e9
    assert (robot.gate.command_nm == before).all()


def test_a_policy_without_limits_never_becomes_a_controller(robot: Robot) -> None:
    joints = tuple(replace(j, velocity_rad_s=None) for j in robot.policy.metadata.joints)
    robot.policy.metadata = replace(robot.policy.metadata, joints=joints)
    with pytest.raises(Exception, match='a robot needs both'):
        Controller(robot.policy, SETTINGS, robot.view)
