# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
Where episodes start: in a steady walk, in a gait written as a formula, standing, or as given.

========  ===================================================================================
stride    frames of a steady walk without noise, in the robot's folder (``reset.frames``)
gait      the formula of the built-in expert (``sim.gait``). No motion that physics
          allows: a robot put there must first find its feet, which is the harder start
stand     the nominal pose, upright and at rest
a path    an npz of demonstrations, or of kinematic ``frames``: episodes start at its states
========  ===================================================================================
"""

from pathlib import Path
import zipfile

from lsiq_core.robot import Reset, RobotError, RobotSpec
from lsiq_core.types import Array, names
import numpy as np
from sim.gait import Gait
from sim.robot import kinematic_columns, MujocoRobot

STARTS = ('stride', 'gait', 'stand')


class ResetStates:
    """
    A source of starting states.

    A standing robot cannot be caught by a policy that has only seen walking, so episodes
    start in mid-stride where the robot's file knows a stride.
    """

    def __init__(
        self, robot: MujocoRobot, frames: Array | None = None, *, start: str | None = None
    ) -> None:
        """
        Prepare the frames.

        :param frames: kinematic or full observations, one in a row; None for ``start``.
        :param start: one of STARTS or a file; None for the first that the robot's file allows.
        """
        spec = robot.spec
        self._robot = robot
        self._gait: Gait | None = None
        if frames is None:
            chosen = start or _first_start(spec)
            if chosen.endswith('.npz'):
                frames = shown_states(robot, Path(chosen))
            elif chosen not in STARTS:
                raise RobotError(
                    f'start {chosen!r}: {spec.name} offers {list(STARTS)} and npz files of states'
                )
            if chosen == 'gait':
                self._gait = Gait(spec)
            if frames is None:
                frames = stride(spec) if chosen == 'stride' else robot.nominal_frame()
        self._frames = robot.kinematic_part(np.atleast_2d(np.asarray(frames, np.float64)))

    def draw(self, rng: np.random.Generator) -> tuple[Array, Array]:
        """Return qpos and qvel of one start."""
        if self._gait is None:
            frame = self._frames[rng.integers(len(self._frames))].copy()
        else:
            frame = self._gait.kinematic_frames(rng.uniform(), self._robot.joints)
        disturb(frame, self._robot.spec.reset, rng)
        return self._robot.split(frame)


def disturb(frame: Array, noise: Reset, rng: np.random.Generator) -> None:
    """Add noise to all angles and velocities of a kinematic observation."""
    columns = kinematic_columns(len(frame))
    angles = frame[columns.positions.start - 3 : columns.positions.stop]
    rates = frame[columns.twist.start :]
    angles += noise.position_noise_rad * rng.standard_normal(len(angles))
    rates += noise.velocity_noise * rng.standard_normal(len(rates))


def shown_states(robot: MujocoRobot, path: Path) -> Array:
    """Return the kinematic frames of a file of demonstrations or frames, [F, D]."""
    arrays = _arrays(path, f'start {str(path)!r}: there is no such file')
    if 'frames' in arrays:
        return arrays['frames'].astype(np.float64)
    if not {'states', 'state_names'} <= set(arrays):
        raise RobotError(f'{path}: holds {list(arrays)}, expected frames, or states by name')
    found, wanted = arrays['state_names'].astype(str).tolist(), names(robot.terms('kinematic'))
    missing = [name for name in wanted if name not in found]
    if missing:
        raise RobotError(f'{path}: lacks {missing}, which a start of {robot.spec.name} needs')
    return arrays['states'][:, [found.index(name) for name in wanted]].astype(np.float64)


def stride(spec: RobotSpec) -> Array:
    """Return kinematic frames of steady walking, [F, D]."""
    if spec.reset.frames is None:
        raise RobotError(f"{spec.path}: reset.frames is missing, so there is no start 'stride'")
    path = spec.folder / spec.reset.frames
    arrays = _arrays(path, f'{spec.path}: reset.frames: there is no file {path}')
    if 'frames' not in arrays:
        raise RobotError(f'{spec.path}: reset.frames: {path} holds {list(arrays)}, not frames')
    return arrays['frames'].astype(np.float64)


def _arrays(path: Path, without: str) -> dict[str, Array]:
    """Read an npz; ``without`` is said where there is none."""
    if not path.is_file():
        raise RobotError(without)
    try:
        with np.load(path, allow_pickle=False) as archive:
            return {key: archive[key] for key in archive.files}
    except (OSError, EOFError, ValueError, AttributeError, zipfile.BadZipFile) as error:
        raise RobotError(f'{path}: not a readable npz of plain arrays ({error})') from error


def _first_start(spec: RobotSpec) -> str:
    if spec.reset.frames is not None:
        return 'stride'
    return 'gait' if spec.tracking else 'stand'
