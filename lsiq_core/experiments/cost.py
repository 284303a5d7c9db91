# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""What a grid will cost, from runs of its kind that are done, or else from an assumption."""

import json
from pathlib import Path
from typing import NamedTuple

from lsiq_core.config import RunConfig
from lsiq_core.experiments.grid import Run
from lsiq_core.experiments.status import RESULT

# One compiled update of LSIQ with 512 samples in 256 x 256 networks, one step of a simulation with
# its share of the evaluations, and one compilation, on one core of a small server; `lsiq bench
# learner` tells what they are elsewhere.
ASSUMED_UPDATE_MS, ASSUMED_STEP_MS, ASSUMED_COMPILATION_MS = 8.0, 0.4, 40_000.0
_ASSUMED_WEIGHTS = 512 * 256 * 256
# What an update of each algorithm costs in those of LSIQ, and what predicting actions adds.
SHARES = {
    'lsiq': 1.0,
    'lsiq_h': 1.9,
    'lsiq_hc': 2.7,
    'iq': 1.8,
    'iqv0': 1.8,
    'sqil': 1.2,
    'gail': 2.1,
    'vail': 1.6,
    'bc': 0.3,
}
INVERSE_DYNAMICS_SHARE = 0.35
_ASSUMED_REFINEMENT = 25 * 25_000  # simulated steps: so many for each of 25 demonstrations' steps


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
    from lsiq_core.learning.algorithms import predicts_actions  # loads torch, a second

    optimisation, collection = config.optimisation, config.collection
    babble = config.pretraining.babble
    compiles = config.compile != 'never'
    widths = config.networks.hidden
    weights = sum(a * b for a, b in zip(widths, widths[1:])) or widths[0]
    samples = optimisation.expert_batch + optimisation.policy_batch
    overhead = 0.2 if compiles else 0.5  # rules where the networks are small
    lsiq_ms = max(samples * weights / _ASSUMED_WEIGHTS, overhead) * ASSUMED_UPDATE_MS
    share, steps = SHARES.get(config.algorithm.name, 1.0), float(collection.steps)
    spent_ms = ASSUMED_COMPILATION_MS if compiles else 0.0
    if predicts_actions(config):
        if config.idm.online:
            share += INVERSE_DYNAMICS_SHARE
        steps += babble.transitions + (_ASSUMED_REFINEMENT if config.pretraining.refine else 0)
        spent_ms += babble.updates * INVERSE_DYNAMICS_SHARE * lsiq_ms
    updates = collection.steps * optimisation.updates_per_step
    spent_ms += config.bc.pretrain_updates * SHARES['bc'] * lsiq_ms
    return spent_ms + updates * share * lsiq_ms + steps * ASSUMED_STEP_MS
