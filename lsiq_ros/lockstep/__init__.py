# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
Lock-step: a simulator that moves only when the learner's next command arrives.

``protocol`` says what is on the wire, ``lsiq_ros.wire.cdr`` writes it as bytes,
``server`` answers commands with an env in its hands (all three without rclpy);
``raw_topics`` waits for bytes on topics and ``ros_env`` is the learner's side.
"""
