# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""``config.yaml`` of a run directory: what the run was begun with."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from lsiq_core.atomic import write_text
from lsiq_core.config import from_dict, read_yaml, RunConfig, to_dict
from lsiq_core.errors import CheckpointError
import yaml


class RunSetup(NamedTuple):
    """What a run was begun with."""

    config: RunConfig
    demos: str | None  # file or Minari id; None is the task's built-in expert
    episodes: int | None  # only the first so many; None is all


def write_setup(run: Path, setup: RunSetup) -> None:
    """Write ``config.yaml``; demonstrations are named so that any directory finds them."""
    demos = setup.demos
    if demos is not None and Path(demos).exists():
        demos = str(Path(demos).resolve())
    kept = {'demos': demos, 'episodes': setup.episodes, 'run': _plain(to_dict(setup.config))}
    write_text(run / 'config.yaml', yaml.safe_dump(kept, sort_keys=False))


def read_setup(run: Path) -> RunSetup:
    """Read ``config.yaml`` of a run that is to be continued."""
    path = run / 'config.yaml'
    kept = read_yaml(path) if path.exists() else {}
    if not {'demos', 'episodes', 'run'} <= set(kept):
        raise CheckpointError(f'{run}: no config.yaml there, so it is no run to continue')
    return RunSetup(from_dict(kept['run'], where=str(path)), kept['demos'], kept['episodes'])


def _plain(value: Any) -> Any:
    """Turn tuples into lists, which YAML's safe writer knows."""
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value
