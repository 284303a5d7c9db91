# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""What each robot's joints allow, for the policy file: the tasks' own tables, by name."""

from __future__ import annotations

from collections.abc import Sequence
import hashlib
from typing import NamedTuple

from lsiq_core.policy.artifact import Bounds

# Of the public Atlas description. The simulated ankles turn faster (their inertia is 0.02
# kg m^2), so a policy's limit is never below what its demonstrations show.
ATLAS_VELOCITY_RAD_S = 12.0
VELOCITY_HEADROOM = 1.1


class RobotFacts(NamedTuple):
    """A robot as its policies must describe it."""

    name: str
    model_sha256: str
    joint_limits: dict[str, dict[str, float]]


def robot_facts(task: str, terms: Sequence[str], shown: Bounds) -> RobotFacts:
    """
    Return name, model hash and joint limits of a task's robot.

    :param task: the task's name; only robots that can be deployed have limits.
    :param terms: the observation's terms.
    :param shown: what the demonstrations show of them.
    """
    if task != 'atlas':
        return RobotFacts(task, '', {})
    from sim.atlas.model import build_xml, ModelConfig
    from sim.atlas.table import LINKS

    fastest: dict[str, float] = {}
    for term, low, high in zip(terms, shown.low, shown.high):
        if term.endswith('/velocity'):
            pair = _both_sides(term.removesuffix('/velocity'))
            fastest[pair] = max(fastest.get(pair, 0.0), -low, high)
    limits = {
        link.hinge.name: {
            'velocity_rad_s': max(
                ATLAS_VELOCITY_RAD_S,
                VELOCITY_HEADROOM * fastest.get(_both_sides(link.hinge.name), 0.0),
            ),
            'position_low_rad': link.hinge.range_rad[0],
            'position_high_rad': link.hinge.range_rad[1],
        }
        for link in LINKS
        if link.hinge is not None
    }
    xml = build_xml(ModelConfig())
    return RobotFacts('atlas', hashlib.sha256(xml.encode()).hexdigest(), limits)


def _both_sides(joint: str) -> str:
    """Return what a left joint and its right one have in common: their motors are the same."""
    return joint.removesuffix('_l').removesuffix('_r')
