# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
The committed settings of each task.

A file that says ``extends: recipe`` is laid over ``recipe.yaml``, which holds what all tasks
share. A robot without a file of its own has ``robot.yaml``. ``paper.yaml`` has the settings of
the paper. A user's file may extend any of them.
"""

from importlib import resources
from pathlib import Path
from typing import Any

from lsiq_core.config import merge, read_yaml
from lsiq_core.errors import ConfigError
from lsiq_core.robot import is_robot
import yaml

RECIPE, ROBOT, PAPER = 'recipe', 'robot', 'paper'
_FOLDER = resources.files('lsiq_core') / 'configs'


def names() -> tuple[str, ...]:
    """Return the tasks that have settings of their own."""
    found = {item.name.removesuffix('.yaml') for item in _FOLDER.iterdir()}
    return tuple(sorted(found - {RECIPE, ROBOT, PAPER}))


def settings(task: str, file: Path | None = None) -> dict[str, Any]:
    """
    Return the settings of a task.

    :param file: YAML that is laid over them, or over what it ``extends``.
    """
    shared = ROBOT if is_robot(task) else RECIPE
    base = task if task in names() else shared
    values = _read(base) if file is None else _laid_over(base, read_yaml(file), str(file))
    return {'task': task, **values}


def _read(name: str) -> dict[str, Any]:
    path = _FOLDER / f'{name}.yaml'
    values = yaml.safe_load(path.read_text(encoding='utf-8')) or {}
    return _laid_over(None, values, path.name)


def _laid_over(base: str | None, values: dict[str, Any], where: str) -> dict[str, Any]:
    """Return the values laid over what they extend, by default over a base."""
    base = values.pop('extends', base)
    if base is None:
        return values
    known = sorted({*names(), RECIPE, ROBOT, PAPER})
    if base not in known:
        raise ConfigError(f'{where}: extends {base!r}; there are {", ".join(known)}')
    return merge(_read(base), values)
