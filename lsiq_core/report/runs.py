# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Run directories as the report reads them, and which of them are seeds of one thing."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
import json
from pathlib import Path
import re
from typing import Any

from lsiq_core.checkpoint import find
from lsiq_core.config import convert, from_dict, read_yaml, to_dict
from lsiq_core.errors import CheckpointError, ConfigError
from lsiq_core.training.metrics import read, SCORES
from safetensors import safe_open, SafetensorError

_SEED_SUFFIX = re.compile(r'[-_.]s(eed)?[-_]?\d+$')


@dataclass(frozen=True)
class RunData:
    """One run directory."""

    path: Path
    settings: dict[str, Any]
    episodes: int
    metrics: list[dict[str, float]]
    result: dict[str, Any] | None
    header: dict[str, Any] = field(default_factory=dict)  # of its checkpoint

    @property
    def task(self) -> str:
        """Return the name of the task."""
        return str(self.settings['task'])

    @property
    def seed(self) -> int:
        """Return the run's seed."""
        return int(self.settings['seed'])

    @property
    def steps(self) -> int:
        """Return how far it came."""
        return int(self.metrics[-1]['step']) if self.metrics else 0

    def final(self, name: str) -> float | None:
        """Return a figure at the end: of the result, or else of the last evaluation."""
        if self.result is not None and name in self.result:
            return float(self.result[name])
        return self.latest(f'evaluation/{name}')

    def latest(self, name: str) -> float | None:
        """Return the last value of a metric."""
        return next((line[name] for line in reversed(self.metrics) if name in line), None)


@dataclass(frozen=True)
class Group:
    """Runs that differ in nothing but their seed."""

    label: str
    runs: list[RunData]

    @property
    def algorithm(self) -> str:
        """Return the name of the algorithm."""
        return str(self.runs[0].settings['algorithm']['name'])

    @property
    def sees_actions(self) -> bool:
        """Return whether the expert's actions were shown."""
        return not self.runs[0].settings.get('observations_only', False)

    @property
    def judged(self) -> list[RunData]:
        """Return the finished runs; while there are none, those that are under way."""
        return [run for run in self.runs if run.result is not None] or self.runs

    def finals(self, name: str) -> list[float]:
        """Return a figure at the end of each judged run that has it."""
        return [value for run in self.judged if (value := run.final(name)) is not None]

    def measured(self, metric: str) -> list[Path]:
        """Return the directories of the runs that measured something."""
        return [run.path for run in self.runs if run.latest(metric) is not None]


def find_runs(places: Iterable[Path]) -> list[RunData]:
    """Return the runs in these directories and below them; a run without metrics is left out."""
    found: dict[Path, RunData] = {}
    for place in places:
        if not place.is_dir():
            raise CheckpointError(f'{place}: no such directory')
        for config in sorted(place.rglob('config.yaml')):
            if (config.parent / 'metrics.jsonl').exists():
                found[config.parent.resolve()] = read_run(config.parent)
    if not found:
        raise CheckpointError(
            f'{", ".join(map(str, places))}: no run there (config.yaml with metrics.jsonl)'
        )
    return list(found.values())


def read_run(path: Path) -> RunData:
    """Read one run directory."""
    kept = read_yaml(path / 'config.yaml')
    result = path / 'result.json'
    return RunData(
        path,
        _completed(kept['run']),
        int(kept['episodes']),
        read(path),
        json.loads(result.read_text(encoding='utf-8')) if result.exists() else None,
        _header(path),
    )


def _completed(settings: dict[str, Any]) -> dict[str, Any]:
    """Return settings with those that have come since at their defaults: seeds stay one group."""
    try:
        complete: dict[str, Any] = json.loads(json.dumps(to_dict(from_dict(convert(settings)))))
        return complete
    except ConfigError:  # of another version
        return settings


def _header(path: Path) -> dict[str, Any]:
    """Return the header of a run's checkpoint without its tensors."""
    try:
        with safe_open(find(path), framework='np') as archive:
            header: dict[str, Any] = json.loads((archive.metadata() or {}).get('header', '{}'))
            return header
    except (CheckpointError, OSError, ValueError, SafetensorError):
        return {}


def grouped(runs: list[RunData]) -> dict[str, list[Group]]:
    """Return the groups of each task; the label is what their directories have in common."""
    kinds: dict[tuple[str, str], list[RunData]] = {}
    for run in runs:
        without_seed = {name: value for name, value in run.settings.items() if name != 'seed'}
        kind = json.dumps([run.episodes, without_seed], sort_keys=True)
        kinds.setdefault((run.task, kind), []).append(run)
    tasks: dict[str, list[Group]] = {}
    for (task, _), members in kinds.items():
        groups = tasks.setdefault(task, [])
        label = _label(members[0])
        taken = {group.label for group in groups}
        while label in taken:
            label += "'"
        groups.append(Group(label, sorted(members, key=lambda run: run.seed)))
    return {task: _without_what_all_share(groups) for task, groups in tasks.items()}


def _without_what_all_share(groups: list[Group]) -> list[Group]:
    """Drop the number of demonstrations from the labels where it is the same everywhere."""
    numbers = {run.episodes for group in groups for run in group.runs}
    if len(numbers) > 1:
        return groups
    suffix = f'_d{numbers.pop()}'
    return [replace(group, label=group.label.removesuffix(suffix)) for group in groups]


def _label(run: RunData) -> str:
    name = _SEED_SUFFIX.sub('', run.path.name)
    shortened = name.removeprefix(run.task).strip('_-')
    return shortened or name


def score_name(groups: list[Group]) -> str:
    """Return the figure that all groups of a task can be compared by."""
    begun = [group for group in groups if any(group.finals(name) for name in SCORES)]
    for name in SCORES:
        if begun and all(group.finals(name) for group in begun):
            return name
    return SCORES[-1]


def flat(settings: dict[str, Any], prefix: str = '') -> dict[str, Any]:
    """Return nested settings by their dotted names; a path is shown by its last part alone."""
    lines: dict[str, Any] = {}
    for name, value in settings.items():
        if isinstance(value, dict) and value:
            lines |= flat(value, f'{prefix}{name}.')
        else:
            is_path = isinstance(value, str) and value.startswith('/')
            lines[f'{prefix}{name}'] = Path(value).name if is_path else value
    return lines
