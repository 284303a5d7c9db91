# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
The names of all topics; relative, so that a namespace or a remapping moves them.

Tell another topic with a remapping (``joint_states:=/robot/joint_states``), not here.

Those that a robot's file may name otherwise have their defaults in ``lsiq_core.robot.Topics``.
"""

from lsiq_core.robot import Topics

_DEFAULT = Topics()
JOINT_STATES = _DEFAULT.joint_states  # sensor_msgs/JointState
ODOMETRY = _DEFAULT.odometry  # nav_msgs/Odometry of the base
EFFORT_COMMANDS = _DEFAULT.effort  # std_msgs/Float64MultiArray
CLOCK = 'clock'  # rosgraph_msgs/Clock of a simulation
FRAMES = '/tf'  # tf2_msgs/TFMessage
EPISODE_EVENTS = 'episode_events'  # std_msgs/String: start, split, reset, fall
SHADOW_COMMANDS = '~/shadow_command'  # what a control node would command
DIAGNOSTICS = '/diagnostics'  # diagnostic_msgs/DiagnosticArray


def wrench_topic(sole: str) -> str:
    """Return where the force on a sole is published, as geometry_msgs/WrenchStamped."""
    return _DEFAULT.wrench.format(sole=sole)
