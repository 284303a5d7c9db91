# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""The report as one HTML page that needs nothing but itself."""

from collections.abc import Iterable
from html import escape
import json
from pathlib import Path
from typing import Any

from lsiq_core.policy import stress
from lsiq_core.report.charts import data_address, Look, looks, panel
from lsiq_core.report.html import document, table
from lsiq_core.report.runs import find_runs, Group, grouped, RunData, score_name
from lsiq_core.report.stress import stress_html
from lsiq_core.report.tables import (
    curve_rows,
    differing_settings,
    Row,
    run_rows,
    summary,
    write_csv,
)

_PANELS = (
    ('evaluation/episode_length_mean', 'episode length'),
    ('critic/q_absorbing', 'Q of transitions into absorbing states'),
    ('critic/q_other', 'Q of other transitions of the policy'),
    ('critic/q_expert', 'Q of the expert'),
    ('idm/heldout_rmse', 'inverse dynamics: error on held-out episodes'),
    ('idm/expert_rmse', 'inverse dynamics: error on the expert'),
    ('discriminator/right_on_policy', 'discriminator right on the policy'),
)
_COLUMNS = {
    'group': '',
    'iqm': 'IQM [95 % bootstrap]',
    'mean': 'mean [95 %]',
    'seeds': 'seeds',
    'demonstrations': 'demos',
    'steps': 'steps',
    'episode_length': 'episode length',
    'q_absorbing': 'Q absorbing',
    'q_other': 'Q other',
    'idm_heldout_r2': 'IDM R² held out',
    'idm_expert_r2': 'IDM R² expert',
    'minutes': 'minutes',
}
_PICTURES = {'paths.png': 'image/png', 'walk.png': 'image/png'}
_DASHES = {'-': '', '--': '6 3', '-.': '6 2 1 2', ':': '1 2'}


def write_report(places: Iterable[Path], out: Path, *, title: str, videos: bool = False) -> Path:
    """
    Write ``report.html`` and its figures as CSV.

    :param places: run directories, or directories that hold them.
    :param videos: also embed the films that lie in the run directories.
    """
    tasks = grouped(find_runs(list(places)))
    out.mkdir(parents=True, exist_ok=True)
    every = [group for groups in tasks.values() for group in groups]
    rows = [row for task, groups in tasks.items() for row in summary(task, groups)]
    write_csv(out / 'summary.csv', rows)
    write_csv(out / 'runs.csv', run_rows(every))
    write_csv(out / 'curves.csv', curve_rows(every))
    body = ''.join(_task(task, groups, videos) for task, groups in tasks.items())
    runs = [run for group in every for run in group.runs]
    page = out / 'report.html'
    note = (
        f"{len(runs)} runs. Curves: mean over seeds with Student's 95 % interval. IQM: "
        'interquartile mean of the final score with a bootstrap interval over seeds. The same '
        'figures: summary.csv, runs.csv, curves.csv.'
    )
    page.write_text(document(title, note, body + _versions(runs)), encoding='utf-8')
    return page


def _task(task: str, groups: list[Group], videos: bool) -> str:
    score = score_name(groups)
    algorithms = list(dict.fromkeys(group.algorithm for group in groups))
    halves = {
        "With the expert's actions": [group for group in groups if group.sees_actions],
        'From states alone': [group for group in groups if not group.sees_actions],
    }
    curves = ''.join(
        f'<h3>{escape(heading)}</h3>{_curves(task, half, algorithms, score)}'
        for heading, half in halves.items()
        if half
    )
    shared, differing = differing_settings(groups)
    return (
        f'<h2>{escape(task)}</h2>{_summary_table(summary(task, groups), score)}'
        f'{curves}{_films(groups, videos)}{_stress(groups)}'
        f'<h3>Settings that differ</h3>{table(differing)}'
        f'<details><summary>Settings that all share</summary>{table(_pairs(shared))}</details>'
        f'<details><summary>Every run</summary>{table(run_rows(groups))}</details>'
    )


