# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""The parameters of the torque-control node."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from lsiq_core.errors import ConfigError
from lsiq_core.shipped_files import find_file
from lsiq_ros.control.black_box_bag import default_directory
from lsiq_ros.gate.settings import GateSettings
from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor
from rclpy.node import Node
from rclpy.parameter import Parameter


@dataclass(frozen=True)
class ControlParameters:
    """What was set, read at every configure."""

    policy: Path
    policy_sha256: str
    robot: str
    robot_model_sha256: str
    command_rate_hz: float
    ignored_joints: tuple[str, ...]
    wait_for_robot_s: float
    arm_valid_s: float
    discovery_wait_s: float
    black_box_directory: Path
    black_box_s: float
    realtime_priority: int
    gate: GateSettings
    simulated_time: bool = False


_TEXTS = {
    'policy': 'the policy file (.onnx)',
    'policy_sha256': 'refuse any other policy than this one; empty accepts any that verifies',
    'robot': 'the robot the policy must be made for, by name or path; empty accepts any',
    'robot_model_sha256': 'hash of the robot model it must be made for; empty accepts any',
}
_NUMBERS = {
    'command_rate_hz': (500.0, 1.0, 5000.0, 'commands per second, a multiple of the policy rate'),
    'wait_for_robot_s': (5.0, 0.1, 600.0, 'how long configure waits for the robot to be heard'),
    'arm_valid_s': (30.0, 0.1, 3600.0, 'activation must follow arming within this'),
    'discovery_wait_s': (1.0, 0.0, 60.0, 'how long activate looks for other controllers'),
    'black_box_s': (10.0, 0.1, 600.0, 'how much of the time before a trip is kept'),
}


def declare_parameters(node: Node) -> None:
    """Declare them all, with descriptions and ranges."""
    for name, text in _TEXTS.items():
        node.declare_parameter(name, '', ParameterDescriptor(description=text))
    for name, (default, low, high, text) in _NUMBERS.items():
        node.declare_parameter(name, default, _number(text, low, high))
    whole = IntegerRange(from_value=0, to_value=99, step=1)
    node.declare_parameter(
        'realtime_priority',
        0,
        ParameterDescriptor(
            description='SCHED_FIFO priority of the process, needs rtprio; 0 for none',
            integer_range=[whole],
        ),
    )
    node.declare_parameter(
        'simulated_time',
        False,
        ParameterDescriptor(
            description='count periods, ramps and ages by the stamps of a simulated robot'
        ),
    )
    node.declare_parameter(
        'ignored_joints',
        Parameter.Type.STRING_ARRAY,
        ParameterDescriptor(
            description='joints of the robot that the policy does not drive; spaces part them, too'
        ),
    )
    node.declare_parameter(
        'black_box_directory',
        str(default_directory()),
        ParameterDescriptor(description='where the bag of a trip is written'),
    )
    for entry in fields(GateSettings):
        limits = entry.metadata
        node.declare_parameter(
            f'gate.{entry.name}',
            entry.default,
            _number(limits['text'], limits['low'], limits['high']),
        )


def read_parameters(node: Node) -> ControlParameters:
    """Return their present values; the node's configure takes them from here."""

    def value(name: str) -> Any:
        return node.get_parameter(name).value

    if not value('policy'):
        raise ConfigError('parameter policy is empty, it must name a policy file')
    ignored = node.get_parameter_or('ignored_joints', None)
    return ControlParameters(
        policy=find_file(value('policy')),
        black_box_directory=Path(value('black_box_directory')).expanduser(),
        ignored_joints=tuple(' '.join((ignored.value if ignored else None) or ()).split()),
        realtime_priority=value('realtime_priority'),
        simulated_time=value('simulated_time'),
        gate=GateSettings(**{f.name: value(f'gate.{f.name}') for f in fields(GateSettings)}),
        **{name: value(name) for name in _TEXTS if name != 'policy'},
        **{name: value(name) for name in _NUMBERS},
    )


def _number(text: str, low: float, high: float) -> ParameterDescriptor:
    span = FloatingPointRange(from_value=float(low), to_value=float(high), step=0.0)
    return ParameterDescriptor(description=text, floating_point_range=[span])
