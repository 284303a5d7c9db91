# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""The report as one HTML page that needs nothing but itself."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
import json
from pathlib import Path
from typing import Any

from lsiq_core.report.charts import data_address, Look, looks, panel
from lsiq_core.report.runs import find_runs, Group, grouped, RunData, score_name
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
_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 1200px;
  padding: 0 16px 48px; color: #1c1e21; background: #fff; color-scheme: light; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.25rem; margin-top: 2.5rem;
  border-bottom: 1px solid #ccc; } h3 { font-size: 1rem; }
.panels { display: grid; gap: 12px; grid-template-columns: repeat(auto-fill,
  minmax(min(100%, 370px), 1fr)); }
.films { display: grid; gap: 12px; grid-template-columns: repeat(auto-fill,
  minmax(min(45%, 220px), 1fr)); }
.panels img, .films img, .films video { width: 100%; height: auto; }
.films video { aspect-ratio: 4 / 3; object-fit: contain; }  /* a poster may be a long strip */
figure { margin: 0; } figcaption { font-size: .85rem; color: #555; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .85rem; font-variant-numeric: tabular-nums; }
th, td { padding: 4px 10px; text-align: right; white-space: nowrap;
  border-bottom: 1px solid #e4e4e4; }
th:first-child, td:first-child { text-align: left; position: sticky; left: 0;
  background: #fff; }
.legend { display: flex; flex-wrap: wrap; gap: 4px 16px; font-size: .85rem; margin: 8px 0; }
.legend svg { width: 28px; height: 8px; margin-right: 6px; vertical-align: middle; }
summary { cursor: pointer; margin: 8px 0; }
.note { color: #555; font-size: .85rem; }
"""
_DASHES = {'-': '', '--': '6 3', '-.': '6 2 1 2', ':': '1 2'}


def write_report(places: Iterable[Path], out: Path, *, title: str, videos: bool = False) -> Path:
    """
    Write ``report.html`` and its figures as CSV.

    :param places: run directories, or directories that hold them.
    :param out: directory to write to.
    :param title: heading of the page.
    :param videos: also embed the films that lie in the run directories.
    :return: the page.
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
    page.write_text(_document(title, body + _versions(runs), len(runs)), encoding='utf-8')
    return page


def _document(title: str, body: str, count: int) -> str:
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<title>{escape(title)}</title><style>{_STYLE}</style></head><body>'
        f'<h1>{escape(title)}</h1><p class="note">{count} runs. Curves: mean over seeds with '
        "Student's 95 % interval. IQM: interquartile mean of the final score with a bootstrap "
        'interval over seeds. The same figures: summary.csv, runs.csv, curves.csv.</p>'
        f'{body}</body></html>\n'
    )


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
        f'{curves}{_films(groups, videos)}'
        f'<h3>Settings that differ</h3>{_table(differing)}'
        f'<details><summary>Settings that all share</summary>{_table(_pairs(shared))}</details>'
        f'<details><summary>Every run</summary>{_table(run_rows(groups))}</details>'
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
    return f'<p class="note">Score: {escape(score.replace("_", " "))}.</p>{_table(shown)}'


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
    return f'<h2>Versions and demonstrations</h2>{_table(list(seen.values()))}'


def _table(rows: list[Row]) -> str:
    if not rows:
        return '<p class="note">none</p>'
    names = list(dict.fromkeys(name for row in rows for name in row))
    head = ''.join(f'<th scope="col">{escape(name)}</th>' for name in names)
    lines = ''.join(
        '<tr>' + ''.join(f'<td>{escape(_text(row.get(name)))}</td>' for name in names) + '</tr>'
        for row in rows
    )
    return (
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead>'
        f'<tbody>{lines}</tbody></table></div>'
    )


def _text(value: Any) -> str:
    if value is None:
        return ''
    if isinstance(value, float):
        return f'{value:.4g}'
    return str(value)
