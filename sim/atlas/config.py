# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""The settings that single and batched Atlas share."""

from __future__ import annotations

from dataclasses import dataclass, field

from sim.atlas.model import ModelConfig
from sim.atlas.readings import has_forces
from sim.atlas.task import FallBounds
from sim.atlas.variations import Variations

RATE_HZ = 100.0
STARTS = ('stride', 'gait')  # see resets.py


@dataclass(frozen=True)
class AtlasConfig:
    """The walking task; the default is the paper's robot seen by its kinematics."""

    observation: str = 'kinematic'  # or 'full' or 'paper', see readings.py
    upper_body: bool = False  # 27 driven joints instead of 10
    max_episode_steps: int = 1000
    start: str = 'stride'  # one of STARTS
    falls: FallBounds = field(default_factory=FallBounds)
    variations: Variations = field(default_factory=Variations)
    reset_position_noise_rad: float = 0.01
    reset_velocity_noise: float = 0.05  # rad/s and m/s

    @property
    def model(self) -> ModelConfig:
        """Return what must be built for it."""
        return ModelConfig(self.upper_body, force_sensors=has_forces(self.observation))

    @property
    def physics_steps(self) -> int:
        """Return how many physics steps one command is held."""
        return round(1 / (RATE_HZ * self.model.timestep_s))
