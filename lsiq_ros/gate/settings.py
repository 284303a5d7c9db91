# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""What a user may set about the gate, and the limits that follow for one policy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
import math
from typing import Any, NamedTuple

from lsiq_core.errors import ConfigError
from lsiq_core.policy.artifact.metadata import PolicyMetadata
from lsiq_core.robot import GATE_SETTINGS as ROBOT_SETTINGS
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
# Of every limit, in SI units: within these no product or quotient of the gate leaves the numbers.
LEAST, MOST = 1e-6, 1e6
SLOWEST_HZ, FASTEST_HZ = 1.0, 5000.0


def _setting(default: float, low: float, high: float, text: str) -> Any:
    return field(default=default, metadata={'low': low, 'high': high, 'text': text})


@dataclass(frozen=True)
class GateSettings:
    """Every number of the gate; periods are control periods of the policy."""

    torque_fraction: float = _setting(1.0, 0.001, 1.0, 'share of the torque limits that is used')
    slew_periods: float = _setting(
        1.0, 0.1, 1000.0, 'control periods to cross the whole torque range'
    )
    position_taper_rad: float = _setting(
        0.05, 0.0001, 1.0, 'before a position limit, torque towards it fades to zero over this'
    )
    position_trip_rad: float = _setting(
        0.5, 0.0, 100.0, 'trips when a joint is further than this beyond a position limit'
    )
    position_jump_rad: float = _setting(
        0.1, 0.0, 100.0, 'trips when a joint moves further than its velocity explains and this'
    )
    velocity_soft_fraction: float = _setting(
        0.8, 0.0, 0.99, 'from this share of the velocity limit on, accelerating torque fades'
    )
    velocity_trip_factor: float = _setting(
        1.5, 1.0, 100.0, 'trips beyond this multiple of the velocity limit'
    )
    power_w: float = _setting(20000.0, 1.0, 1e7, 'mechanical power put into all joints together')
    max_tilt_rad: float = _setting(0.8, 0.01, math.pi, 'trips when the base leans more')
    min_height_m: float = _setting(0.5, -100.0, 100.0, 'trips when the base is lower')
    distribution_margin: float = _setting(
        0.25, 0.0, 1000.0, 'share of a term range that it may leave the trained range by'
    )
    distribution_grace_s: float = _setting(
        0.05, 0.0, 10.0, 'trips after so long outside the trained range'
    )
    distribution_far: float = _setting(
        3.0, 0.0, 1000.0, 'trips at once beyond the trained range by so many times its width'
    )
    stale_periods: float = _setting(3.0, 1.0, 1000.0, 'trips without a new state for so long')
    late_state_periods: float = _setting(3.0, 0.5, 1000.0, 'trips on a state delayed by more')
    skew_periods: float = _setting(
        3.0, 0.5, 1000.0, 'trips when base, joints and feet are of times further apart'
    )
    clock_drift: float = _setting(
        0.1, 0.0, 0.9, 'how much slower than ours the clock of the states may run'
    )
    late_loop_periods: float = _setting(3.0, 0.5, 1000.0, 'trips when the loop wakes later')
    ramp_in_s: float = _setting(1.0, 0.0, 60.0, 'from damping to the policy after arming')
    ramp_out_s: float = _setting(0.1, 0.0, 10.0, 'from the last command to damping after a trip')
    damping_nm_s_rad: float = _setting(
        1.0, 0.0, 1000.0, 'damping of every joint after a trip; 0 lets go'
    )

    def __post_init__(self) -> None:
        """Refuse what is out of range, naming it."""
        for entry in fields(self):
            value = getattr(self, entry.name)
            low, high = entry.metadata['low'], entry.metadata['high']
            if not low <= value <= high:
                raise ConfigError(
                    f'gate.{entry.name} is {value}, must lie between {low} and {high}'
                )

    def for_robot(self, given: Mapping[str, float]) -> GateSettings:
        """
        Return these settings with the robot's own where nobody set another.

        :param given: what the policy says of its robot.
        """
        unknown = sorted(set(given) - set(ROBOT_SETTINGS))
        if unknown:
            raise ConfigError(
                f'the policy sets {unknown} of the gate, it may set {sorted(ROBOT_SETTINGS)}'
            )
        defaults = {entry.name: entry.default for entry in fields(self)}
        return replace(self, **{k: v for k, v in given.items() if getattr(self, k) == defaults[k]})


