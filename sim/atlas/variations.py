# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Worlds that differ from the table: drawn anew for every episode."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np
import numpy.typing as npt
from sim.atlas.table import FLOOR_FRICTION

Array = npt.NDArray[Any]
Range = tuple[float, float]


@dataclass(frozen=True)
class Variations:
    """
    What may differ; each range is drawn from uniformly, equal ends fix the value.

    The default changes nothing and draws nothing.
    """

    mass_scale: Range = (1, 1)  # of every link, inertia included
    friction: Range = (FLOOR_FRICTION[0], FLOOR_FRICTION[0])  # sliding, soles on floor
    torque_scale: Range = (1, 1)  # what the motors give of what was commanded
    delay_ms: Range = (0, 0)  # until a command acts, in whole physics steps
    push_n: Range = (0, 0)  # sideways or along, in a random direction
    push_every_s: Range = (2, 4)
    push_duration_s: float = 0.1
    position_noise: float = 0  # std on height (m) and angles (rad) as observed
    velocity_noise: float = 0  # std on velocities as observed, m/s and rad/s
    force_noise_n: float = 0

    @property
    def pushes(self) -> bool:
        """Return whether anything pushes."""
        return self.push_n[1] > 0

    @property
    def changes_model(self) -> bool:
        """Return whether an episode needs a model of its own."""
        friction = (FLOOR_FRICTION[0], FLOOR_FRICTION[0])
        return self.mass_scale != (1, 1) or self.friction != friction

    def sample(self, rng: np.random.Generator, timestep_s: float) -> Conditions:
        """Draw the conditions of one episode."""
        return Conditions(
            mass_scale=_draw(rng, self.mass_scale),
            friction=_draw(rng, self.friction),
            torque_scale=_draw(rng, self.torque_scale),
            delay_steps=round(_draw(rng, self.delay_ms) / (1000 * timestep_s)),
        )

    def next_push(self, rng: np.random.Generator, now_s: float) -> Push:
        """Draw when, how hard and where to the next push goes."""
        start = now_s + _draw(rng, self.push_every_s)
        angle = rng.uniform(0, 2 * np.pi)
        newton = _draw(rng, self.push_n)
        force = newton * np.array([np.cos(angle), np.sin(angle), 0.0])
        return Push(start, start + self.push_duration_s, force)

    def observation_noise(self, units: tuple[str, ...]) -> Array | None:
        """Return the std of each observed term, or None where sensors are exact."""
        std = {
            'm': self.position_noise,
            'rad': self.position_noise,
            'm/s': self.velocity_noise,
            'rad/s': self.velocity_noise,
            'N': self.force_noise_n,
        }
        scale = np.array([std[unit] for unit in units])
        return scale if scale.any() else None


@dataclass(frozen=True)
class Conditions:
    """The world of one episode."""

    mass_scale: float = 1
    friction: float = FLOOR_FRICTION[0]
    torque_scale: float = 1
    delay_steps: int = 0

    def as_array(self) -> Array:
        """Return the values for a saved state."""
        return np.array([self.mass_scale, self.friction, self.torque_scale, self.delay_steps])

    @classmethod
    def from_array(cls, values: Array) -> Conditions:
        """Take the values back."""
        mass_scale, friction, torque_scale, delay_steps = values.tolist()
        return cls(mass_scale, friction, torque_scale, int(delay_steps))


@dataclass(frozen=True)
class Push:
    """A force on the torso for a while."""

    start_s: float
    end_s: float
    force_n: Array  # [3], world frame

    def at(self, time_s: float) -> Array:
        """Return the force that acts now."""
        return self.force_n if self.start_s <= time_s < self.end_s else np.zeros(3)

    def as_array(self) -> Array:
        """Return the values for a saved state."""
        return np.array([self.start_s, self.end_s, *self.force_n])

    @classmethod
    def from_array(cls, values: Array) -> Push:
        """Take the values back."""
        return cls(float(values[0]), float(values[1]), np.array(values[2:5]))


def apply_to_model(model: mujoco.MjModel, nominal: mujoco.MjModel, conditions: Conditions) -> None:
    """Write the masses and the friction of an episode into its model."""
    model.body_mass[:] = nominal.body_mass * conditions.mass_scale
    model.body_inertia[:] = nominal.body_inertia * conditions.mass_scale
    model.geom_friction[:, 0] = conditions.friction  # the larger of sole and floor counts
    mujoco.mj_setConst(model, mujoco.MjData(model))


def _draw(rng: np.random.Generator, limits: Range) -> float:
    low, high = limits
    if low > high:
        raise ValueError(f'a range goes from low to high, found {limits}')
    return float(rng.uniform(low, high)) if low < high else float(low)
