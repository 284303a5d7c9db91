# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""A progress bar for the training of a tracker."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
import signal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lsiq_ros.runs.retrace import Listener


@contextmanager
def tracker_progress(minutes: float) -> Iterator[Listener]:
    """
    Show a bar and one line for each evaluation; Ctrl-C stops the training in good order.

    Into a file there is no bar, but a line each minute.

    :param minutes: the longest that the training may take.
    """
    from lsiq_ros.runs.driver import noted
    from lsiq_ros.runs.retrace import evaluated, Lines, Listener
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn('{task.description}'), BarColumn(), TimeElapsedColumn())
    with Progress(*columns) as progress, noted(signal.SIGINT, signal.SIGTERM) as signals:
        bar = progress.add_task('tracker', total=minutes)
        lines = Lines(progress.console.print)

        def show(row: dict[str, float]) -> None:
            if not progress.console.is_terminal:
                lines(row)
                return
            text = f'{row["steps"] / 1e6:.2f} M steps, reward {row["reward"]:.2f}'
            progress.update(bar, completed=row['minutes'], description=text)
            if said := evaluated(row):
                progress.console.print(said)

        yield Listener(progress.console.print, show, lambda: bool(signals))
