# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
An experiment as data: tasks, numbers of demonstrations, variants and seeds.

Each committed grid is a YAML file in ``grids/``; :func:`expand` turns it into runs. Settings
are those of the task, then the experiment's, then the variant's, then what the user adds.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from importlib import resources
from typing import Any

from lsiq_core.config import from_dict, merge, RunConfig
from lsiq_core.errors import ConfigError, problems
from lsiq_core.task_configs import settings as task_settings
from pydantic import ConfigDict, TypeAdapter, ValidationError
import yaml

FILTERS = ('task', 'variant', 'demos', 'seed')


@dataclass(frozen=True)
class Grid:
    """One experiment."""

    __pydantic_config__ = ConfigDict(extra='forbid')

    about: str
    tasks: list[str]
    variants: dict[str, dict[str, Any]]
    demonstrations: list[int]
    seeds: int = 5
    demos: dict[str, str] = field(default_factory=dict)  # sources by task
    settings: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Run:
    """One training run of an experiment, as plain data that any worker can be sent."""

    name: str  # of its directory
    task: str
    variant: str
    episodes: int
    seed: int
    demos: str | None
    settings: dict[str, Any]

    @property
    def config(self) -> RunConfig:
        """Return the run's settings, checked."""
        return from_dict(self.settings, where=self.name)


def names() -> tuple[str, ...]:
    """Return the committed experiments."""
    folder = resources.files('lsiq_core.experiments') / 'grids'
    found = (item.name for item in folder.iterdir())
    return tuple(sorted(name.removesuffix('.yaml') for name in found if name.endswith('.yaml')))


def load(name: str) -> Grid:
    """Read a committed experiment."""
    if name not in names():
        raise ConfigError(f'no experiment {name!r}; there are {", ".join(names())}')
    path = resources.files('lsiq_core.experiments') / 'grids' / f'{name}.yaml'
    return parse(yaml.safe_load(path.read_text(encoding='utf-8')), where=f'{name}.yaml')


def parse(values: Any, *, where: str) -> Grid:
    """Build a grid, naming what does not fit."""
    try:
        return TypeAdapter(Grid).validate_python(values)
    except ValidationError as error:
        raise ConfigError(f'{where}: {problems(error)}') from error


def expand(
    grid: Grid,
    *,
    filters: Iterable[str] = (),
    seeds: int | None = None,
    settings: dict[str, Any] | None = None,
) -> list[Run]:
    """
    Return the runs of a grid: the first seed of everything, then the second, and so on.

    :param filters: ``name=pattern,pattern``, each narrowing task, variant, demos or seed.
    :param seeds: how many seeds instead of the grid's own.
    :param settings: laid over everything else.
    """
    wanted = dict(_filter(text) for text in filters)
    runs = []
    for seed in range(seeds if seeds is not None else grid.seeds):
        for task in grid.tasks:
            for episodes in grid.demonstrations:
                for variant, own in grid.variants.items():
                    facts = {'task': task, 'variant': variant, 'demos': episodes, 'seed': seed}
                    if all(_matches(str(facts[key]), wanted[key]) for key in wanted):
                        values = task_settings(task)
                        for layer in (grid.settings, own, settings or {}, {'seed': seed}):
                            values = merge(values, layer)
                        name = f'{task}_{variant}_d{episodes}_s{seed}'
                        source = grid.demos.get(task)
                        runs.append(Run(name, task, variant, episodes, seed, source, values))
    if not runs:
        raise ConfigError(f'no run is left by --filter {" --filter ".join(filters)}')
    return runs


def _filter(text: str) -> tuple[str, list[str]]:
    key, equals, patterns = text.partition('=')
    if not equals or key not in FILTERS:
        raise ConfigError(f'--filter {text}: expected one of {", ".join(FILTERS)}, =, patterns')
    return key, patterns.split(',')


def _matches(value: str, patterns: list[str]) -> bool:
    return any(fnmatchcase(value, pattern) for pattern in patterns)
