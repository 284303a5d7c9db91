# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
A motion to follow: kinematic frames at the robot's rate, and the path of its base.

A reference is made of recorded episodes (:meth:`Reference.of`), or is one cycle that repeats
(``cyclic``). A place in it is a row number; rows of different episodes never follow each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lsiq_core.robot import RobotSpec
from lsiq_core.types import Array
import numpy as np
from sim.gait import Gait
from sim.robot import kinematic_columns

# Of a kinematic frame: height, roll, pitch, yaw, then the joints, then velocities alike.
HEIGHT, YAW, FIRST_JOINT = 0, 3, 4


@dataclass(frozen=True)
class Reference:
    """Frames of one or many episodes, one after the other."""

    frames: Array  # [F, D] kinematic observations
    path_m: Array  # [F, 2] where the base is on the floor, each episode from its own origin
    first: Array  # [F] the first row of the episode that a row belongs to
    last: Array  # [F] and the last
    rate_hz: float
    cyclic: bool = False
    stride_m: tuple[float, float] = (0.0, 0.0)  # how far one cycle goes
    leash_m: float = 0.5  # how far from the path a robot may be until the reference waits

    @classmethod
    def of(cls, episodes: list[Array], rate_hz: float, *, cyclic: bool = False) -> Reference:
        """
        Make a reference of episodes of kinematic frames.

        :param episodes: each [T, D]; a cycle is one episode whose last frame is followed by
            its first.
        :param rate_hz: of the frames.
        :param cyclic: whether it repeats.
        """
        if cyclic and len(episodes) != 1:
            raise ValueError(f'a cycle is one episode, found {len(episodes)}')
        x = kinematic_columns(episodes[0].shape[1]).twist.start
        paths, first, last, row = [], [], [], 0
        stride = (0.0, 0.0)
        for frames in episodes:
            velocity = frames[:, x : x + 2]
            # The mean of two velocities moves the base from one frame to the next.
            steps = (velocity[1:] + velocity[:-1]) / (2 * rate_hz)
            paths.append(np.concatenate((np.zeros((1, 2)), np.cumsum(steps, axis=0))))
            if cyclic:
                closing = (velocity[-1] + velocity[0]) / (2 * rate_hz)
                stride = tuple((paths[-1][-1] + closing).tolist())
            first += [row] * len(frames)
            row += len(frames)
            last += [row - 1] * len(frames)
        return cls(
            np.concatenate(episodes),
            np.concatenate(paths),
            np.array(first),
            np.array(last),
            rate_hz,
            cyclic,
            stride,
        )

    @property
    def joints(self) -> int:
        """Return how many joints a frame has."""
        return (self.frames.shape[1] - 10) // 2

    def after(self, rows: Array, steps: int) -> Array:
        """Return the rows so many steps later; an episode stays at its last frame."""
        if self.cyclic:
            return (rows + steps) % len(self.frames)
        return np.minimum(rows + steps, self.last[rows])

    def beyond_leash(self, offset_m: Array) -> Array:
        """
        Return by how much robots are farther than the leash from the path, [..., 2].

        The reference waits for them by as much: who walks well but slower, with weaker motors
        or uphill, is behind soon and not lost.

        :param offset_m: [..., 2] from where the reference is.
        """
        distance = np.linalg.norm(offset_m, axis=-1, keepdims=True)
        excess = np.maximum(distance - self.leash_m, 0.0)
        return offset_m * excess / np.maximum(distance, 1e-9)

    def before(self, rows: Array, steps: int) -> Array:
        """Return the rows so many steps earlier; an episode stays at its first frame."""
        if self.cyclic:
            return (rows - steps) % len(self.frames)
        return np.maximum(rows - steps, self.first[rows])

    def between(self, earlier: Array, later: Array) -> Array:
        """Return how many steps lead from one row to the other."""
        return (later - earlier) % len(self.frames)

    def remaining(self, rows: Array) -> Array:
        """Return how many frames follow in the episode; of a cycle very many."""
        if self.cyclic:
            return np.full(len(rows), np.iinfo(np.int64).max)
        return self.last[rows] - rows

    def draw(self, count: int, rng: np.random.Generator, ahead: int) -> Array:
        """Return random rows that, where possible, have ``ahead`` frames after them."""
        latest = np.where(self.last - self.first >= ahead, self.last - ahead, self.first)
        rows = rng.integers(len(self.frames), size=count)
        return rows if self.cyclic else np.minimum(rows, latest[rows])

    def nearest(self, frame: Array, ahead_s: float = 0.0) -> int:
        """
        Return the row that looks most like a frame: joint positions and velocities.

        :param frame: [D].
        :param ahead_s: the row has so much after it, or half of the longest episode.
        """
        of_joints = kinematic_columns(self.frames.shape[1])
        columns = np.r_[of_joints.positions, of_joints.velocities]
        scale = self.frames[:, columns].std(axis=0) + 1e-3
        distance = (((self.frames[:, columns] - frame[columns]) / scale) ** 2).sum(axis=1)
        remaining = self.remaining(np.arange(len(self.frames)))
        late = remaining < min(ahead_s * self.rate_hz, int(remaining.max()) // 2)
        return int(np.argmin(np.where(late, np.inf, distance)))


def gait_reference(spec: RobotSpec, joints: Sequence[str]) -> Reference:
    """
    Return one cycle of the gait of a robot's file as a reference.

    :param spec: the robot's file.
    :param joints: the driven ones, in the robot's order.
    """
    gait, rate_hz = Gait(spec), spec.control.rate_hz
    count = 2 * max(1, round(gait.period_s * rate_hz / 2))  # both halves alike, left for right
    gait.period_s = count / rate_hz
    frames = gait.kinematic_frames(np.arange(count) / count, joints)
    return Reference.of([frames], rate_hz, cyclic=True)
