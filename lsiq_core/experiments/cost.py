# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""What a grid will cost, from runs of its kind that are done, or else from an assumption."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

from lsiq_core.config import RunConfig
from lsiq_core.experiments.grid import Run
from lsiq_core.experiments.status import RESULT

# One update of 512 samples in 256 x 256 networks, and one step of a simulation, on one core of
# a small server; `lsiq bench learner` tells what they are elsewhere.
ASSUMED_UPDATE_MS, ASSUMED_STEP_MS = 8.0, 0.3
_ASSUMED_WEIGHTS = 512 * 256 * 256


class Estimate(NamedTuple):
    """Minutes of one core for one run, and where the figure comes from."""

    minutes: float
    measured: bool


def estimate(run: Run, out: Path) -> Estimate:
    """Return what a run costs, measured on a finished one of its kind where there is one."""
    config = run.config
    kind = run.name.rsplit('_s', 1)[0]
    for result in sorted(out.glob(f'{kind}_s*/{RESULT}')):
        figures = json.loads(result.read_text(encoding='utf-8'))
        rate = figures['minutes'] / max(figures['steps'], 1)
        return Estimate(rate * config.collection.steps, measured=True)
    return Estimate(_assumed_ms(config) / 60_000, measured=False)


def _assumed_ms(config: RunConfig) -> float:
    optimisation, collection = config.optimisation, config.collection
    widths = config.networks.hidden
    weights = sum(a * b for a, b in zip(widths, widths[1:])) or widths[0]
    samples = optimisation.expert_batch + optimisation.policy_batch
    share = max(samples * weights / _ASSUMED_WEIGHTS, 0.2)  # below that the overhead rules
    updates = collection.steps * optimisation.updates_per_step
    return updates * share * ASSUMED_UPDATE_MS + collection.steps * ASSUMED_STEP_MS
