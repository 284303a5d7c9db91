# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""What a run is begun with: of a new one, of one to continue, and its ``config.yaml``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from lsiq_core.atomic import write_text
from lsiq_core.config import convert, from_dict, merge, override, read_yaml, RunConfig, to_dict
from lsiq_core.errors import CheckpointError, ConfigError
from lsiq_core.robot import find_robot, is_robot, robot_names
from lsiq_core.task_configs import settings
import yaml


class RunSetup(NamedTuple):
    """What a run was begun with."""

    config: RunConfig
    demos: str | None  # file or Minari id; None is the task's built-in expert
    episodes: int | None  # only the first so many; None is all
    retrace: str = 'never'  # or auto, always: what is done to a recording that is not feasible


def write_setup(run: Path, setup: RunSetup) -> None:
    """Write ``config.yaml``; demonstrations are named so that any directory finds them."""
    demos = setup.demos
    if demos is not None and Path(demos).exists():
        demos = str(Path(demos).resolve())
    kept = {
        'demos': demos,
        'episodes': setup.episodes,
        'retrace': setup.retrace,
        'run': _plain(to_dict(setup.config)),
    }
    write_text(run / 'config.yaml', yaml.safe_dump(kept, sort_keys=False))


def read_setup(run: Path) -> RunSetup:
    """Read ``config.yaml`` of a run that is to be continued."""
    path = run / 'config.yaml'
    kept = read_yaml(path) if path.exists() else {}
    if not {'demos', 'episodes', 'run'} <= set(kept):
        raise CheckpointError(f'{run}: no config.yaml there, so it is no run to continue')
    config = from_dict(convert(kept['run']), where=str(path))  # it may be a run of version 0.1
    return RunSetup(config, kept['demos'], kept['episodes'], kept.get('retrace', 'never'))


def new_config(
    task: str,
    *,
    file: Path | None = None,
    overrides: Iterable[str] = (),
    **chosen: Any,
) -> RunConfig:
    """
    Return the settings of a new run: the task's, the file's, the overrides, what was chosen.

    :param file: YAML with settings; with ``extends: recipe`` over those instead of the task's.
    :param overrides: ``group.name=value`` each.
    :param chosen: values by setting, ``group__name`` for one in a group; None chooses nothing.
    """
    values = settings(_lasting(task), file)
    for assignment in overrides:
        values = merge(values, override(assignment))
    for name, value in chosen.items():
        if value is not None:
            for part in reversed(name.split('__')):
                value = {part: value}
            values = merge(values, value)
    return from_dict(values, where=f'settings of {task}')


def _lasting(task: str) -> str:
    """Return a task's name; a robot that is named by a path by one that any directory finds."""
    if not task or task in robot_names() or not is_robot(task):
        return task
    return str(find_robot(task).resolve())


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


def _plain(value: Any) -> Any:
    """Turn tuples into lists, which YAML's safe writer knows."""
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value
