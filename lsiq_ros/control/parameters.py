# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""The parameters of the torque-control node."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

from lsiq_core.errors import ConfigError
from lsiq_ros.control.black_box_bag import default_directory
from lsiq_ros.gate.settings import FASTEST_HZ, GateSettings, SLOWEST_HZ
from lsiq_ros.wire.parameters import declare, parameter, read
from rclpy.node import Node

_parameter = partial(parameter, read_only=False)


@dataclass(frozen=True)
class ControlParameters:
    """What was set, read at every configure."""

    policy: str = _parameter('', 'the policy file (.onnx)')
    policy_sha256: str = _parameter(
        '', 'refuse any other policy than this one; empty accepts any that verifies'
    )
    robot: str = _parameter(
        '', 'the robot the policy must be made for, by name or path; empty accepts any'
    )
    robot_model_sha256: str = _parameter(
        '', 'hash of the robot model it must be made for; empty accepts any'
    )
    command_rate_hz: float = _parameter(
        500.0, 'commands per second, a multiple of the policy rate', SLOWEST_HZ, FASTEST_HZ
    )
    ignored_joints: tuple[str, ...] = _parameter(
        (), 'joints of the robot that the policy does not drive; spaces part them, too'
    )
    wait_for_robot_s: float = _parameter(
        5.0, 'how long configure waits for the robot to be heard', 0.1, 600
    )
    arm_valid_s: float = _parameter(30.0, 'activation must follow arming within this', 0.1, 3600)
    discovery_wait_s: float = _parameter(
        1.0, 'how long activate looks for other controllers', 0, 60
    )
    black_box_directory: str = _parameter('', 'where the bag of a trip is written')
    black_box_s: float = _parameter(10.0, 'how much of the time before a trip is kept', 0.1, 600)
    realtime_priority: int = _parameter(
        0, 'SCHED_FIFO priority of the process, needs rtprio; 0 for none', 0, 99
    )
    simulated_time: bool = _parameter(
        False, 'count periods, ramps and ages by the stamps of a simulated robot'
    )
    gate: GateSettings = field(default=GateSettings())


def declare_parameters(node: Node) -> None:
    """Declare them all, with descriptions and ranges."""
    declare(node, ControlParameters, black_box_directory=str(default_directory()))


def read_parameters(node: Node) -> ControlParameters:
    """Return their present values; the node's configure takes them from here."""
    found = read(node, ControlParameters)
    if not found.policy:
        raise ConfigError('parameter policy is empty, it must name a policy file')
    return found
