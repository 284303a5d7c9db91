# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""The topics of the torque-control node, all relative."""

JOINTS_TOPIC = 'joint_states'
PELVIS_TOPIC = 'odom'
EFFORT_TOPIC = 'effort_controller/commands'
SHADOW_TOPIC = '~/shadow_command'


def wrench_topic(sole: str) -> str:
    """Return where the force on a sole is published."""
    return f'{sole}/wrench'
