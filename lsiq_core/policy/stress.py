# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
What a policy survived, as ``lsiq stress`` measured it: ``stress.json`` beside the policy.

Read without simulation and without torch, so that a robot's own computer can show it.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
import json
from pathlib import Path
from typing import Any

from lsiq_core.atomic import write_text
from lsiq_core.errors import ArtifactError
from pydantic import TypeAdapter

FILE = 'stress.json'
SCHEMA = 'lsiq_stress/1'
SURVIVE = 0.9  # what a breaking point must leave standing


@dataclass(frozen=True)
class Row:
    """How the policy did under one disturbance."""

    name: str
    episodes: int
    survived: int
    speed_mps: float
    metric: float
    randomisation: dict[str, Any]


@dataclass(frozen=True)
class Break:
    """The largest size that 9 of 10 episodes survive."""

    name: str
    unit: str
    nominal: float
    largest: float | None  # None: not even the undisturbed world
    unbroken: bool  # the search ended before the policy broke
    tried: list[tuple[float, float]]  # size and share that survived


@dataclass(frozen=True)
class Table:
    """All of it."""

    policy: str
    sha256: str
    robot: str
    stochastic: bool
    seconds: float
    seed: int
    rows: list[Row]
    breaks: list[Break]
    minutes: float
    schema: str = SCHEMA


def row_text(row: Row) -> str:
    """Return a row as a person reads it."""
    return (
        f'{row.name:<52}{row.survived:>3} of {row.episodes:<4}'
        f'{row.speed_mps:6.2f} m/s  metric {row.metric:.2f}'
    )


def break_text(found: Break) -> str:
    """Return a breaking point as a person reads it."""
    if found.largest is None:
        where = 'not even undisturbed'
    else:
        where = f'{found.largest:.3g} {found.unit}'.rstrip()
        where += ' (not broken)' if found.unbroken else ''
    return f'{found.name:<20} stands 9 of 10 up to {where}'


def text(table: Table) -> list[str]:
    """Return the table as lines."""
    kind = 'sampled actions' if table.stochastic else 'deterministic'
    head = f'stress: {table.robot}, {kind}, episodes of {table.seconds:g} s, survived'
    return [head, *map(row_text, table.rows), *map(break_text, table.breaks)]


def write(table: Table, path: Path) -> None:
    """Write the table as JSON."""
    write_text(path, json.dumps(asdict(table), indent=1) + '\n')


def read(path: Path) -> Table:
    """Read a table; refuse what is none."""
    try:
        return TypeAdapter(Table).validate_json(path.read_text(encoding='utf-8'))
    except (OSError, ValueError) as error:
        raise ArtifactError(f'{path}: no table of lsiq stress: {error}') from error


def beside(policy: str, sha256: str) -> list[str]:
    """Return the lines of the table that lies beside a policy, or why there is none."""
    path = Path(policy).parent / FILE
    if not path.is_file():
        return [f'stress: not measured. Next: lsiq stress {policy}']
    table = read(path)
    if table.sha256 != sha256:
        return [f'stress: {path} is of another policy, {table.sha256[:12]}...']
    return text(table)
