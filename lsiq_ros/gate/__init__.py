# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
The safety gate: what stands between a policy and the motors. Plain Python, no rclpy.

``Gate`` decides, ``StateChecks`` judges states, ``StampFilter`` judges their stamps,
``torque_limits`` limits torques, ``SteadyLoop`` keeps time and ``BlackBox`` remembers.
"""
