# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Tasks to learn: point mass, Gymnasium's MuJoCo tasks, robots that walk."""

from sim.registry import GYM_TASKS, make, TASKS, UnknownTaskError

__all__ = ['GYM_TASKS', 'make', 'TASKS', 'UnknownTaskError']
