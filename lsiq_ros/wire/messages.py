# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Messages that are built as objects: transforms, diagnostics, the progress of a run."""

from __future__ import annotations

from collections.abc import Mapping
import math
from typing import TYPE_CHECKING

from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from geometry_msgs.msg import TransformStamped
from lsiq_ros.wire.base import BaseOdometry, FramePose
from sensor_msgs.msg import JointState

if TYPE_CHECKING:
    from rclpy.node import Node

ODOM_FRAME = 'odom'  # REP-105
BASE_FRAME = 'base_link'  # REP-120: the pelvis
# Always there and always first: Foxglove plots the elements of a list by their place.
FIRST_METRICS = (
    'steps',
    'training/episode_length',
    'evaluation/episode_length_mean',
    'evaluation/normalized_return',
    'idm/heldout_r2',
)


def write_time(message: Time, stamp_ns: int) -> None:
    """Write nanoseconds into a Time."""
    message.sec, message.nanosec = divmod(stamp_ns, 1_000_000_000)


def transform(pose: FramePose, stamp_ns: int) -> TransformStamped:
    """Return a frame's pose as TF carries it."""
    message = TransformStamped()
    write_time(message.header.stamp, stamp_ns)
    message.header.frame_id, message.child_frame_id = pose.parent, pose.child
    place, turn = message.transform.translation, message.transform.rotation
    place.x, place.y, place.z = pose.position_m
    turn.x, turn.y, turn.z, turn.w = pose.orientation_xyzw
    return message


def base_frame(base: BaseOdometry) -> FramePose:
    """Return the base as a frame in odom."""
    return FramePose(ODOM_FRAME, BASE_FRAME, base.position_m, base.orientation_xyzw)


def diagnostics(
    node: Node, about: str, hardware_id: str, problems: list[str], values: Mapping[str, object]
) -> DiagnosticArray:
    """Return what a node says of itself: it warns when there are problems and is OK otherwise."""
    status = DiagnosticStatus(
        level=DiagnosticStatus.WARN if problems else DiagnosticStatus.OK,
        name=f'{node.get_fully_qualified_name()}: {about}',
        hardware_id=hardware_id,
        message='; '.join(problems) if problems else 'running',
        values=[KeyValue(key=key, value=str(value)) for key, value in values.items()],
    )
    message = DiagnosticArray(status=[status])
    message.header.stamp = node.get_clock().now().to_msg()
    return message


def progress_message(metrics: Mapping[str, float]) -> JointState:
    """Return a run's metrics with their names; of ``FIRST_METRICS`` NaN is yet unknown."""
    ordered = dict.fromkeys(FIRST_METRICS, math.nan) | dict(metrics)
    return JointState(name=list(ordered), position=[float(v) for v in ordered.values()])
