# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
What can be read off Atlas, described once as ordered terms.

=============  ====  =====================================================================
``kinematic``  30    pelvis height and angles, joint positions; pelvis and joint velocities
``full``       42    the same and the floor's force on front and back of each foot
``paper``      32    joint positions and velocities and the forces, as in the paper's text
=============  ====  =====================================================================

(The sizes are those of the ten leg joints.) Positions and velocities are those of this
instant; forces and the torso's velocity are those of the last physics step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lsiq_core.types import Term
import numpy as np
import numpy.typing as npt
from sim.atlas.table import SOLES

Array = npt.NDArray[Any]
Parts = tuple[Array, ...]

SPECS = ('kinematic', 'full', 'paper')
PELVIS_POSITIONS = (
    Term('pelvis/height', 'm', 'odom'),
    Term('pelvis/tilt', 'rad', 'odom'),
    Term('pelvis/list', 'rad', 'odom'),
    Term('pelvis/rotation', 'rad', 'odom'),
)
PELVIS_VELOCITIES = (
    Term('pelvis/velocity_x', 'm/s', 'odom'),
    Term('pelvis/velocity_y', 'm/s', 'odom'),
    Term('pelvis/velocity_z', 'm/s', 'odom'),
    Term('pelvis/tilt_rate', 'rad/s', 'odom'),
    Term('pelvis/list_rate', 'rad/s', 'odom'),
    Term('pelvis/rotation_rate', 'rad/s', 'odom'),
)
# Where things stand in the simulation's vectors: qpos and qvel begin with the six pelvis
# joints (x, y, height, tilt, list, rotation), the sensors with the torso's velocity.
FORWARD, LATERAL, HEIGHT, FIRST_JOINT = 0, 1, 2, 6
FIRST_FORCE = 3


def has_forces(spec: str) -> bool:
    """Return whether the spec reads the floor's forces."""
    if spec not in SPECS:
        raise ValueError(f'observation {spec!r} is unknown, Atlas offers {list(SPECS)}')
    return spec != 'kinematic'


def observation_terms(spec: str, joints: Sequence[str]) -> tuple[Term, ...]:
    """Describe the observation of a spec, in order."""
    positions = tuple(Term(f'{joint}/position', 'rad') for joint in joints)
    velocities = tuple(Term(f'{joint}/velocity', 'rad/s') for joint in joints)
    forces = tuple(
        Term(f'{sole.name}/force_{axis}', 'N', 'odom') for sole in SOLES for axis in 'xyz'
    )
    kinematic = PELVIS_POSITIONS + positions + PELVIS_VELOCITIES + velocities
    if not has_forces(spec):
        return kinematic
    return kinematic + forces if spec == 'full' else positions + velocities + forces


def action_terms(joints: Sequence[str]) -> tuple[Term, ...]:
    """Describe the torques, in order."""
    return tuple(Term(f'{joint}/effort', 'N m') for joint in joints)


def observation_parts(spec: str, qpos: Array, qvel: Array, sensordata: Array) -> Parts:
    """
    Return the views that make up an observation; joined along the last axis they are it.

    The views are taken once and follow the simulation, which keeps a step cheap.
    """
    if spec == 'kinematic':
        return qpos[..., HEIGHT:], qvel
    forces = sensordata[..., FIRST_FORCE:]
    if spec == 'full':
        return qpos[..., HEIGHT:], qvel, forces
    return qpos[..., FIRST_JOINT:], qvel[..., FIRST_JOINT:], forces


def split_kinematic(frames: Array, joints: int) -> tuple[Array, Array]:
    """
    Take kinematic observations, or full ones, apart into qpos and qvel.

    :param frames: [..., 10 + 2 joints], or with the forces of the soles after them, which are
        of no use here; where the robot stands on the floor is not in it and becomes zero.
    :return: qpos and qvel, [..., 6 + joints] each.
    """
    frames = np.asarray(frames, np.float64)
    wanted = 10 + 2 * joints
    if frames.shape[-1] == wanted + 3 * len(SOLES):
        frames = frames[..., :wanted]
    if frames.shape[-1] != wanted:
        raise ValueError(
            f'a kinematic frame of {joints} joints has {wanted} values, found {frames.shape[-1]}'
        )
    positions = frames[..., : 4 + joints]
    place = np.zeros((*frames.shape[:-1], HEIGHT))
    return np.concatenate((place, positions), axis=-1), frames[..., 4 + joints :].copy()
