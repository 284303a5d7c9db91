# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""The pelvis of a bag: which odometry it is, and what it says in terms of the joint chain."""

from __future__ import annotations

from typing import Any

from lsiq_ros.bags.errors import BagError
from lsiq_ros.bags.samples import BagSamples, Samples
from lsiq_ros.wire.base import BaseOdometry, chain_from_odometry, PelvisChain
from lsiq_ros.wire.observation import PELVIS_FIELDS
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
CHILD, WORLD = 'child', 'world'  # the frame that the twist is given in
FREEDOMS = (
    'pelvis/x',
    'pelvis/y',
    'pelvis/height',
    'pelvis/tilt',
    'pelvis/list',
    'pelvis/rotation',
)
PELVIS_ANGLES = FREEDOMS[3:]
_ANGLES = slice(3, 6)
_LIKELY_NAMES = ('pelvis', 'base', 'odom', 'torso')


def choose_body(samples: BagSamples, topic: str | None = None) -> Samples | None:
    """
    Return the odometry of the pelvis, None if the bag has no odometry.

    :param samples: the bag.
    :param topic: the topic to take; by default the only one, or the one whose frame or
        name says that it is the pelvis or the base.
    """
    if topic is not None:
        name = topic if topic.startswith('/') else f'/{topic}'
        for body in samples.bodies:
            if body.topic == name:
                return body
        topics = [body.topic for body in samples.bodies]
        raise BagError(f'{samples.source}: no odometry on {name}, found {topics}')
    if len(samples.bodies) <= 1:
        return samples.bodies[0] if samples.bodies else None
    for likely in _LIKELY_NAMES:
        fitting = [b for b in samples.bodies if likely in f'{b.topic} {b.child_frame}'.lower()]
        if len(fitting) == 1:
            return fitting[0]
    topics = [body.topic for body in samples.bodies]
    raise BagError(
        f'{samples.source}: odometry on {topics}; say which is the pelvis with --pelvis-topic'
    )


def chain_samples(body: Samples, twist_frame: str = CHILD) -> Samples:
    """
    Return x, y, height, tilt, list, rotation and their velocities.

    :param body: the odometry.
    :param twist_frame: ``child`` as nav_msgs defines it, or ``world`` where a driver does not.
    """
    pose, twist = body.values['pose'], body.values['twist']
    if twist_frame == WORLD:
        twist = _into_child_frame(pose, twist)
    rows = zip(pose, twist, strict=True)
    chains = np.array([_chain(place, motion) for place, motion in rows])
    position, velocity = chains[:, :6], chains[:, 6:]
    position[:, _ANGLES] = _unwrap(position[:, _ANGLES])
    values = {'position': position, 'velocity': velocity}
    return Samples(
        body.topic, FREEDOMS, body.stamp_ns, body.received_ns, values, body.frame, body.child_frame
    )


def term_columns(chain: Samples) -> dict[str, Array]:
    """Return the pelvis' terms, each with its column."""
    both = np.hstack((chain.values['position'], chain.values['velocity']))
    places = {term: PelvisChain._fields.index(field) for term, field in PELVIS_FIELDS.items()}
    return {term: both[:, place] for term, place in places.items()}


def velocity_term(term: str) -> str | None:
    """Return the term that is the time derivative of a position term of the pelvis."""
    rates = {
        'pelvis/height': 'pelvis/velocity_z',
        'pelvis/tilt': 'pelvis/tilt_rate',
        'pelvis/list': 'pelvis/list_rate',
        'pelvis/rotation': 'pelvis/rotation_rate',
        'pelvis/x': 'pelvis/velocity_x',
        'pelvis/y': 'pelvis/velocity_y',
    }
    return rates.get(term)


def _chain(pose: Array, twist: Array) -> PelvisChain:
    x, y, z, qx, qy, qz, qw = (float(value) for value in pose)
    vx, vy, vz, wx, wy, wz = (float(value) for value in twist)
    odometry = BaseOdometry((x, y, z), (qx, qy, qz, qw), (vx, vy, vz), (wx, wy, wz))
    return chain_from_odometry(odometry)


def _unwrap(angles: Array) -> Array:
    """Let angles pass pi without a jump; NaN stays where it is."""
    known = np.all(np.isfinite(angles), axis=1)
    angles = angles.copy()
    angles[known] = np.unwrap(angles[known], axis=0)
    return angles


def _into_child_frame(pose: Array, twist: Array) -> Array:
    axis, scalar = -pose[:, 3:6], pose[:, 6:7]  # the inverse rotation

    def turn(vectors: Array) -> Array:
        twice = 2 * np.cross(axis, vectors)
        return vectors + scalar * twice + np.cross(axis, twice)

    return np.hstack((turn(twist[:, :3]), turn(twist[:, 3:])))
