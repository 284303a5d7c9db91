# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""What a robot's joints allow, for the policy file."""

from collections.abc import Sequence
import math
import re
from typing import NamedTuple

from lsiq_core.policy.artifact import Bounds
from lsiq_core.robot import is_robot, load_robot

# A policy's velocity limit is never below what its demonstrations show, and a little more.
VELOCITY_HEADROOM = 1.1


class RobotFacts(NamedTuple):
    """A robot as its policies must describe it."""

    name: str
    model_sha256: str
    joint_limits: dict[str, dict[str, float]]
    gate: dict[str, float]  # settings that the robot's file gives


def robot_facts(task: str, terms: Sequence[str], shown: Bounds) -> RobotFacts:
    """
    Return name, model hash and joint limits of a task's robot.

    :param task: a robot by name or path; only robots have limits.
    :param shown: what the demonstrations show of them.
    """
    if not is_robot(task):
        return RobotFacts(task, '', {}, {})
    from sim.mjcf import compile_robot

    spec = load_robot(task)

    fastest: dict[str, float] = {}
    for term, low, high in zip(terms, shown.low, shown.high):
        if term.endswith('/velocity'):
            pair = _both_sides(term.removesuffix('/velocity'))
            fastest[pair] = max(fastest.get(pair, 0.0), -low, high)
    limits = {}
    for joint in compile_robot(spec, forces=False).joints:
        if joint.role not in ('actuated', 'locked') or joint.kind == 'ball':
            continue
        seen = VELOCITY_HEADROOM * fastest.get(_both_sides(joint.name), 0.0)
        known = 0.0 if math.isnan(joint.velocity_rad_s) else joint.velocity_rad_s
        limits[joint.name] = {
            'velocity_rad_s': max(known, seen),
        }
        if math.isfinite(joint.position_high - joint.position_low):
            limits[joint.name]['position_low_rad'] = joint.position_low
            limits[joint.name]['position_high_rad'] = joint.position_high
    return RobotFacts(spec.name, spec.model_sha256(), limits, dict(spec.gate))


def _both_sides(joint: str) -> str:
    """Return what a left joint and its right one have in common: their motors are the same."""
    return re.sub(r'(^|_)(left|right|[lLrR])(?=_|$)', r'\1', joint)
