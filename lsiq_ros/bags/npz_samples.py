# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
A recording that came as an npz file instead of a bag, read as the samples of a bag.

===============================  ==========  ===============================================
key                              shape       meaning
===============================  ==========  ===============================================
``joint_names``                  [J] str
``joint_positions``              [T, J]      rad, m
``joint_velocities``             [T, J]      optional; derived where absent
``base_position``                [T, 3]      in the world, z up
``base_quaternion_xyzw``         [T, 4]      or ``base_quaternion_wxyz``
``base_linear_velocity_body``    [T, 3]      optional; or ``..._world``; derived where absent
``base_angular_velocity_body``   [T, 3]      optional; or ``..._world``; derived where absent
``time_s``                       [T]         from any origin in each episode; or ``rate_hz``
``episode_starts``               [E] int     optional; else an episode ends where time goes back
===============================  ==========  ===============================================

Motion capture often comes as one array ``q_<joint>`` for each joint, those of the base among
them, and ``dq_<joint>`` for its velocity. What belongs to the base only the robot's model can
tell (:func:`lsiq_ros.simulator.chain_base.with_chain_base`).
"""

from collections.abc import Collection
from pathlib import Path

from lsiq_core.data.npz_reading import open_npz
from lsiq_core.types import Array
from lsiq_ros.bags.base_samples import into_body
from lsiq_ros.bags.episodes import Mark, MARKS_KEY, marks_to_json, RESET, START
from lsiq_ros.bags.errors import BagError
from lsiq_ros.bags.samples import BagSamples, read_samples, Samples
import numpy as np

JOINTS_KEY = 'joint_positions'
CLIP = 'q_'  # how the arrays of a clip begin
CLIP_VELOCITY = 'dq_'
_USUAL_HZ = (10.0, 20.0, 25.0, 30.0, 50.0, 60.0, 100.0, 120.0, 200.0, 240.0, 250.0, 500.0, 1000.0)
_BEGIN_NS = 1_000_000_000  # a stamp of zero means that there is none


def is_recording(arrays: dict[str, Array]) -> bool:
    """Return whether arrays are a raw recording, in one of both layouts."""
    return JOINTS_KEY in arrays or any(key.startswith(CLIP) for key in arrays)


def read_recording(
    path: Path, topics: Collection[str] | None = None, rate_hz: float | None = None
) -> BagSamples:
    """
    Read the states of a bag or of an npz file.

    :param topics: of a bag; all states if None.
    :param rate_hz: of an npz file's samples, where the file does not say it.
    """
    if Path(path).suffix == '.npz':
        return read_npz_samples(Path(path), rate_hz)
    return read_samples(path, topics)


def read_npz_samples(path: Path, rate_hz: float | None = None) -> BagSamples:
    """
    Read an npz file.

    :param rate_hz: of its samples, where the file does not say it.
    """
    arrays = open_npz(path, BagError)
    if 'states' in arrays or 'observations' in arrays:
        raise BagError(f'{path}: holds demonstrations already; there is nothing to import')
    if not is_recording(arrays):
        raise BagError(
            f'{path}: neither {JOINTS_KEY!r} nor arrays q_<joint> in it, found {sorted(arrays)}; '
            'the layout is described in docs/recordings.md'
        )
    names, position, velocity = _joints(path, arrays)
    length = len(position)
    starts = _starts(path, arrays, length)
    stamps = _stamps_ns(path, arrays, starts, length, rate_hz, (position, velocity))
    effort = np.full_like(position, np.nan)
    values = {'position': position, 'velocity': velocity, 'effort': effort}
    joints = Samples('/joint_states', names, stamps, stamps, values)
    base = _base(path, arrays, stamps / 1e9, starts)
    odometry = (Samples('/odom', (), stamps, stamps, base, 'odom', 'base_link'),) if base else ()
    marks = [Mark(int(stamps[at]), RESET if at else START) for at in starts]
    custom = {MARKS_KEY: marks_to_json(marks), 'lsiq_source': str(arrays.get('source', path.name))}
    return BagSamples(str(path), (joints,), odometry, (), {}, custom)


def _joints(path: Path, arrays: dict[str, Array]) -> tuple[tuple[str, ...], Array, Array]:
    if JOINTS_KEY in arrays:
        position = _numbers(path, arrays, JOINTS_KEY, 2)
        names = tuple(str(name) for name in arrays.get('joint_names', np.array([])).ravel())
        if len(names) != position.shape[1] or len(set(names)) != len(names):
            raise BagError(
                f'{path}: {len(set(names))} joint_names for {position.shape[1]} columns of '
                f'{JOINTS_KEY}; each joint needs a name of its own'
            )
        velocity = np.full_like(position, np.nan)
        if 'joint_velocities' in arrays:
            velocity = _numbers(path, arrays, 'joint_velocities', 2, position.shape)
        return names, position, velocity
    keys = [key for key in arrays if key.startswith(CLIP)]
    names = tuple(key.removeprefix(CLIP) for key in keys)
    columns = [_numbers(path, arrays, key, 1) for key in keys]
    lengths = {len(column) for column in columns}
    if len(lengths) != 1:
        raise BagError(f'{path}: its q_<joint> arrays have different lengths: {sorted(lengths)}')
    nothing = np.full(len(columns[0]), np.nan)
    rates = [
        _numbers(path, arrays, CLIP_VELOCITY + name, 1, nothing.shape)
        if CLIP_VELOCITY + name in arrays
        else nothing
        for name in names
    ]
    return names, np.stack(columns, axis=1), np.stack(rates, axis=1)


def _base(
    path: Path, arrays: dict[str, Array], times: Array, starts: list[int]
) -> dict[str, Array]:
    """Return pose and twist of the base as odometry; nothing if the file has no base."""
    length = len(times)
    quaternion = _either(path, arrays, 'base_quaternion', ('xyzw', 'wxyz'), (length, 4))
    if quaternion is None:
        return {}
    turn, order = quaternion
    if order == 'wxyz':
        turn = np.roll(turn, -1, axis=1)
    if 'base_position' not in arrays:
        raise BagError(
            f'{path}: base_quaternion_{order} but no base_position [T, 3]: where the base is '
            'cannot be derived from the rest'
        )
    place = _numbers(path, arrays, 'base_position', 2, (length, 3))
    parts: dict[str, Array | None] = {}
    for kind in ('linear', 'angular'):
        found = _either(path, arrays, f'base_{kind}_velocity', ('body', 'world'), (length, 3))
        parts[kind] = None
        if found is not None:
            parts[kind] = into_body(turn, found[0]) if found[1] == 'world' else found[0]
    if parts['linear'] is None and parts['angular'] is None:
        twist = np.zeros((length, 6))  # the importer derives both, and says so
    else:
        linear, angular = (
            _derived_twist(place, turn, times, starts, kind) if found is None else found
            for kind, found in parts.items()
        )
        twist = np.hstack((linear, angular))
    return {'pose': np.hstack((place, turn)), 'twist': twist}


def _derived_twist(place: Array, turn: Array, times: Array, starts: list[int], kind: str) -> Array:
    """Differentiate the pose, episode by episode; along the axes of the base."""
    parts = []
    for first, last in zip(starts, [*starts[1:], len(times)]):
        one, at = slice(first, last), times[first:last]
        if last - first < 2:
            parts.append(np.zeros((last - first, 3)))
        elif kind == 'linear':
            parts.append(into_body(turn[one], np.gradient(place[one], at, axis=0)))
        else:
            signs = np.cumprod(np.r_[1.0, np.sign((turn[one][1:] * turn[one][:-1]).sum(axis=1))])
            same = turn[one] * signs[:, None]  # q and -q are one orientation
            rate = np.gradient(same, at, axis=0)
            axis, scalar = same[:, :3], same[:, 3:]
            # The vector part of twice the conjugate times the rate.
            parts.append(
                2 * (scalar * rate[:, :3] - rate[:, 3:] * axis - np.cross(axis, rate[:, :3]))
            )
    return np.concatenate(parts)


def _starts(path: Path, arrays: dict[str, Array], length: int) -> list[int]:
    if 'episode_starts' in arrays:
        starts = [int(at) for at in np.sort(arrays['episode_starts'].ravel())]
        if not starts or starts[0] != 0 or starts[-1] >= length or len(set(starts)) < len(starts):
            raise BagError(
                f'{path}: episode_starts {starts[:5]} must begin with 0 and stay below {length}'
            )
        return starts
    if 'time_s' in arrays:
        return [0, *(np.flatnonzero(np.diff(arrays['time_s'].ravel()) < 0) + 1).tolist()]
    return [0]


def _stamps_ns(
    path: Path,
    arrays: dict[str, Array],
    starts: list[int],
    length: int,
    rate_hz: float | None,
    motion: tuple[Array, Array],
) -> Array:
    """Return increasing stamps: each episode begins one period after the one before."""
    if 'time_s' in arrays and rate_hz is None:
        times = _numbers(path, arrays, 'time_s', 1, (length,))
    else:
        found = float(arrays['rate_hz']) if 'rate_hz' in arrays else rate_of(*motion)
        rate = rate_hz or found
        if not rate or not np.isfinite(rate) or rate <= 0:
            raise BagError(
                f'{path}: neither time_s nor rate_hz in it, and its velocities do not tell the '
                'rate; say it with --recorded-hz'
            )
        times = np.arange(length) / rate
    steps = np.diff(times)
    inside = np.ones(len(steps), bool)
    inside[[at - 1 for at in starts[1:]]] = False
    usual = float(np.median(steps[inside])) if inside.any() else 0.01
    if not usual > 0:
        raise BagError(f'{path}: time_s does not increase; its usual step is {usual:g} s')
    steps = np.where(inside, steps, usual)
    since = np.concatenate(([0.0], np.cumsum(steps)))
    stamps: Array = _BEGIN_NS + np.round(since * 1e9).astype(np.int64)
    return stamps


def rate_of(position: Array, velocity: Array) -> float:
    """Return the rate at which velocities are the differences of positions; 0 if unknown."""
    moved = np.diff(position, axis=0)
    mean = (velocity[1:] + velocity[:-1]) / 2
    known = np.isfinite(moved) & np.isfinite(mean)
    square = float((mean[known] ** 2).sum())
    if not square > 0:
        return 0.0
    step = float((moved[known] * mean[known]).sum()) / square
    fits = np.corrcoef(moved[known], mean[known])[0, 1] > 0.9
    rate = 1 / step if step > 0 and fits else 0.0
    # Filtered velocities are a little too small, so the rate comes out a little off.
    usual = min(_USUAL_HZ, key=lambda one: abs(one - rate))
    return usual if abs(usual - rate) < 0.05 * usual else rate


def _either(
    path: Path, arrays: dict[str, Array], stem: str, ends: tuple[str, str], shape: tuple[int, ...]
) -> tuple[Array, str] | None:
    found = [end for end in ends if f'{stem}_{end}' in arrays]
    if not found:
        if stem in arrays:
            raise BagError(
                f'{path}: {stem} does not say its frame; call it {stem}_{ends[0]} '
                f'or {stem}_{ends[1]}'
            )
        return None
    return _numbers(path, arrays, f'{stem}_{found[0]}', 2, shape), found[0]


def _numbers(
    path: Path,
    arrays: dict[str, Array],
    key: str,
    dimensions: int,
    shape: tuple[int, ...] | None = None,
) -> Array:
    array = arrays[key]
    if array.dtype.kind not in 'fiu' or array.ndim != dimensions or not array.size:
        raise BagError(
            f'{path}: {key} is {array.dtype} {array.shape}, expected numbers in {dimensions} '
            'dimensions'
        )
    if shape is not None and array.shape != shape:
        raise BagError(f'{path}: {key} has shape {array.shape}, expected {shape}')
    return array.astype(np.float64)
