# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
The disturbances that a policy is put under.

Sizes are those that the public humanoid stacks train with. Pushes go by the robot's weight:
400 N on Atlas is 24 % of it.
"""

from dataclasses import dataclass
from typing import Any

Ranges = dict[str, Any]
PUSH_SHARE = 400 / (171.6626 * 9.81)


@dataclass(frozen=True)
class Disturbance:
    """One way in which the world gets worse, as fields of the robot file's randomisation."""

    name: str
    unit: str
    nominal: float  # where nothing is disturbed
    worst: float  # where the search for the breaking point ends
    sizes: tuple[float, ...]  # the rows of the table
    fields: dict[str, float]  # what one unit away from nominal is in each field
    digits: int = 3
    levels: int = 32  # of the search for the breaking point: five halvings

    def ranges(self, size: float) -> Ranges:
        """Return the randomisation of this size."""
        start = {'mass_scale': 1.0, 'torque_scale': 1.0, 'friction': 1.0}
        away = size - self.nominal
        return {name: start.get(name, 0.0) + away * per for name, per in self.fields.items()}

    def text(self, size: float) -> str:
        """Return the size as a person reads it."""
        return f'{self.name} {size:.{self.digits}g} {self.unit}'.rstrip()


def disturbances(weight_n: float) -> tuple[Disturbance, ...]:
    """Return them all for a robot of this weight."""
    push = round(PUSH_SHARE * weight_n)
    noise = {'position_noise': 0.01, 'velocity_noise': 0.5, 'base_velocity_noise': 0.2}
    one = {'friction': 1.0}
    return (
        # Of size 1: 0.01 rad and m, 0.5 rad/s on joints, 0.2 rad/s and m/s on the base.
        Disturbance('noise', 'x (0.01 rad, 0.5 rad/s, base 0.2)', 0, 4, (1.0,), noise),
        Disturbance('command delay', 'ms', 0, 32, (8.0, 12.0), {'delay_ms': 1.0}, levels=16),
        Disturbance(
            'observation delay', 'ms', 0, 32, (), {'observation_delay_ms': 1.0}, levels=16
        ),
        Disturbance('push', 'N for 0.1 s', 0, 4.0 * push, (push, 1.5 * push), {'push_n': 1.0}, 4),
        Disturbance('mass', 'x', 1, 0.5, (0.9,), {'mass_scale': 1.0}),
        Disturbance('mass', 'x', 1, 2.0, (1.1,), {'mass_scale': 1.0}),
        Disturbance('torque', 'x', 1, 0.3, (0.9,), {'torque_scale': 1.0}),
        Disturbance('friction', '', 1, 0.04, (0.4,), one),
        Disturbance('slope', 'rad', 0, 0.32, (), {'slope_rad': 1.0}),
        Disturbance('encoder offset', 'rad', 0, 0.16, (), {'encoder_offset_rad': 1.0}),
        Disturbance('joint friction', 'of the torque', 0, 0.16, (), {'joint_friction': 1.0}),
        Disturbance('armature', 'of the inertia', 0, 3.2, (), {'armature': 1.0}),
    )


def together(all_of_them: tuple[Disturbance, ...], share: float) -> Ranges:
    """Return all that has a row in the table at this share of its largest size."""
    ranges: Ranges = {}
    for disturbance in all_of_them:
        if disturbance.sizes:
            away = share * (disturbance.sizes[-1] - disturbance.nominal)
            for name, value in disturbance.ranges(disturbance.nominal + away).items():
                # Lighter and heavier are one range.
                low, high = ranges.get(name, (value, value))
                ranges[name] = (min(low, value), max(high, value))
    return ranges
