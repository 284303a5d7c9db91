# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""The errors a user can cause, all of one family."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import ValidationError


class LsiqError(Exception):
    """Bad input: the command line prints the message and exits with code 2."""


class DemonstrationError(LsiqError):
    """A demonstration file or array does not keep the schema."""


class ConfigError(LsiqError):
    """A setting is unknown, of the wrong type or out of range."""


class CheckpointError(LsiqError):
    """A run directory or checkpoint cannot be used."""


class TaskError(LsiqError):
    """A task is unknown or does not fit the demonstrations or the policy."""


class ArtifactError(LsiqError):
    """A policy file is damaged, hostile, incomplete or does not fit the robot."""


class MissingExtraError(LsiqError):
    """A library is not installed that only some commands need."""


# What an extra of setup.py brings, by the name that is imported.
_EXTRAS = {
    'train': (
        *('gymnasium', 'imageio', 'matplotlib', 'mujoco', 'OpenGL', 'PIL', 'safetensors'),
        *('scipy', 'tensorboard', 'torch'),
    ),
    'ros-jazzy': ('rclpy', 'rcl_interfaces', 'std_srvs', 'lifecycle_msgs', 'sensor_msgs'),
}


def missing_extra(library: str | None) -> MissingExtraError | None:
    """Say which extra brings a library that is missing; None for one that none brings."""
    name = (library or '').partition('.')[0]
    for extra, brings in _EXTRAS.items():
        if name in brings:
            return MissingExtraError(
                f'{name} is not installed; the extra [{extra}] brings it, in the folder of the '
                f"sources: pip install '.[{extra}]'"
            )
    return None


def problems(error: ValidationError) -> str:
    """Return what pydantic found, each with the dotted name of its field."""
    return '; '.join(
        f'{".".join(map(str, found["loc"]))}: {found["msg"]}, found {str(found["input"])[:60]!r}'
        for found in error.errors()
    )
