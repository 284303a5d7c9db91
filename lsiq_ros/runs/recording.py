# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
A recording is made ready to be followed: read, cut, smoothed, put on the floor, turned forward.

All functions work on kinematic frames: height, roll, pitch, yaw, the joints' positions, then
the velocities of all of these (:func:`sim.robot.kinematic_columns`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
import math
from pathlib import Path
from typing import NamedTuple

from lsiq_core.data.demonstrations import Demonstrations, load
from lsiq_core.data.npz_reading import read_npz
from lsiq_core.data.smoothing import smooth
from lsiq_core.errors import DemonstrationError
from lsiq_core.robot import RobotError, RobotSpec
from lsiq_core.types import Array, names
from lsiq_ros.bags.importer import import_samples, ImportOptions
from lsiq_ros.bags.npz_samples import is_recording, read_recording
from lsiq_ros.bags.timeline import choose_clock, period_s, times_s
from lsiq_ros.runs.cycle import Cycle, loop, turned
from lsiq_ros.simulator.chain_base import with_chain_base
import mujoco
import numpy as np
from sim.feet import Feet
from sim.mirror import mirror_of
from sim.robot import kinematic_columns, MujocoRobot
from sim.tracking.reference import FIRST_JOINT

Log = Callable[[str], None]

_LOOKED_AT = 200  # frames that say how high the recording's floor is
_FLOOR_TOLERANCE_M = 0.003
_HEADING_RAD = 0.05  # an episode that heads elsewhere by more is turned
_IN_PLACE_M_S = 0.02  # what is slower goes nowhere
_REPEATS = 0.12  # of the motion may be missed by a cycle that is taken unasked
_PARTS = (1, 2, 4)  # of an episode, where the rate of the motion drifts over all of it
_SHORTEST_PART = 4.0  # cycles
_SAME_PACE = 0.1  # by which the cycles of the parts may differ: in period, and in m/s
_STRAIGHT_RAD = 0.5  # an episode that stays within this of its mean heading goes straight


@dataclass(frozen=True)
class Preparation:
    """What is done to a recording before it is followed."""

    smooth: bool = True
    episodes: tuple[int, ...] = ()  # which of them, from 0; empty for all
    from_s: float = 0.0  # of each episode
    to_s: float | None = None
    # Add the mirror image; of a loop: make it symmetric. None: where it is a symmetric loop.
    mirror: bool | None = None
    loop: bool | None = None  # make one cycle of the first episode; None: where it repeats
    speed_m_s: float | None = None  # of a loop; None as recorded


class Prepared(NamedTuple):
    """What a tracker can follow."""

    episodes: list[Array]  # of kinematic frames at the robot's rate
    cyclic: bool  # one cycle, whose first frame follows the last


def open_recording(path: Path | str, spec: RobotSpec, log: Log = print) -> Demonstrations:
    """
    Read states of a robot from demonstrations, a bag, or an npz file of raw states.

    :param path: the file, or a bag's directory.
    :param spec: the robot; its joints are found by name.
    :param log: takes sentences for a person.
    """
    path = Path(path)
    if path.suffix == '.npz' and path.is_file() and not _is_raw(path):
        return load(path)
    samples = with_chain_base(read_recording(path), spec)
    clock = choose_clock(samples)
    recorded_hz = max(1 / (period_s(times_s(g, clock)) or math.inf) for g in samples.joints)
    robot = MujocoRobot(spec, forces=False)
    options = ImportOptions(
        terms=names(robot.terms('kinematic')),
        robot=spec.name,
        # Noise is best taken out of all samples; the control rate comes later.
        rate_hz=max(float(round(recorded_hz)), spec.control.rate_hz),
        limits={joint.name: (joint.position_low, joint.position_high) for joint in robot.facts},
    )
    found = import_samples(samples, options)
    demos = found.demonstrations
    log(
        f'{path}: {demos.num_episodes} episodes, {found.used_s:.1f} s at {options.rate_hz:g} Hz, '
        f'{sum(found.discarded_s.values()):.1f} s left out'
        + (f'; derived: {", ".join(found.derived)}' if found.derived else '')
    )
    return demos


def _is_raw(path: Path) -> bool:
    try:
        return is_recording(read_npz(path))
    except ValueError:
        return False  # whoever loads it says why


def prepare(
    demos: Demonstrations, spec: RobotSpec, config: Preparation, log: Log = print
) -> Prepared:
    """
    Cut, smooth, put on the floor, turn forward, mirror or loop a recording.

    :param demos: states by name.
    :param spec: the robot.
    :param config: what to do.
    :param log: takes sentences for a person.
    """
    robot = MujocoRobot(spec, forces=False)
    rate_hz = demos.rate_hz or spec.control.rate_hz
    wanted_hz = spec.control.rate_hz
    episodes = cut(kinematic_episodes(demos, robot), rate_hz, config)
    if config.smooth:
        cleaned = [smoothed(frames, rate_hz) for frames in episodes]
        episodes = [frames for frames, _ in cleaned]
        noise = {key: np.median([found[key] for _, found in cleaned]) for key in cleaned[0][1]}
        log(
            f'smoothed {len(episodes)} episodes; noise of positions {noise["position"]:.2g} rad, '
            f'of velocities {noise["velocity"]:.2g} rad/s'
        )
    offset = floor_offset(robot, episodes)
    if abs(offset) > _FLOOR_TOLERANCE_M:
        log(f'the lowest foot is {offset:+.3f} m from the floor; the base is moved by as much')
        for frames in episodes:
            frames[:, 0] -= offset
    headings = [heading(frames) for frames in episodes]
    if max(abs(angle) for angle in headings) > _HEADING_RAD:
        log(
            f'episodes head {min(headings):+.2f} to {max(headings):+.2f} rad; they are turned to 0'
        )
        episodes = [turned(frames, -angle) for frames, angle in zip(episodes, headings)]
    cycle = None if config.loop is False else _cycle(episodes[0], rate_hz, robot, config, log)
    if cycle is not None:
        return Prepared([cycle.frames], cyclic=True)
    if config.mirror:
        mirror = mirror_of(robot)
        episodes += [mirror(frames) for frames in episodes]
    return Prepared([resampled(frames, rate_hz, wanted_hz) for frames in episodes], cyclic=False)


def _cycle(
    frames: Array, rate_hz: float, robot: MujocoRobot, config: Preparation, log: Log
) -> Cycle | None:
    """
    Return one cycle of a motion: as asked for, or where nothing was said if there is a good one.

    A tracker learns one short cycle much sooner than many long takes of it, half of one sooner
    still, and the mean of many strides has less noise than each.
    """
    if config.loop is None and not _straight(frames):
        return None
    choices = (True, False) if config.mirror is None else (config.mirror,)
    for parts in _PARTS:
        for mirrored in choices:
            found = _best_part(frames, parts, rate_hz, robot, mirrored, config)
            if found is not None:
                _log_cycle(found, len(frames) / rate_hz / parts, parts > 1, mirrored, robot, log)
                return found
    if not config.loop:
        return None
    mirror = mirror_of(robot) if choices[-1] else None
    found = loop(frames, rate_hz, robot.spec.control.rate_hz, mirror, config.speed_m_s)
    _log_cycle(found, len(frames) / rate_hz, False, choices[-1], robot, log)
    return found


def _best_part(
    frames: Array,
    parts: int,
    rate_hz: float,
    robot: MujocoRobot,
    mirrored: bool,
    config: Preparation,
) -> Cycle | None:
    """
    Return the cycle of the part that repeats best, where all parts repeat, and alike.

    Without a clock a walker is now faster, now slower: no one cycle fits all of it. But parts that
    are other motions must not be left out.
    """
    wanted_hz = robot.spec.control.rate_hz
    try:
        mirror = mirror_of(robot) if mirrored else None
        found = [
            loop(part, rate_hz, wanted_hz, mirror, config.speed_m_s)
            for part in np.array_split(frames, parts)
        ]
    except (RobotError, ValueError):
        return None
    best = min(found, key=lambda cycle: cycle.unexplained)
    seconds = len(frames) / rate_hz / parts
    alike = all(
        cycle.unexplained <= _REPEATS
        and abs(cycle.period_s / best.period_s - 1) < _SAME_PACE
        and abs(cycle.speed_m_s - best.speed_m_s) < _SAME_PACE
        for cycle in found
    )
    long_enough = parts == 1 or seconds >= _SHORTEST_PART * best.period_s
    return best if alike and long_enough else None


def _log_cycle(
    cycle: Cycle, seconds: float, drifts: bool, mirrored: bool, robot: MujocoRobot, log: Log
) -> None:
    drifting = f', at a rate that drifts; {seconds:.1f} s of it' if drifts else ''
    log(
        f'the motion repeats{drifting}: '
        f'a cycle of {cycle.period_s:.3f} s {_pace(cycle.speed_m_s)}'
        f'{", mirrored" if mirrored else ""}, {cycle.unexplained:.0%} of the motion left out; '
        f'played in {len(cycle.frames) / robot.spec.control.rate_hz:.3f} s'
    )


def _pace(speed_m_s: float) -> str:
    return 'in place' if abs(speed_m_s) < _IN_PLACE_M_S else f'at {speed_m_s:.2f} m/s'


def cut(episodes: list[Array], rate_hz: float, config: Preparation) -> list[Array]:
    """Return the chosen episodes, each from one time to another."""
    missing = [number for number in config.episodes if not 0 <= number < len(episodes)]
    if missing:
        raise DemonstrationError(
            f'episodes {missing} asked for, there are 0 to {len(episodes) - 1}'
        )
    chosen = [episodes[number] for number in config.episodes] if config.episodes else episodes
    if config.loop:
        chosen = chosen[:1]
    first = round(config.from_s * rate_hz)
    last = None if config.to_s is None else round(config.to_s * rate_hz) + 1
    parts = [frames[first:last] for frames in chosen]
    long_enough = [frames for frames in parts if len(frames) > 10]
    if not long_enough:
        longest = max(len(frames) for frames in chosen) / rate_hz
        raise DemonstrationError(
            f'nothing is left from {config.from_s:g} s on; the longest episode has {longest:.2f} s'
        )
    return long_enough


def heading(frames: Array) -> float:
    """Return where an episode heads: its mean yaw, or the first where it turns on the way."""
    yaw = _yaw(frames)
    return float(yaw.mean() if _straight(frames) else yaw[0])


def _straight(frames: Array) -> bool:
    yaw = _yaw(frames)
    return bool(np.abs(yaw - yaw.mean()).max() < _STRAIGHT_RAD)


def _yaw(frames: Array) -> Array:
    return np.unwrap(frames[:, kinematic_columns(frames.shape[1]).pose.stop - 1])


def kinematic_episodes(demos: Demonstrations, robot: MujocoRobot) -> list[Array]:
    """Return the episodes as kinematic frames of a robot, columns found by name."""
    wanted = names(robot.terms('kinematic'))
    missing = [name for name in wanted if name not in demos.state_names]
    if missing:
        raise DemonstrationError(
            f'{demos.source}: lacks {missing}, which a recording of {robot.spec.name} needs'
        )
    columns = [demos.state_names.index(name) for name in wanted]
    frames = demos.states[:, columns].astype(np.float64)
    return [frames[part] for part in demos.state_slices()]


def smoothed(frames: Array, rate_hz: float) -> tuple[Array, dict[str, float]]:
    """
    Smooth one episode of kinematic frames.

    :return: the frames, and the median noise of angles and of their velocities.
    """
    twist = kinematic_columns(frames.shape[1]).twist.start
    # The height's rate is the third velocity of the base, those of angles and joints follow it.
    rates = slice(twist + 2, None)
    position = frames[:, :twist].copy()
    position[:, 1:FIRST_JOINT] = np.unwrap(position[:, 1:FIRST_JOINT], axis=0)
    found = smooth(position, frames[:, rates], rate_hz)
    plane = smooth(frames[:, twist : twist + 2], None, rate_hz)
    clean = frames.copy()
    clean[:, :twist] = found.position
    clean[:, rates] = found.velocity
    clean[:, twist : twist + 2] = plane.position
    return clean, {
        'position': float(np.median(found.position_noise)),
        'velocity': float(np.median(found.velocity_noise)),
    }


def resampled(frames: Array, rate_hz: float, wanted_hz: float) -> Array:
    """Return frames at another rate, interpolated."""
    if abs(rate_hz - wanted_hz) < 1e-6 * wanted_hz:
        return frames
    times = np.arange(len(frames)) / rate_hz
    at = np.arange(int(times[-1] * wanted_hz) + 1) / wanted_hz
    return np.stack([np.interp(at, times, column) for column in frames.T], axis=1)


def floor_offset(robot: MujocoRobot, episodes: list[Array]) -> float:
    """Return how far above the floor the recording's lowest foot typically is, m."""
    return float(np.median(foot_heights(robot, episodes)))


def foot_heights(robot: MujocoRobot, episodes: list[Array]) -> Array:
    """Return how far above the floor the lowest foot is, in frames spread over all, m."""
    data, feet = mujoco.MjData(robot.model), Feet(robot)
    if not feet.geoms:
        return np.zeros(1)
    frames = np.concatenate(episodes)
    frames = frames[:: max(1, len(frames) // _LOOKED_AT)]
    lowest = []
    for qpos in robot.split(frames)[0]:
        data.qpos[:] = qpos
        mujoco.mj_kinematics(robot.model, data)
        lowest.append(min(feet.clearance_m(data).values()))
    return np.array(lowest)
