# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
Conversion between a robot's readings and standard messages.

Messages are filled in place: a node keeps one of each kind and writes into it, which
costs a quarter of building it anew.
"""

from __future__ import annotations

from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
from geometry_msgs.msg import TransformStamped, WrenchStamped
from lsiq_ros.simulator.tasks import FramePose
from lsiq_ros.wire.base import PelvisOdometry
from nav_msgs.msg import Odometry

ODOM_FRAME = 'odom'  # REP-105
BASE_FRAME = 'base_link'  # REP-120: the pelvis


def write_time(message: Time, stamp_ns: int) -> None:
    """Write nanoseconds into a Time."""
    message.sec, message.nanosec = divmod(stamp_ns, 1_000_000_000)


def nanoseconds(stamp: Time) -> int:
    """Return a Time in nanoseconds."""
    return int(stamp.sec) * 1_000_000_000 + int(stamp.nanosec)


def write_odometry(message: Odometry, pelvis: PelvisOdometry, stamp_ns: int) -> None:
    """Write the pelvis: pose in odom, twist in base_link."""
    write_time(message.header.stamp, stamp_ns)
    message.header.frame_id, message.child_frame_id = ODOM_FRAME, BASE_FRAME
    place, turn = message.pose.pose.position, message.pose.pose.orientation
    place.x, place.y, place.z = pelvis.position_m
    turn.x, turn.y, turn.z, turn.w = pelvis.orientation_xyzw
    linear, angular = message.twist.twist.linear, message.twist.twist.angular
    linear.x, linear.y, linear.z = pelvis.linear_m_s
    angular.x, angular.y, angular.z = pelvis.angular_rad_s


def read_odometry(message: Odometry) -> PelvisOdometry:
    """Return what the message says of the pelvis."""
    place, turn = message.pose.pose.position, message.pose.pose.orientation
    linear, angular = message.twist.twist.linear, message.twist.twist.angular
    return PelvisOdometry(
        position_m=(place.x, place.y, place.z),
        orientation_xyzw=(turn.x, turn.y, turn.z, turn.w),
        linear_m_s=(linear.x, linear.y, linear.z),
        angular_rad_s=(angular.x, angular.y, angular.z),
    )


def write_wrench(message: WrenchStamped, force_n: list[float], stamp_ns: int) -> None:
    """Write the floor's force on a sole, along the axes of odom."""
    write_time(message.header.stamp, stamp_ns)
    message.header.frame_id = ODOM_FRAME
    force = message.wrench.force
    force.x, force.y, force.z = force_n


def transform(pose: FramePose, stamp_ns: int) -> TransformStamped:
    """Return a frame's pose as TF carries it."""
    message = TransformStamped()
    write_time(message.header.stamp, stamp_ns)
    message.header.frame_id, message.child_frame_id = pose.parent, pose.child
    place, turn = message.transform.translation, message.transform.rotation
    place.x, place.y, place.z = pose.position_m
    turn.x, turn.y, turn.z, turn.w = pose.orientation_xyzw
    return message


def pelvis_frame(pelvis: PelvisOdometry) -> FramePose:
    """Return the pelvis as a frame in odom."""
    return FramePose(ODOM_FRAME, BASE_FRAME, pelvis.position_m, pelvis.orientation_xyzw)


def diagnostic(
    name: str, hardware_id: str, problems: list[str], values: dict[str, object]
) -> DiagnosticStatus:
    """Return a status that warns when there are problems and is OK otherwise."""
    return DiagnosticStatus(
        level=DiagnosticStatus.WARN if problems else DiagnosticStatus.OK,
        name=name,
        hardware_id=hardware_id,
        message='; '.join(problems) if problems else 'running',
        values=[KeyValue(key=key, value=str(value)) for key, value in values.items()],
    )
