# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
The committed settings of each task.

A file that says ``extends: recipe`` is laid over ``recipe.yaml``, which holds what all tasks
share. A robot without a file of its own has ``robot.yaml``.
"""

from __future__ import annotations

from importlib import resources
from typing import Any

from lsiq_core.config import merge
from lsiq_core.robot import is_robot
import yaml

RECIPE, ROBOT = 'recipe', 'robot'
_FOLDER = resources.files('lsiq_core') / 'configs'


def names() -> tuple[str, ...]:
    """Return the tasks that have settings of their own."""
    found = {item.name.removesuffix('.yaml') for item in _FOLDER.iterdir()}
    return tuple(sorted(found - {RECIPE, ROBOT}))


def settings(task: str) -> dict[str, Any]:
    """Return the settings of a task."""
    shared = ROBOT if is_robot(task) else RECIPE
    return {'task': task, **_read(task if task in names() else shared)}


def _read(name: str) -> dict[str, Any]:
    path = _FOLDER / f'{name}.yaml'
    values = yaml.safe_load(path.read_text(encoding='utf-8')) or {}
    extended = values.pop('extends', None)
    return values if extended is None else merge(_read(extended), values)
