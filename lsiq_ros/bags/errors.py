# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""What can be wrong with a bag."""

from lsiq_core.errors import LsiqError


class BagError(LsiqError):
    """A bag cannot be read, written or used."""


class DiskFullError(BagError):
    """The disk has no room for more of the recording; what was written is kept."""
