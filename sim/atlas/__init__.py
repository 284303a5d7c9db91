# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Atlas: the robot as a table, its simulation and the walking task."""

from sim.atlas.batch import AtlasBatch, BatchStep
from sim.atlas.config import AtlasConfig
from sim.atlas.env import AtlasEnv
from sim.atlas.making import make_atlas
from sim.atlas.task import FallBounds, Step
from sim.atlas.variations import Variations

__all__ = [
    'AtlasBatch',
    'AtlasConfig',
    'AtlasEnv',
    'BatchStep',
    'FallBounds',
    'make_atlas',
    'Step',
    'Variations',
]
