# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""The table as a page: what survived, and how survival falls with the size."""

from html import escape
from pathlib import Path

from lsiq_core.atomic import write_text
from lsiq_core.policy.stress import Break, SURVIVE, Table
from lsiq_core.report import html
from lsiq_core.report.charts import svg

_SIZE_IN = (4.2, 2.6)


def write_page(table: Table, path: Path) -> Path:
    """Write the table as one HTML page."""
    kind = 'actions sampled' if table.stochastic else 'deterministic'
    note = (
        f'{table.policy}, sha256 {table.sha256[:12]}, {kind}, episodes of {table.seconds:g} s, '
        f'seed {table.seed}, {table.minutes:.1f} min.'
    )
    write_text(path, html.document(f'Stress: {table.robot}', note, stress_html(table)))
    return path


def stress_html(table: Table) -> str:
    """Return bars, table and breaking points."""
    rows = [
        {
            'disturbance': row.name,
            'survived': f'{row.survived} of {row.episodes}',
            'speed, m/s': f'{row.speed_mps:.2f}',
            'metric': f'{row.metric:.2f}',
        }
        for row in table.rows
    ]
    breaks = [
        {
            'disturbance': found.name,
            'largest': '-' if found.largest is None else f'{found.largest:.3g}',
            'unit': found.unit,
            '': 'not broken' if found.unbroken else '',
        }
        for found in table.breaks
    ]
    text = f'<h2>Survived</h2><img alt="survived" src="{_bars(table)}">{html.table(rows)}'
    if breaks:
        curves = ''.join(
            f'<figure><img alt="{escape(found.name)}" src="{_curve(found)}"></figure>'
            for found in table.breaks
        )
        text += (
            '<h2>Where it breaks</h2><p class="note">The largest size that 9 of 10 episodes '
            f'survive.</p>{html.table(breaks)}<div class="panels">{curves}</div>'
        )
    return text


def _bars(table: Table) -> str:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.0, 0.32 * len(table.rows) + 0.6), layout='constrained')
    axes = figure.subplots()
    shares = [row.survived / row.episodes for row in table.rows]
    colours = ['#009e73' if share >= SURVIVE else '#d55e00' for share in shares]
    names = [row.name for row in table.rows]
    axes.barh(names, shares, color=colours, height=0.7)
    for at, row in enumerate(table.rows):
        axes.text(shares[at] + 0.01, at, f'{row.survived}/{row.episodes}', va='center', fontsize=8)
    axes.set_xlim(0, 1.1)
    axes.set_xlabel('share of episodes that survived')
    axes.invert_yaxis()
    return svg(figure, 'stress')


def _curve(found: Break) -> str:
    from matplotlib.figure import Figure

    figure = Figure(figsize=_SIZE_IN, layout='constrained')
    axes = figure.subplots()
    sizes, shares = zip(*found.tried)
    axes.plot(sizes, shares, 'o-', color='#0072b2', linewidth=1.4, markersize=4)
    axes.axhline(SURVIVE, color='#888', linestyle=':', linewidth=1)
    axes.axvline(found.nominal, color='#888', linewidth=1)
    if found.largest is not None:
        axes.axvline(found.largest, color='#d55e00', linewidth=1.2)
    axes.set_ylim(-0.03, 1.05)
    axes.set_title(found.name, fontsize=11)
    axes.set_xlabel(found.unit or 'size')
    axes.grid(alpha=0.3)
    return svg(figure, found.name)
