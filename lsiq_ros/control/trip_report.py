# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""What follows a trip, outside the loop: somebody is told, and a black box is written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
import threading
from typing import Any

from lsiq_core.errors import LsiqError
from lsiq_ros.control.black_box_bag import write_bag
from lsiq_ros.gate.black_box import BlackBox
from lsiq_ros.gate.checks import Violation

LONGEST_WRITE_S = 10.0


class TripReporter:
    """
    Report every trip once, in a thread of its own: the loop has no time for files.

    :param black_box: what is written.
    :param directory: where bags go.
    :param type_names: message type of every topic in the black box.
    :param on_trip: called with the reason.
    :param log: the node's logger.
    """

    def __init__(
        self,
        black_box: BlackBox,
        directory: Path,
        type_names: Mapping[str, str],
        on_trip: Callable[[Violation], None],
        log: Any,
    ) -> None:
        self._black_box, self._directory = black_box, directory
        self._type_names, self._on_trip, self._log = dict(type_names), on_trip, log
        self._reported: Violation | None = None
        self._threads: list[threading.Thread] = []

    def expect(self, violation: Violation) -> None:
        """Keep quiet about a trip that somebody asked for."""
        self._reported = violation

    def look(self, violation: Violation | None, notes: Callable[[], Mapping[str, str]]) -> None:
        """
        Report what tripped, if it is news.

        :param violation: what the gate is latched by at present.
        :param notes: gives what is to be written beside the bag.
        """
        known, self._reported = self._reported, violation
        if violation is None or violation is known:
            return
        about = {'tripped_by': violation.check.value, 'detail': violation.detail, **notes()}
        thread = threading.Thread(target=self._save, args=(violation, about), name='black_box')
        try:
            thread.start()
        except RuntimeError as error:  # the loop must not die of it: its torque would stand
            self._log.error(f'no thread for the black box: {error}')
            return
        self._threads = [old for old in self._threads if old.is_alive()] + [thread]

    def join(self) -> None:
        """Wait until all is written."""
        for thread in self._threads:
            thread.join(timeout=LONGEST_WRITE_S)

    def _save(self, violation: Violation, notes: dict[str, str]) -> None:
        self._on_trip(violation)
        try:
            messages = self._black_box.snapshot()
            path = write_bag(self._directory, messages, self._type_names, notes)
            self._log.error(f'black box: {path}')
        except (LsiqError, OSError) as error:
            self._log.error(f'the black box could not be written: {error}')
