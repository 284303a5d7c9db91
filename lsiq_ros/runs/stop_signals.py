# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Signals that are noted instead of striking in the middle of something."""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import signal
import threading


@contextlib.contextmanager
def noted(*numbers: int) -> Iterator[list[int]]:
    """Yield a list that gets every one of these signals; outside the main thread, none."""
    came: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield came
        return
    before = {each: signal.signal(each, lambda number, _: came.append(number)) for each in numbers}
    try:
        yield came
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
