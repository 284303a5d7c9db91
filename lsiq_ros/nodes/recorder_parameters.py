# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""The parameters of the recorder; read-only: a recording does not change under way."""

from dataclasses import dataclass
import math
from pathlib import Path

from lsiq_core.robot import load_robot
from lsiq_core.types import FallBounds
from lsiq_ros.bags.recording import RecordingSettings
from lsiq_ros.wire.parameters import declare, parameter
from lsiq_ros.wire.topics import EPISODE_EVENTS
from rclpy.node import Node


@dataclass(frozen=True)
class _Robot:
    robot: str = parameter('atlas', 'name or path; its file says the default topics')


@dataclass(frozen=True)
class RecorderParameters:
    """What the node was told."""

    output_directory: str = parameter('bags', 'where bags are created')
    bag_name: str = parameter('recording', 'how the names of bags begin')
    source: str = parameter('', 'who or what is recorded, for the metadata')
    record_effort: bool = parameter(False, 'keep the effort of the joint states')
    fall_height_m: float = parameter(0.0, 'a lower base fell; 0: off', 0, 10)
    fall_angle_rad: float = parameter(0.0, 'a base leaning further fell; 0: off', 0, math.pi)
    min_free_mb: int = parameter(64, 'stop below this, MiB', 0, 10**6)
    compress: bool = parameter(True, 'compress chunks with zstd')
    joint_state_topics: tuple[str, ...] = parameter((), 'JointState topics')
    odometry_topics: tuple[str, ...] = parameter((), 'Odometry of the base')
    wrench_topics: tuple[str, ...] = parameter((), 'WrenchStamped topics of the feet')
    effort_topics: tuple[str, ...] = parameter(
        (), 'std_msgs/Float64MultiArray, only with record_effort'
    )
    event_topic: str = parameter(EPISODE_EVENTS, 'String: reset, fall, split or start')
    record_on_start: bool = parameter(False, 'begin without waiting for ~/start')
    queue_depth: int = parameter(2000, 'messages kept while busy', 10, 10**6)
    diagnostics_period_s: float = parameter(1.0, 'seconds', 0.1, 60)

    @property
    def settings(self) -> RecordingSettings:
        """Return how to record."""
        return RecordingSettings(
            root=Path(self.output_directory).expanduser(),
            name=self.bag_name,
            source=self.source,
            with_effort=self.record_effort,
            fall=FallBounds(
                height_m=(self.fall_height_m or -math.inf, math.inf),
                lean_rad=self.fall_angle_rad or math.inf,
            ),
            min_free_bytes=2**20 * self.min_free_mb,
            compress=self.compress,
        )


def declare_parameters(node: Node) -> RecorderParameters:
    """Declare all parameters; the topics are those of the robot unless others are named."""
    robot = load_robot(declare(node, _Robot).robot)
    named = robot.topics
    return declare(
        node,
        RecorderParameters,
        joint_state_topics=(named.joint_states,),
        odometry_topics=(named.odometry,),
        wrench_topics=named.wrenches(robot.soles),
    )
