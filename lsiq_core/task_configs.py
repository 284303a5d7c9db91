# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""The committed settings of each task."""

from __future__ import annotations

from importlib import resources
from typing import Any

import yaml


def names() -> tuple[str, ...]:
    """Return the tasks that have settings of their own."""
    folder = resources.files('lsiq_core') / 'configs'
    found = [item.name.removesuffix('.yaml') for item in folder.iterdir()]
    return tuple(sorted(name for name in found if not name.startswith('_')))


def settings(task: str) -> dict[str, Any]:
    """Return the settings of a task; a task without a file has the defaults."""
    path = resources.files('lsiq_core') / 'configs' / f'{task}.yaml'
    if not path.is_file():
        return {'task': task}
    values = yaml.safe_load(path.read_text(encoding='utf-8')) or {}
    return {'task': task, **values}
