# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
A picture of a recording: positions, velocities, base, and what the linter found, over time.

Bags are drawn as lint sees them, spikes included; demonstration files episode by episode.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lsiq_core.data.demonstrations import Demonstrations
from lsiq_core.types import Array
from lsiq_ros.bags.base_samples import base_readings
from lsiq_ros.bags.lint import lint_prepared
from lsiq_ros.bags.lint_report import ERROR, Finding, NOTE, WARNING
from lsiq_ros.bags.prepare import LEAST_SPIKE, prepare, Wanted
from lsiq_ros.bags.samples import BagSamples, track
from lsiq_ros.bags.signals import find_frozen, find_spikes, noise_levels
from lsiq_ros.bags.timeline import longest_step_s, period_s
from lsiq_ros.wire.base import ANGLE_TERMS, POSITION_TERMS, RATE_TERMS
import numpy as np

_COLOURS = {ERROR: 'tab:red', WARNING: 'tab:orange', NOTE: 'tab:gray'}
_PANELS = {
    'joint positions, rad': '/position',
    'joint velocities, rad/s': '/velocity',
    'base height, m': 'height',
    'base angles, rad': 'angles',
    'base velocities, m/s and rad/s': 'rates',
}
_MOST_ROWS = 12  # of findings that are drawn


@dataclass(frozen=True)
class Curves:
    """What is drawn: channels by name, each with its own times, and findings."""

    title: str
    channels: dict[str, tuple[Array, Array]]  # term -> times and values
    findings: tuple[Finding, ...]
    borders_s: tuple[float, ...] = ()  # where episodes begin


def curves_of_bag(samples: BagSamples, wanted: Wanted) -> Curves:
    """Return what a bag holds and what lint says of it."""
    prepared = prepare(samples, wanted)
    report = lint_prepared(samples, prepared, wanted)
    channels = {}
    for joint in prepared.samples.joint_names():
        path = track(samples, joint)
        for quantity in ('position', 'velocity'):
            channels[f'{joint}/{quantity}'] = prepared.seconds(path), path.values[quantity]
    for odometry in prepared.samples.odometry:
        chain = base_readings(odometry, wanted.twist_frame)
        times = prepared.seconds(chain)
        for terms, quantity in ((POSITION_TERMS, 'position'), (RATE_TERMS, 'velocity')):
            columns = chain.values[quantity].T
            channels |= {term: (times, values) for term, values in zip(terms, columns)}
    title = f'{Path(samples.source).name}: {report.verdict()}'
    return Curves(title, channels, report.findings)


def curves_of_demonstrations(demos: Demonstrations, episode: int | None = None) -> Curves:
    """Return the states of demonstrations, all episodes one behind the other or one of them."""
    rate_hz = demos.rate_hz or 1.0
    slices = list(demos.state_slices())
    if episode is not None:
        slices = slices[episode : episode + 1]
    rows = np.concatenate([np.arange(len(demos.states))[one] for one in slices])
    times = np.arange(len(rows)) / rate_hz
    states = demos.states[rows].astype(np.float64)
    channels = {name: (times, states[:, k]) for k, name in enumerate(demos.state_names)}
    lengths = [one.stop - one.start for one in slices]
    borders = tuple((np.cumsum(lengths)[:-1] / rate_hz).tolist())
    title = f'{Path(demos.source).name}: {len(slices)} episode(s), {len(rows) / rate_hz:.1f} s'
    return Curves(title, channels, _look(channels, borders), borders)


def _look(
    channels: dict[str, tuple[Array, Array]], borders_s: Sequence[float]
) -> tuple[Finding, ...]:
    """Find spikes and frozen stretches in demonstrations, and how noisy they are."""
    found: list[Finding] = []
    noises = []
    for name, (times, values) in channels.items():
        joint, _, quantity = name.partition('/')
        if quantity not in LEAST_SPIKE:
            continue
        marked = times[find_spikes(values, LEAST_SPIKE[quantity])].tolist()
        spikes = [at for at in marked if all(abs(at - b) > 0.02 for b in borders_s)]
        if spikes:
            text = f'{len(spikes)} single samples jump away and back'
            found.append(Finding(WARNING, 'spikes', name, text, tuple((t, t) for t in spikes)))
        if quantity == 'position':
            frozen = find_frozen(times, values)
            if frozen:
                spans = tuple((float(times[a]), float(times[b])) for a, b in frozen)
                text = f'keeps one value {len(frozen)} times'
                found.append(Finding(WARNING, 'frozen', name, text, spans))
            if f'{joint}/velocity' in channels:
                noises.append(noise_levels(times, values, channels[f'{joint}/velocity'][1]))
    if noises:
        of_position, of_velocity = np.median(noises, axis=0)
        text = f'about {1e3 * of_position:.2f} mrad and {of_velocity:.3f} rad/s at most'
        found.append(Finding(NOTE, 'noise', 'joints', text))
    return tuple(found)


