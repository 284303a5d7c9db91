# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""The settings of a run: new ones from task, file and overrides, or those it was begun with."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from lsiq_core.config import from_dict, merge, override, read_yaml, RunConfig
from lsiq_core.errors import ConfigError
from lsiq_core.task_configs import settings
from lsiq_ros.runs.files import read_setup, RunSetup


def new_config(
    task: str,
    *,
    file: Path | None = None,
    overrides: Iterable[str] = (),
    **chosen: Any,
) -> RunConfig:
    """
    Return the settings of a new run: the task's, the file's, the overrides, what was chosen.

    :param file: YAML with settings.
    :param overrides: ``group.name=value`` each.
    :param chosen: values by setting, ``group__name`` for one in a group; None chooses nothing.
    """
    values = settings(task)
    if file is not None:
        values = merge(values, read_yaml(file))
    for assignment in overrides:
        values = merge(values, override(assignment))
    for name, value in chosen.items():
        if value is not None:
            for part in reversed(name.split('__')):
                value = {part: value}
            values = merge(values, value)
    return from_dict(values, where=f'settings of {task}')


def resumed_setup(run: Path, *, demos: str | None = None, steps: int | None = None) -> RunSetup:
    """
    Return what a run was begun with.

    :param demos: where the demonstrations lie now, if they were moved.
    :param steps: extends the run to so many in all.
    """
    setup = read_setup(run)
    collection = setup.config.collection
    if steps is not None and steps < collection.steps:
        raise ConfigError(
            f'{run}: was begun with {collection.steps} steps; --steps {steps} does not extend it'
        )
    if steps is not None:
        extended = replace(collection, steps=steps)
        setup = setup._replace(config=replace(setup.config, collection=extended))
    return setup._replace(demos=demos or setup.demos)
