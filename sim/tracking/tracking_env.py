# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""A batch of robots, each following the reference from its own place in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from lsiq_core.robot import Randomisation, RobotSpec
from lsiq_core.types import Array, FallBounds
import numpy as np
from sim.batch import WalkingBatch
from sim.robot import forward_speed_mps
from sim.tracking.reference import FIRST_JOINT, HEIGHT, Reference, YAW
from sim.walking import WalkingConfig

AnswerTo = Callable[['Inputs'], 'Answer']

SPEED_SHARE = 0.8  # of the velocity limit: from here on a joint is too fast
LAST_START_S = 0.2  # before the reference ends
# How far from the reference a robot may come until its episode ends.
MOST_HEIGHT = 0.2  # as a share of the height of the base at the nominal pose
MOST_ANGLE_RAD = 0.5  # roll, pitch and yaw each
DRIFT_S = 1.0  # over which a robot is late or early that is told no place


class TrackingStep(NamedTuple):
    """What a step brought: [N, ...] of the successors, before any new start."""

    reward: Array
    terminated: Array
    truncated: Array
    inputs: Inputs
    errors: Errors


class Answer(NamedTuple):
    """What a tracker says, [N, A] each."""

    command: Array  # N m, or rad for PD targets
    residual: Array  # the correction in it, without unit
    residual_scale: Array  # what one unit of correction is worth


class Inputs(NamedTuple):
    """What a tracker is told, as :meth:`sim.tracking.tracker.Tracker.features` takes it."""

    state: Array  # [N, D] as observed, with the sensors' noise
    row: Array  # [N]
    offset_m: Array  # [N, 2]
    last: Array  # [N, A]


class Errors(NamedTuple):
    """Distances from the reference."""

    joints_rad: Array  # [N, A]
    joint_velocities: Array  # [N, A]
    height_m: Array  # [N]
    angles_rad: Array  # [N, 3]
    velocity_mps: Array  # [N, 2]
    path_m: Array  # [N, 2]
    drift_m: Array  # [N, 2] by which it got off the path lately, where it is told no place


