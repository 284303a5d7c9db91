# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
The committed settings of each task.

A task's file that says ``extends: recipe`` is laid over ``recipe.yaml``, which holds what all
such tasks share. It then sets only what the robot dictates. A task without a file, such as a
robot of the user's own, has the recipe itself.
"""

from __future__ import annotations

from importlib import resources
from typing import Any

from lsiq_core.config import merge
import yaml

RECIPE = 'recipe'
_FOLDER = resources.files('lsiq_core') / 'configs'


def names() -> tuple[str, ...]:
    """Return the tasks that have settings of their own."""
    found = {item.name.removesuffix('.yaml') for item in _FOLDER.iterdir()}
    return tuple(sorted(found - {RECIPE}))


def settings(task: str) -> dict[str, Any]:
    """Return the settings of a task."""
    values = _read(task) if task in names() else {'extends': RECIPE}
    extended = values.pop('extends', None)
    if extended is not None:
        values = merge(_read(extended), values)
    return {'task': task, **values}


def _read(name: str) -> dict[str, Any]:
    path = _FOLDER / f'{name}.yaml'
    return yaml.safe_load(path.read_text(encoding='utf-8')) or {}