class GateLimits(NamedTuple):
    """The limits of one policy under some settings, as arrays in the policy's joint order."""

    joints: tuple[str, ...]
    terms: tuple[str, ...]
    period_s: float
    effort_low_nm: Array  # [A], below zero
    effort_high_nm: Array  # [A], above zero
    slew_nm_s: Array  # [A]
    position_low_rad: Array  # [A]
    position_high_rad: Array  # [A]
    velocity_rad_s: Array  # [A]
    trained_low: Array  # [D], margin included
    trained_high: Array  # [D]
    far_low: Array  # [D], beyond which no grace is given
    far_high: Array  # [D]
    demonstrated_low: Array  # [D]
    demonstrated_high: Array  # [D]


def limits_of(metadata: PolicyMetadata, settings: GateSettings) -> GateLimits:
    """
    Return the limits that a policy is held to.

    :raises ConfigError: where the policy lacks a limit that a robot needs.
    """
    for joint in metadata.joints:
        if joint.velocity_rad_s is None or joint.position_low_rad is None:
            raise ConfigError(
                f'{joint.name}: the policy has no velocity or position limit, a robot needs both'
            )
        if not -MOST <= joint.effort_low_nm <= -LEAST < LEAST <= joint.effort_high_nm <= MOST:
            raise ConfigError(
                f'{joint.name}: efforts from {joint.effort_low_nm} to {joint.effort_high_nm} N m '
                'do not include zero or have no end, so no safe command exists'
            )
        lowest, highest = joint.position_low_rad, joint.position_high_rad
        if highest is None or not -MOST <= lowest < highest <= MOST:
            raise ConfigError(
                f'{joint.name}: positions from {lowest} to {highest} rad are no range'
            )
        if not LEAST <= joint.velocity_rad_s <= MOST:
            raise ConfigError(
                f'{joint.name}: a velocity limit of {joint.velocity_rad_s} rad/s, must lie '
                f'between {LEAST} and {MOST}'
            )
    joints = metadata.joints
    if not SLOWEST_HZ <= metadata.rate_hz <= FASTEST_HZ:  # what is stale is counted in periods
        raise ConfigError(
            f'a policy of {metadata.rate_hz} Hz, must lie between {SLOWEST_HZ} and {FASTEST_HZ}'
        )
    low = np.array([joint.effort_low_nm for joint in joints]) * settings.torque_fraction
    high = np.array([joint.effort_high_nm for joint in joints]) * settings.torque_fraction
    demonstrated, trained = metadata.demonstration_bounds, metadata.training_bounds
    seen_low = np.minimum(demonstrated.low, trained.low)
    seen_high = np.maximum(demonstrated.high, trained.high)
    width = seen_high - seen_low
    margin = settings.distribution_margin * width
    # A term that never moved has no width to measure its distance by: one SI unit stands for it.
    far = np.maximum(settings.distribution_far * np.where(width > 0, width, 1.0), margin)
    return GateLimits(
        joints=metadata.joint_names,
        terms=metadata.observation_names,
        period_s=1 / metadata.rate_hz,
        effort_low_nm=low,
        effort_high_nm=high,
        slew_nm_s=(high - low) * metadata.rate_hz / settings.slew_periods,
        position_low_rad=np.array([joint.position_low_rad for joint in joints], np.float64),
        position_high_rad=np.array([joint.position_high_rad for joint in joints], np.float64),
        velocity_rad_s=np.array([joint.velocity_rad_s for joint in joints], np.float64),
        trained_low=seen_low - margin,
        trained_high=seen_high + margin,
        far_low=seen_low - far,
        far_high=seen_high + far,
        demonstrated_low=np.array(demonstrated.low),
        demonstrated_high=np.array(demonstrated.high),
    )
