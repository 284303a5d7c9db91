# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""The report's figures as rows: for the page and, the same, as CSV."""

import csv
from pathlib import Path
from typing import Any

from lsiq_core.report.runs import flat, Group, score_name
from lsiq_core.report.statistics import bootstrap, mean_interval
import numpy as np

Row = dict[str, Any]
_LATEST = {
    'q_expert': 'critic/q_expert',
    'q_absorbing': 'critic/q_absorbing',
    'q_other': 'critic/q_other',
    'idm_heldout_r2': 'idm/heldout_r2',
    'idm_expert_r2': 'idm/expert_r2',
}
_RESULTS = ('return_mean', 'normalized_return', 'success_rate', 'episode_length_mean')


def summary(task: str, groups: list[Group]) -> list[Row]:
    """Return one row for each group, best interquartile mean first."""
    score = score_name(groups)
    rows = []
    for group in groups:
        values = np.array(group.finals(score))
        if not len(values):
            continue
        middle, mean = bootstrap(values), mean_interval(values)
        rows.append(
            {
                'task': task,
                'group': group.label,
                'demonstrations': group.runs[0].episodes,
                'seeds': len(group.judged),
                'unfinished': sum(run.result is None for run in group.runs),
                'steps': max(run.steps for run in group.runs),
                'score': score,
                'iqm': middle.value,
                'iqm_low': middle.low,
                'iqm_high': middle.high,
                'mean': mean.value,
                'mean_low': mean.low,
                'mean_high': mean.high,
                **{name: _mean_latest(group, metric) for name, metric in _LATEST.items()},
                'episode_length': _mean(group.finals('episode_length_mean')),
                'minutes': _mean_latest(group, 'time/minutes'),
            }
        )
    return sorted(rows, key=lambda row: -row['iqm'])


def run_rows(groups: list[Group]) -> list[Row]:
    """Return one row for each run."""
    return [
        {
            'task': run.task,
            'group': group.label,
            'seed': run.seed,
            'finished': run.result is not None,
            'steps': run.steps,
            **{name: run.final(name) for name in _RESULTS},
            **{name: run.latest(metric) for name, metric in _LATEST.items()},
            'minutes': run.latest('time/minutes'),
            'run': run.path.name,
        }
        for group in groups
        for run in group.runs
    ]


def curve_rows(groups: list[Group]) -> list[Row]:
    """Return every measured figure, long: one row for each value."""
    return [
        {
            'task': run.task,
            'group': group.label,
            'seed': run.seed,
            'step': int(line['step']),
            'metric': name,
            'value': value,
        }
        for group in groups
        for run in group.runs
        for line in run.metrics
        for name, value in line.items()
        if name != 'step'
    ]


def differing_settings(groups: list[Group]) -> tuple[dict[str, Any], list[Row]]:
    """Return the settings that all groups share, and for each group those that differ."""
    settings = [flat(group.runs[0].settings) for group in groups]
    names = sorted(set().union(*settings) - {'seed'})
    shared = {
        name: settings[0].get(name)
        for name in names
        if all(each.get(name) == settings[0].get(name) for each in settings)
    }
    rows = [
        {'group': group.label, **{name: each.get(name) for name in names if name not in shared}}
        for group, each in zip(groups, settings)
    ]
    return shared, rows


def write_csv(path: Path, rows: list[Row]) -> None:
    """Write rows with the columns of the first one; what is missing stays empty."""
    if rows:
        with open(path, 'w', newline='', encoding='utf-8') as stream:
            writer = csv.DictWriter(stream, fieldnames=list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)


def _mean(values: list[float]) -> float | None:
    return float(np.mean(values)) if values else None


def _mean_latest(group: Group, metric: str) -> float | None:
    return _mean([v for run in group.runs if (v := run.latest(metric)) is not None])
