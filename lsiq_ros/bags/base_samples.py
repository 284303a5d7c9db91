# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""The base of a bag: which odometry it is, and what it says in terms of an observation."""

from lsiq_core.types import Array
from lsiq_ros.bags.errors import BagError
from lsiq_ros.bags.samples import BagSamples, Samples
from lsiq_ros.wire.base import BaseOdometry, POSITION_TERMS, readings_from_odometry
import numpy as np

CHILD, WORLD = 'child', 'world'  # the frame that the twist is given in
_LIKELY_NAMES = ('pelvis', 'base', 'odom', 'torso')


def choose_odometry(samples: BagSamples, topic: str | None = None) -> Samples | None:
    """
    Return the odometry of the base, None if the bag has no odometry.

    :param topic: the topic to take; by default the only one, or the one whose frame or
        name says that it is the base.
    """
    found = samples.odometry
    topics = [one.topic for one in found]
    if topic is not None:
        name = topic if topic.startswith('/') else f'/{topic}'
        if name not in topics:
            raise BagError(f'{samples.source}: no odometry on {name}, found {topics}')
        return found[topics.index(name)]
    if len(found) <= 1:
        return found[0] if found else None
    for likely in _LIKELY_NAMES:
        fitting = [one for one in found if likely in f'{one.topic} {one.child_frame}'.lower()]
        if len(fitting) == 1:
            return fitting[0]
    raise BagError(
        f'{samples.source}: odometry on {topics}; say which is the base with --base-topic'
    )


def base_readings(odometry: Samples, twist_frame: str = CHILD) -> Samples:
    """
    Return x, y, height, roll, pitch, yaw and their velocities.

    :param twist_frame: ``child`` as nav_msgs defines it, or ``world`` where a driver does not.
    """
    pose, twist = odometry.values['pose'], odometry.values['twist']
    if twist_frame == WORLD:
        linear, angular = (into_body(pose[:, 3:], part) for part in np.hsplit(twist, 2))
        twist = np.hstack((linear, angular))
    rows = zip(pose.tolist(), twist.tolist(), strict=True)
    chains = np.array(
        [
            readings_from_odometry(
                BaseOdometry(tuple(at[:3]), tuple(at[3:]), tuple(by[:3]), tuple(by[3:]))
            )
            for at, by in rows
        ]
    )
    position, velocity = chains[:, :6], chains[:, 6:]
    known = np.all(np.isfinite(position), axis=1)
    # Let angles pass pi without a jump.
    position[known, 3:] = np.unwrap(position[known, 3:], axis=0)
    return odometry.holding(POSITION_TERMS, {'position': position, 'velocity': velocity})


def into_body(quaternion_xyzw: Array, vectors: Array) -> Array:
    """Return vectors of the world along the axes of the base, [n, 3]."""
    axis, scalar = -quaternion_xyzw[:, :3], quaternion_xyzw[:, 3:]  # the inverse rotation
    twice = 2 * np.cross(axis, vectors)
    turned: Array = vectors + scalar * twice + np.cross(axis, twice)
    return turned