def draw(curves: Curves, out: Path, span_s: tuple[float, float] | None = None) -> None:
    """Write the picture as PNG."""
    from matplotlib.figure import Figure

    panels = {
        title: {name: curve for name, curve in curves.channels.items() if _in_panel(name, kind)}
        for title, kind in _PANELS.items()
    }
    panels = {title: names for title, names in panels.items() if names}
    drawn = [finding for finding in curves.findings if finding.severity != NOTE or finding.spans_s]
    drawn = sorted(drawn, key=lambda one: list(_COLOURS).index(one.severity))[:_MOST_ROWS]
    heights = [3.0] * len(panels) + [0.5 + 0.28 * max(len(drawn), 1)]
    figure = Figure(figsize=(14, sum(heights)), dpi=90, layout='constrained')
    axes = figure.subplots(len(heights), 1, sharex=True, height_ratios=heights, squeeze=False)
    for axis, (title, names) in zip(axes[:, 0], panels.items()):
        for name, (times, values) in names.items():
            owner, _, quantity = name.partition('/')
            label = quantity if name in (*POSITION_TERMS, *RATE_TERMS) else owner
            axis.plot(*_broken_at_gaps(times, values), linewidth=0.8, label=label)
        about = [finding for finding in drawn if _concerns(finding, list(names))]
        _decorate(axis, title, curves, about)
    _draw_findings(axes[-1, 0], drawn)
    if span_s is not None:
        axes[0, 0].set_xlim(*span_s)
    figure.suptitle(curves.title, x=0.01, ha='left')
    figure.savefig(out, format='png')


def _in_panel(name: str, kind: str) -> bool:
    base = {'height': POSITION_TERMS[2:3], 'angles': ANGLE_TERMS, 'rates': RATE_TERMS}
    return name in base[kind] if kind in base else name.endswith(kind)


def _concerns(finding: Finding, names: Sequence[str]) -> bool:
    """Return whether a finding is about what a panel shows."""
    base = names[0] in (*POSITION_TERMS, *RATE_TERMS)
    owners = {name.partition('/')[0] for name in names}
    return base if finding.where.startswith('/') else finding.where in {*names, *owners}


def _broken_at_gaps(times: Array, values: Array) -> tuple[Array, Array]:
    """Return a curve that is not drawn through what was not recorded."""
    after = np.flatnonzero(np.abs(np.diff(times)) > longest_step_s(period_s(times))) + 1
    return np.insert(times, after, np.nan), np.insert(values, after, np.nan)


def _decorate(axis: Any, title: str, curves: Curves, drawn: Sequence[Finding]) -> None:
    for border in curves.borders_s:
        axis.axvline(border, color='black', linewidth=0.6)
    for finding in drawn:
        for first, last in finding.spans_s:
            wide = max(last - first, 0.005)
            axis.axvspan(first, first + wide, color=_COLOURS[finding.severity], alpha=0.15)
    axis.set_title(title, loc='left', fontsize=9)
    columns = 1 + len(axis.lines) // 12
    axis.legend(loc='center left', bbox_to_anchor=(1.0, 0.5), fontsize=7, ncols=columns)
    axis.grid(alpha=0.3)


def _draw_findings(axis: Any, drawn: Sequence[Finding]) -> None:
    """Draw one row for each finding, with a bar where it is known when."""
    axis.set_title('findings' if drawn else 'no findings', loc='left', fontsize=9)
    axis.set_ylim(len(drawn) - 0.5, -0.5) if drawn else axis.set_ylim(0, 1)
    axis.set_yticks([])
    axis.set_xlabel('s')
    for row, finding in enumerate(drawn):
        colour = _COLOURS[finding.severity]
        for first, last in finding.spans_s:
            axis.barh(
                row, max(last - first, 0.02), left=first, height=0.8, color=colour, alpha=0.5
            )
        text = f'{finding.severity} {finding.where}: {finding.message}'
        text = text if len(text) < 150 else f'{text[:147]}...'
        axis.text(0.002, row, text, fontsize=8, va='center', transform=axis.get_yaxis_transform())
