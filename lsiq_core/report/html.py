# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""The look of a page, and tables on it."""

from html import escape
from typing import Any

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


def document(title: str, note: str, body: str) -> str:
    """Return a whole page."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<title>{escape(title)}</title><style>{_STYLE}</style></head><body>'
        f'<h1>{escape(title)}</h1><p class="note">{escape(note)}</p>{body}</body></html>\n'
    )


def table(rows: list[dict[str, Any]]) -> str:
    """Return rows as a table; its columns are their keys."""
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
