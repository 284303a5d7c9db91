# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""The shipped expert with noise on its commands, so that it also shows how it recovers."""

from pathlib import Path

from lsiq_core.errors import LsiqError
from lsiq_core.robot import RobotSpec
from lsiq_core.shipped_files import find_file
import numpy as np
import numpy.typing as npt
from sim.tracking.controller import ExpertController

Array = npt.NDArray[np.float64]


class ExpertError(LsiqError):
    """There is no expert, or not of this robot."""


def load_expert(path: Path | str, robot: RobotSpec) -> ExpertController:
    """Load an expert of a robot, or say what is wrong with the file."""
    try:
        return ExpertController(find_file(str(path)), robot)
    except (OSError, ValueError) as error:
        raise ExpertError(str(error)) from error


def is_expert(path: Path) -> bool:
    """Return whether an ONNX file is an expert; else it should be a policy."""
    import onnx

    try:
        properties = onnx.load(str(path)).metadata_props
    except Exception as error:  # damaged bytes surface as anything from inside the parser
        raise ExpertError(f'{path}: not a readable ONNX file ({error})') from error
    return any(p.key == 'schema' and p.value.startswith('lsiq_expert/') for p in properties)


class NoisyExpert:
    """
    Walk, with as much noise as was drawn for the episode.

    :param noise: range of the noise's std in units of the expert's residual scale.
    """

    def __init__(
        self, path: Path | str, robot: RobotSpec, noise: tuple[float, float], seed: int
    ) -> None:
        self._controller = load_expert(path, robot)
        self.state_names = self._controller.state_names  # what it observes
        self._noise, self._std = noise, 0.0
        self._rng = np.random.default_rng(seed)

    def reset(self, kinematic: Array, place_m: Array) -> None:
        """Find the place in the reference of a new episode and draw its noise."""
        self._controller.reset(kinematic, place_m)
        self._std = float(self._rng.uniform(*self._noise))

    def act(self, kinematic: Array, place_m: Array) -> Array:
        """Return the commands for one period; the env clips them to its limits."""
        said = self._controller.act(kinematic, place_m)
        if not self._std:
            return said.command
        noise = self._rng.standard_normal(said.command.shape)
        return said.command + self._std * said.residual_scale * noise