class TrackingEnv:
    """N robots that follow one reference; what ended starts anew at a random frame."""

    def __init__(
        self,
        robot: RobotSpec,
        reference: Reference,
        num_envs: int,
        *,
        seed: int,
        seconds: float = 8.0,
        randomisation: Randomisation | None = None,
        observation: str = 'kinematic',
        threads: int = 0,
    ) -> None:
        """
        Start the robots.

        :param robot: its file.
        :param reference: what they follow, at the robot's rate.
        :param num_envs: N.
        :param seed: of starts and noise.
        :param seconds: time limit of an episode.
        :param randomisation: how worlds differ.
        :param observation: what ``batch.obs`` shows, beside the kinematics.
        :param threads: of the physics.
        """
        self.reference, self.num_envs = reference, num_envs
        self.rows = np.zeros(num_envs, np.int64)
        self._origin = np.zeros((num_envs, 2))
        self._laps = np.zeros(num_envs, np.int64)
        self.last = np.zeros((num_envs, reference.joints))
        self._drift_m = np.zeros((num_envs, 2))
        self.metric = np.zeros(num_envs)  # the task's, of the last step
        self.shortest = round(LAST_START_S * reference.rate_hz)
        self.batch = WalkingBatch(
            num_envs,
            robot,
            WalkingConfig(
                observation=observation,
                max_episode_steps=round(seconds * reference.rate_hz),
                falls=_falls(robot, reference),
                randomisation=randomisation,
                speed_mps=forward_speed_mps(reference.frames),
            ),
            on_reset=self._start,
            seed=seed,
            threads=threads,
        )
        self._most_height = MOST_HEIGHT * float(np.median(reference.frames[:, HEIGHT]))
        limits = np.array([joint.velocity_rad_s for joint in self.batch.robot.facts])
        self._speed_limit = np.where(np.isnan(limits), np.inf, limits)

    @property
    def state(self) -> Array:
        """Return the exact kinematic observations, [N, D]."""
        return self.batch.kinematic()

    @property
    def place_m(self) -> Array:
        """Return where each base is on the floor, in the reference's coordinates, [N, 2]."""
        place = np.stack((self.batch.forward_m, self.batch.lateral_m), axis=1)
        return place + self._origin

    @property
    def wanted_place_m(self) -> Array:
        """Return where each base should be, [N, 2]."""
        laps = self._laps[:, None] * np.array(self.reference.stride_m)
        return self.reference.path_m[self.rows] + laps

    def inputs(self) -> Inputs:
        """Return what the tracker is told now."""
        observed = self.batch.robot.kinematic_part(self.batch.obs)
        return Inputs(observed, self.rows.copy(), self._offset(), self.last.copy())

    def step(self, command: Array, residual: Array, moving: Array | None = None) -> TrackingStep:
        """
        Step the robots and say how well they follow.

        :param command: [N, A] N m, or rad for PD targets.
        :param residual: [N, A] the corrections in them.
        :param moving: [N] bool, who is simulated; None for all.
        """
        change = residual - self.last
        step = self.batch.step(command, moving)
        self.metric = step.reward
        self._advance()
        self.last = residual.copy()
        errors = self.errors()
        self._drift(errors.velocity_mps)
        errors = errors._replace(drift_m=self._drift_m)
        reward = tracking_reward(errors) * gentleness(self.batch.fastest / self._speed_limit)
        reward -= 0.005 * (residual**2).mean(axis=1) + 0.01 * (change**2).mean(axis=1)
        lost = (
            (np.abs(errors.height_m) > self._most_height)
            | (np.abs(errors.angles_rad) > MOST_ANGLE_RAD).any(axis=1)
            | step.terminated  # it fell, or the simulation diverged
        )
        over = self.reference.remaining(self.rows) < self.shortest
        truncated = ~lost & (step.truncated | over)
        return TrackingStep(np.where(lost, 0.0, reward), lost, truncated, self.inputs(), errors)

    def restart(self, mask: Array) -> None:
        """Start the marked robots anew."""
        if mask.any():
            self.batch.reset_where(mask)

    def start_at(self, rows: Array) -> None:
        """Start every robot exactly at a row of the reference."""
        self._given = list(rows)
        self.batch.reset_where(np.ones(self.num_envs, bool))
        self._given = []

    def errors(self) -> Errors:
        """Return how far each robot is from where the reference is now."""
        state, frame = self.state, self.reference.frames[self.rows]
        count = self.reference.joints
        difference = state - frame
        angles = (difference[:, 1:FIRST_JOINT] + np.pi) % (2 * np.pi) - np.pi
        first_speed = FIRST_JOINT + 6 + count
        return Errors(
            difference[:, FIRST_JOINT : FIRST_JOINT + count],
            difference[:, first_speed:],
            difference[:, HEIGHT],
            angles,
            difference[:, FIRST_JOINT + count : FIRST_JOINT + count + 2],
            self._offset(),
            self._drift_m,
        )

    # -- underneath ------------------------------------------------------------------------

    _given: list[int] = []

    def _advance(self) -> None:
        later = self.reference.after(self.rows, 1)
        self._laps += later < self.rows
        self.rows = later
        self._origin -= self.reference.beyond_leash(self._offset())

    def _drift(self, velocity_error_mps: Array) -> None:
        """
        Sum up by how much the robots are too fast or too slow, [N, 2].

        In each step that is little, and a slow walk is safer: without a place to be at a tracker
        of 0.48 m/s ended at 0.34.
        """
        if self.reference.leash_m:  # it is told where it should be
            return
        step_s = 1 / self.reference.rate_hz
        late_m = step_s * np.nan_to_num(velocity_error_mps)
        self._drift_m = (1 - step_s / DRIFT_S) * self._drift_m + late_m

    def _offset(self) -> Array:
        """Return the base's place relative to the reference's, [N, 2]."""
        return self.place_m - self.wanted_place_m

    def _start(self, index: int, rng: np.random.Generator) -> Array:
        given = bool(self._given)
        row = int(self._given[index] if given else self.reference.draw(1, rng, self.shortest)[0])
        self.rows[index], self._laps[index] = row, 0
        self._origin[index] = self.reference.path_m[row]
        self.last[index], self._drift_m[index] = 0.0, 0.0
        frame = self.reference.frames[row].copy()
        count = self.reference.joints
        noise = 0.0 if given else 1.0  # drawn all the same: the worlds that follow stay the same
        frame[1 : FIRST_JOINT + count] += 0.02 * noise * rng.standard_normal(YAW + count)
        frame[FIRST_JOINT + count :] += 0.1 * noise * rng.standard_normal(6 + count)
        return frame


def _falls(robot: RobotSpec, reference: Reference) -> FallBounds:
    """Return what is a fall: the task's bounds, unless the reference itself leaves them."""
    bounds = robot.task.fall.bounds()
    pose = reference.frames[:, : YAW + 1]
    return bounds if bounds.contain(pose).all() else FallBounds()


def gentleness(speeds: Array) -> Array:
    """
    Return a factor in [0, 1] for joints that stay slower than a drive can turn, [N].

    A light foot that slaps the floor turns faster than any drive; a motion with it is no
    demonstration, and the gate would trip. A factor never makes it worth while to fall.

    :param speeds: [N, A] in units of the limit.
    """
    over = np.clip(speeds - SPEED_SHARE, 0.0, None)
    return np.exp(-0.3 * (over**2).sum(axis=1))


def tracking_reward(errors: Errors) -> Array:
    """Return a reward in [0, 1] for being where the reference is, [N]."""
    joints = (errors.joints_rad**2).mean(axis=1)
    speeds = (errors.joint_velocities**2).mean(axis=1)
    pose = 20 * (errors.angles_rad**2).sum(axis=1) + 40 * errors.height_m**2
    travel = 4 * (errors.velocity_mps**2).sum(axis=1)
    travel += 2 * (errors.path_m**2).sum(axis=1) + 30 * (errors.drift_m**2).sum(axis=1)
    return (
        0.4 * np.exp(-40 * joints)
        + 0.1 * np.exp(-0.2 * speeds)
        + 0.2 * np.exp(-pose)
        + 0.3 * np.exp(-travel)
    )
