# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Worlds that differ from the MJCF: drawn anew for every episode."""

from __future__ import annotations

from dataclasses import dataclass
import math
from typing import Any

from lsiq_core.robot import Randomisation
import mujoco
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Conditions:
    """The world of one episode."""

    mass_scale: float = 1
    friction: float = math.nan  # not a number: the model's own
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
    """A force on the upper body for a while."""

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


NO_PUSH = Push(math.inf, math.inf, np.zeros(3))


def sample(ranges: Randomisation, rng: np.random.Generator, timestep_s: float) -> Conditions:
    """Draw the conditions of one episode."""
    return Conditions(
        mass_scale=_draw(rng, ranges.mass_scale),
        friction=math.nan if ranges.friction is None else _draw(rng, ranges.friction),
        torque_scale=_draw(rng, ranges.torque_scale),
        delay_steps=round(_draw(rng, ranges.delay_ms) / (1000 * timestep_s)),
    )


def next_push(ranges: Randomisation, rng: np.random.Generator, now_s: float) -> Push:
    """Draw when, how hard and where to the next push goes."""
    start = now_s + _draw(rng, ranges.push_every_s)
    angle = rng.uniform(0, 2 * np.pi)
    newton = _draw(rng, ranges.push_n)
    force = newton * np.array([np.cos(angle), np.sin(angle), 0.0])
    return Push(start, start + ranges.push_duration_s, force)


def observation_noise(ranges: Randomisation, units: tuple[str, ...]) -> Array | None:
    """Return the std of each observed term, or None where sensors are exact."""
    std = {
        'm': ranges.position_noise,
        'rad': ranges.position_noise,
        'm/s': ranges.velocity_noise,
        'rad/s': ranges.velocity_noise,
        'N': ranges.force_noise_n,
    }
    scale = np.array([std[unit] for unit in units])
    return scale if scale.any() else None


def apply_to_model(model: mujoco.MjModel, nominal: mujoco.MjModel, conditions: Conditions) -> None:
    """Write the masses and the friction of an episode into its model."""
    model.body_mass[:] = nominal.body_mass * conditions.mass_scale
    model.body_inertia[:] = nominal.body_inertia * conditions.mass_scale
    if not math.isnan(conditions.friction):
        model.geom_friction[:, 0] = conditions.friction  # the larger of sole and floor counts
    for name in ('actuator_gainprm', 'actuator_biasprm', 'actuator_forcerange'):
        if (nominal.actuator_biastype == int(mujoco.mjtBias.mjBIAS_AFFINE)).all():  # PD targets
            getattr(model, name)[:] = getattr(nominal, name) * conditions.torque_scale
    mujoco.mj_setConst(model, mujoco.MjData(model))


def _draw(rng: np.random.Generator, limits: tuple[float, float]) -> float:
    low, high = limits
    return float(rng.uniform(low, high)) if low < high else float(low)