def _curves(task: str, groups: list[Group], algorithms: list[str], score: str) -> str:
    drawn_as = looks(groups, algorithms)
    limits = (-0.02, 1.02) if score == 'success_rate' else None
    panels = [panel(groups, drawn_as, f'evaluation/{score}', score.replace('_', ' '), limits)]
    panels += [panel(groups, drawn_as, metric, title) for metric, title in _PANELS]
    pictures = ''.join(
        f'<figure><img alt="{escape(task)}: curves" src="{address}"></figure>'
        for address in panels
        if address is not None
    )
    return f'{_legend(groups, drawn_as)}<div class="panels">{pictures}</div>'


def _summary_table(rows: list[Row], score: str) -> str:
    shown = []
    for row in rows:
        cells = {heading or 'group': row[name] for name, heading in _COLUMNS.items()}
        cells[_COLUMNS['iqm']] = _interval(row, 'iqm')
        cells[_COLUMNS['mean']] = _interval(row, 'mean')
        if row['unfinished']:
            cells['seeds'] = f'{row["seeds"]} ({row["unfinished"]} unfinished)'
        shown.append(cells)
    return f'<p class="note">Score: {escape(score.replace("_", " "))}.</p>{table(shown)}'


def _interval(row: Row, name: str) -> str:
    if row['seeds'] < 3:  # of one or two seeds an interval says nothing
        return f'{row[name]:.3f}'
    return f'{row[name]:.3f} [{row[f"{name}_low"]:.3f}, {row[f"{name}_high"]:.3f}]'


def _legend(groups: list[Group], drawn_as: list[Look]) -> str:
    items = []
    for group, (colour, style) in zip(groups, drawn_as):
        items.append(
            f'<span><svg viewBox="0 0 28 8"><line x1="0" y1="4" x2="28" y2="4" stroke="{colour}" '
            f'stroke-width="3" stroke-dasharray="{_DASHES[style]}"/></svg>'
            f'{escape(group.label)} ({len(group.runs)})</span>'
        )
    return f'<div class="legend">{"".join(items)}</div>'


def _films(groups: list[Group], videos: bool) -> str:
    """Show what the first seed of each group left: pictures, and films where asked for."""
    figures = []
    for group in groups:
        folder = group.runs[0].path
        pictures = [
            data_address(path.read_bytes(), kind)
            for name, kind in _PICTURES.items()
            if (path := folder / name).exists()
        ]
        films = sorted(folder.glob('*.mp4')) if videos else []
        media = ''.join(_video(film, pictures) for film in films) or ''.join(
            f'<img alt="{escape(group.label)}" src="{picture}">' for picture in pictures
        )
        if media:
            caption = f'{group.label}, seed {group.runs[0].seed}'
            figures.append(f'<figure>{media}<figcaption>{escape(caption)}</figcaption></figure>')
    if not figures:
        return ''
    return f'<h3>Final policies</h3><div class="films">{"".join(figures)}</div>'


def _stress(groups: list[Group]) -> str:
    """Show what the policies survived, where lsiq stress measured it."""
    parts = []
    for group in groups:
        for run in group.runs:
            if (path := run.path / stress.FILE).exists():
                heading = f'{group.label}, seed {run.seed}: what it survives'
                parts.append(f'<h3>{escape(heading)}</h3>{stress_html(stress.read(path))}')
    return ''.join(parts)


def _video(film: Path, pictures: list[str]) -> str:
    """Return a film; the run's picture stands for it until it is played."""
    address = data_address(film.read_bytes(), 'video/mp4')
    poster = f' poster="{pictures[0]}"' if pictures else ''
    return f'<video controls muted playsinline preload="metadata"{poster} src="{address}"></video>'


def _pairs(values: dict[str, Any]) -> list[Row]:
    return [{'setting': name, 'value': json.dumps(value)} for name, value in values.items()]


def _versions(runs: list[RunData]) -> str:
    """Return what made the runs: versions and demonstrations, each distinct set once."""
    seen: dict[str, Row] = {}
    for run in runs:
        demos = run.header.get('demonstrations', {})
        row = {
            'task': run.task,
            **run.header.get('versions', {}),
            'demonstrations': Path(str(demos.get('source', ''))).name,
            'sha256': str(demos.get('sha256', ''))[:12],
        }
        seen.setdefault(json.dumps(row), row)
    return f'<h2>Versions and demonstrations</h2>{table(list(seen.values()))}'
