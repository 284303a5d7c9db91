# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Whether a policy was made for this robot: its name, its model, its rate."""

from __future__ import annotations

from lsiq_core.errors import ConfigError, TaskError
from lsiq_core.policy.artifact import Artifact, OnnxPolicy
from lsiq_core.robot import is_robot, load_robot
from lsiq_ros.control.parameters import ControlParameters

SLOWEST_SHARE = 0.8  # of the policy's rate that the robot's states must come at


def check_identity(parameters: ControlParameters, policy: OnnxPolicy) -> None:
    """
    Refuse a policy for another robot, or one whose rate the commands cannot keep.

    :raises TaskError: if a name or hash that was set is not the policy's.
    :raises ConfigError: if the command rate is no multiple of the policy's.
    """
    metadata = policy.metadata
    check_robot(policy.artifact, parameters.robot, parameters.robot_model_sha256)
    multiple = parameters.command_rate_hz / metadata.rate_hz
    if multiple < 1 or abs(multiple - round(multiple)) > 1e-6:
        raise ConfigError(
            f'command_rate_hz is {parameters.command_rate_hz:g}, must be a whole multiple of the '
            f"policy's {metadata.rate_hz:g} Hz"
        )


def check_robot(artifact: Artifact, robot: str, robot_model_sha256: str = '') -> None:
    """
    Refuse a policy that was made for another robot.

    :param robot: its name, or the path of its file; empty accepts any.
    :param robot_model_sha256: empty accepts any.
    :raises TaskError: if one that was set is not the policy's.
    """
    if robot and is_robot(robot):  # a path, or a variant's file
        robot = load_robot(robot).name
    metadata = artifact.metadata
    for name, wanted, found in (
        ('robot', robot, metadata.robot),
        ('robot_model_sha256', robot_model_sha256, metadata.robot_model_sha256),
    ):
        if wanted and wanted != found:
            raise TaskError(f'{artifact.source}: made for {name} {found!r}, this is {wanted!r}')


def check_robot_rate(wanted_hz: float, stamps_ns: list[int]) -> None:
    """
    Refuse a robot that is slower than the policy.

    :param wanted_hz: the policy's rate.
    :param stamps_ns: of some states in a row.
    """
    took_s = (stamps_ns[-1] - stamps_ns[0]) / 1e9
    if took_s <= 0:
        raise TaskError(f'the clock of the states went back by {-took_s:.3g} s, configure again')
    found_hz = (len(stamps_ns) - 1) / took_s
    if found_hz < SLOWEST_SHARE * wanted_hz:
        raise TaskError(
            f'the robot sends states at {found_hz:.1f} Hz, the policy needs {wanted_hz:g} Hz'
        )
