# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""The error that every refused policy artifact raises."""

from lsiq_core.errors import LsiqError


class ArtifactError(LsiqError):
    """A policy file is damaged, hostile, incomplete or does not fit the robot."""
