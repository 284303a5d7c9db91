# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
The node graphs as data, and two ways to start them.

``catalogue`` says what a graph is made of; ``processes`` starts it where there is no ros2
command, ``launch_actions`` turns it into launch actions where there is one.
"""
