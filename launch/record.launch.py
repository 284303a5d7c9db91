# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Start the graph ``record``; see lsiq_ros/graph/catalogue.py for what it is made of."""

from lsiq_ros.graph.launch_actions import launch_description

from launch import LaunchDescription


def generate_launch_description() -> LaunchDescription:
    """Return the graph as launch actions."""
    return launch_description('record')
