# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""A std_msgs/Float64MultiArray as bytes: what DDS sends and what the black box keeps."""

from __future__ import annotations

import struct

import numpy as np
import numpy.typing as npt

_LITTLE_ENDIAN = b'\x00\x01\x00\x00'


def effort_bytes(effort_nm: npt.NDArray[np.float64]) -> bytes:
    """Serialise a command: no dimensions, no offset, then the doubles at a multiple of 8."""
    head = struct.pack('<III4x', 0, 0, len(effort_nm))
    return _LITTLE_ENDIAN + head + effort_nm.astype('<f8').tobytes()
