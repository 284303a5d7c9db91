# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Learning curves as SVG pictures, one small panel each, so that a phone shows them whole."""

import base64
from collections import Counter
from collections.abc import Sequence
import io
from typing import Any

from lsiq_core.report.curves import group_curve
from lsiq_core.report.runs import Group

_SIZE_IN = (5.2, 3.3)  # about the width of a phone at 72 points an inch
_STYLES = ('-', '--', '-.', ':')
_COLOURS = (
    *('#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00'),
    *('#56b4e9', '#7f3c8d', '#5f6b6d', '#a07400', '#b00020'),
)


Look = tuple[str, str]  # colour and line style


def looks(groups: Sequence[Group], algorithms: Sequence[str]) -> list[Look]:
    """
    Return how each group is drawn: the algorithm sets the colour, its second group dashes.

    :param algorithms: the order of the colours, so that one algorithm keeps its own everywhere.
    """
    drawn: Counter[str] = Counter()
    found = []
    for group in groups:
        number = algorithms.index(group.algorithm)
        style = _STYLES[drawn[group.algorithm] % len(_STYLES)]
        found.append((_COLOURS[number % len(_COLOURS)], style))
        drawn[group.algorithm] += 1
    return found


def panel(
    groups: Sequence[Group],
    drawn_as: Sequence[Look],
    metric: str,
    title: str,
    limits: tuple[float, float] | None = None,
) -> str | None:
    """
    Return the mean over seeds and its 95 % interval of each group as an SVG in a data address.

    :param metric: as in metrics.jsonl; where no group measured it there is no panel.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=_SIZE_IN, layout='constrained')
    axes = figure.subplots()
    for group, (colour, style) in zip(groups, drawn_as):
        runs = group.measured(metric)
        if runs:
            steps, mean, half = group_curve(runs, metric)
            axes.plot(steps, mean, color=colour, linestyle=style, linewidth=1.6)
            axes.fill_between(steps, mean - half, mean + half, color=colour, alpha=0.15, lw=0)
    if not axes.lines:
        return None
    axes.set_ylim(*(limits or _range_of_means(axes.lines)))
    if limits is None and (linear := _linear_part(axes.lines)) is not None:
        axes.set_yscale('symlog', linthresh=linear)
        title += ' (logarithmic outside)'
    axes.set_title(title, fontsize=11)
    axes.set_xlabel('environment steps')
    axes.grid(alpha=0.3)
    return svg(figure, title)


def svg(figure: Any, title: str) -> str:
    """Return a figure as an SVG in a data address, the same bytes every time."""
    from matplotlib import rc_context

    stream = io.BytesIO()
    with rc_context({'svg.fonttype': 'none', 'svg.hashsalt': title}):
        figure.savefig(stream, format='svg', metadata={'Date': None})
    return data_address(stream.getvalue(), 'image/svg+xml')


def _range_of_means(lines: Sequence[Any]) -> tuple[float, float]:
    """Return limits that fit the curves; the interval of two seeds may leave the picture."""
    values = [float(value) for line in lines for value in line.get_ydata()]
    margin = 0.1 * (max(values) - min(values)) or 1.0
    return min(values) - margin, max(values) + margin


def _linear_part(lines: Sequence[Any]) -> float | None:
    """Return up to where the axis is linear if one curve runs away from all others."""
    sizes = sorted(max(abs(float(value)) for value in line.get_ydata()) for line in lines)
    usual = sizes[len(sizes) // 2]
    return 2.0 * usual if usual > 0 and sizes[-1] > 20.0 * usual else None


def data_address(content: bytes, kind: str) -> str:
    """Return content as an address that needs no file and no network."""
    return f'data:{kind};base64,{base64.b64encode(content).decode()}'
