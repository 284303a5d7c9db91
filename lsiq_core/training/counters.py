# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""The numbers of a run that a checkpoint keeps, written and read in one place."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from typing import Any

from lsiq_core.training.simulations import Episode


@dataclass
class RunCounters:
    """How far a run is."""

    steps: int = 0  # of the environments, over all simulations
    owed_updates: float = 0.0  # earned by steps and not done yet, below one after an iteration
    best: float | None = None  # score of the best evaluation
    evaluations_at_bar: int = 0  # evaluations in a row that reached report.stop_at
    evaluation_owed: bool = False  # the run was stopped in the midst of one
    pretrained: bool = False
    seconds: float = 0.0  # over all earlier sessions
    episodes: list[Episode] = field(default_factory=list)  # finished since the last metric line

    def to_header(self) -> dict[str, Any]:
        """Return the entries of a checkpoint's header."""
        return asdict(self)

    @classmethod
    def from_header(cls, header: dict[str, Any]) -> RunCounters:
        """Read them back; what an older version did not count begins at its default."""
        known = {item.name: header[item.name] for item in fields(cls) if item.name in header}
        return cls(**known | {'episodes': [Episode(*each) for each in header['episodes']]})

    def passed(self, interval: int, before: int) -> bool:
        """Return whether a multiple of the interval was passed since ``before`` steps."""
        return self.steps // interval > before // interval
