# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""What the torque-control node tells the world about itself, one status for each check."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from lsiq_ros.gate.checks import Check, TRIPS, Violation
from lsiq_ros.gate.loop import LatenessRecord
import numpy as np


class DiagnosticsWriter:
    """Turn counters into messages, remembering what was reported before."""

    def __init__(self, node_name: str) -> None:
        self._name = node_name
        self._reported: Counter[Check] = Counter()

    def write(
        self, counts: Mapping[Check, int], latched: Violation | None, summary: dict[str, object]
    ) -> DiagnosticArray:
        """
        Return the whole report.

        :param counts: how often each check has spoken.
        :param latched: what tripped and was not yet cleared by arming.
        :param summary: the state of the node for people.
        """
        message = DiagnosticArray()
        level, text = DiagnosticStatus.OK, str(summary.get('mode', ''))
        if summary.get('refusal'):
            level, text = DiagnosticStatus.WARN, str(summary['refusal'])
        if latched:
            level, text = DiagnosticStatus.ERROR, str(latched)
        message.status = [self._status('control', level, text, summary)]
        for check in Check:
            message.status.append(self._check_status(check, counts, latched))
        self._reported = Counter({check: counts.get(check, 0) for check in Check})
        return message

    def _check_status(
        self, check: Check, counts: Mapping[Check, int], latched: Violation | None
    ) -> DiagnosticStatus:
        count = counts.get(check, 0)
        level, text = DiagnosticStatus.OK, 'quiet'
        if count > self._reported[check]:
            level, text = DiagnosticStatus.WARN, f'{count - self._reported[check]} times lately'
        if latched is not None and latched.check is check:
            level, text = DiagnosticStatus.ERROR, latched.detail
        values: dict[str, object] = {'count': count, 'trips': check in TRIPS}
        return self._status(f'gate/{check.value}', level, text, values)

    def _status(
        self, name: str, level: bytes, text: str, values: dict[str, object]
    ) -> DiagnosticStatus:
        return DiagnosticStatus(
            level=level,
            name=f'{self._name}: {name}',
            hardware_id=self._name,
            message=text,
            values=[KeyValue(key=key, value=str(value)) for key, value in values.items()],
        )


def next_step(mode: str, armed: bool) -> str:
    """Return what a person does next with a node in this mode; docs/hardware.md says how."""
    if mode == 'shadow' and armed:
        return 'lsiq deploy activate'
    return {
        'unconfigured': 'lsiq deploy configure',
        'shadow': 'look at lsiq deploy watch and ~/shadow_command, then lsiq deploy arm',
        'running': 'lsiq deploy disarm stops at once, lsiq deploy deactivate lets go',
        'tripped': 'mend the cause, then lsiq deploy arm; or lsiq deploy deactivate',
    }[mode]


def lateness_summary(record: LatenessRecord) -> dict[str, object]:
    """Return the loop's timing in microseconds."""
    latest = record.latest() * 1e6
    if not len(latest):
        return {}
    p50, p99, p999 = np.percentile(latest, [50, 99, 99.9])
    return {
        'lateness_p50_us': f'{p50:.0f}',
        'lateness_p99_us': f'{p99:.0f}',
        'lateness_p99.9_us': f'{p999:.0f}',
        'lateness_max_us': f'{latest.max():.0f}',
        'loop_ticks': record.ticks,
        'deadlines_skipped': record.misses,
    }
