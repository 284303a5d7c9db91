# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""The parameters of the recorder, declared with types, ranges and descriptions."""

from __future__ import annotations

from dataclasses import dataclass
import math
from pathlib import Path
from typing import Any

from lsiq_core.robot import load_robot
from lsiq_core.types import FallBounds
from lsiq_ros.bags.recording import RecordingSettings
from lsiq_ros.wire.topics import EPISODE_EVENTS
from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor
from rclpy.node import Node


@dataclass(frozen=True)
class RecorderParameters:
    """What the node was told."""

    settings: RecordingSettings
    joint_state_topics: tuple[str, ...]
    odometry_topics: tuple[str, ...]
    wrench_topics: tuple[str, ...]
    effort_topics: tuple[str, ...]
    event_topic: str
    record_on_start: bool
    queue_depth: int
    diagnostics_period_s: float


def declare_parameters(node: Node) -> RecorderParameters:
    """Declare all parameters, read-only: a recording does not change under way."""

    def text(name: str, default: str, description: str) -> str:
        return str(_declare(node, name, default, description))

    def topics(name: str, default: tuple[str, ...], description: str) -> tuple[str, ...]:
        # An empty list has no type in ROS: one empty name stands for none.
        found = _declare(node, name, list(default) or [''], f"{description}; [''] for none")
        return tuple(topic for topic in found if topic)

    def yes(name: str, default: bool, description: str) -> bool:
        return bool(_declare(node, name, default, description))

    settings = RecordingSettings(
        root=Path(text('output_directory', 'bags', 'where bags are created')).expanduser(),
        name=text('bag_name', 'recording', 'how the names of bags begin'),
        source=text('source', '', 'who or what is recorded, for the metadata'),
        with_effort=yes('record_effort', False, 'keep the effort of the joint states'),
        fall=FallBounds(
            height_m=(
                _number(node, 'fall_height_m', 0.0, 0, 10, 'a lower base fell; 0: off')
                or -math.inf,
                math.inf,
            ),
            lean_rad=_number(
                node, 'fall_angle_rad', 0.0, 0, math.pi, 'a base leaning further fell; 0: off'
            )
            or math.inf,
        ),
        min_free_bytes=2**20 * _whole(node, 'min_free_mb', 64, 0, 10**6, 'stop below this, MiB'),
        compress=yes('compress', True, 'compress chunks with zstd'),
    )
    robot = load_robot(text('robot', 'atlas', 'name or path; its file says the default topics'))
    named = robot.topics
    wrenches = named.wrenches(robot.soles)
    with_effort = settings.with_effort
    efforts = topics('effort_topics', (), 'std_msgs/Float64MultiArray, only with record_effort')
    return RecorderParameters(
        settings=settings,
        joint_state_topics=topics(
            'joint_state_topics', (named.joint_states,), 'JointState topics'
        ),
        odometry_topics=topics('odometry_topics', (named.odometry,), 'Odometry of the base'),
        wrench_topics=topics('wrench_topics', wrenches, 'WrenchStamped topics of the feet'),
        effort_topics=efforts if with_effort else (),
        event_topic=text('event_topic', EPISODE_EVENTS, 'String: reset, fall, split or start'),
        record_on_start=yes('record_on_start', False, 'begin without waiting for ~/start'),
        queue_depth=_whole(node, 'queue_depth', 2000, 10, 10**6, 'messages kept while busy'),
        diagnostics_period_s=_number(node, 'diagnostics_period_s', 1.0, 0.1, 60, 'seconds'),
    )


def _declare(node: Node, name: str, default: Any, description: str, **ranges: Any) -> Any:
    descriptor = ParameterDescriptor(description=description, read_only=True, **ranges)
    return node.declare_parameter(name, default, descriptor).value


def _number(
    node: Node, name: str, default: float, lowest: float, highest: float, description: str
) -> float:
    span = FloatingPointRange(from_value=float(lowest), to_value=float(highest))
    return float(_declare(node, name, default, description, floating_point_range=[span]))


def _whole(
    node: Node, name: str, default: int, lowest: int, highest: int, description: str
) -> int:
    span = IntegerRange(from_value=lowest, to_value=highest, step=1)
    return int(_declare(node, name, default, description, integer_range=[span]))
