# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
Whether demonstrations can be learned from as they are: whether actions explain their steps.

The simulation is put at recorded states, and the action is sought that leads to the next one
(:mod:`.gauss_newton`). Where the recording is exact and the robot can do it, nearly all steps are
explained. Where states are noisy, clipped, incomplete, or another body's, hardly any is: a reset
leads to another state, and no action that is found there means anything.
"""

from __future__ import annotations

from typing import NamedTuple

from lsiq_core.data.dataset import expert_data, state_statistics
from lsiq_core.data.demonstrations import Demonstrations
from lsiq_core.env import Env
from lsiq_core.job import complete
from lsiq_core.learning.gauss_newton import GaussNewton
import numpy as np
import torch

EXPLAINED = 0.01  # a step that is missed by less, in units of one step's change, is explained
ENOUGH = 0.5  # share of explained steps above which resets are exact
_STRETCHES, _LENGTH = 12, 15  # of the demonstrations that are tried
_CLEAR = 0.25  # so far from ENOUGH nothing more is tried
_LEAST = 4  # stretches before that


class Feasibility(NamedTuple):
    """What came out."""

    explained: float  # share of the tried transitions
    miss: float  # median, in units of one step's change
    tried: int

    @property
    def exact(self) -> bool:
        """Return whether resets are exact, so that found actions can be trusted."""
        return self.explained >= ENOUGH


def judge(env: Env, demos: Demonstrations, seed: int = 0) -> Feasibility:
    """
    Try stretches of the demonstrations, as many as a clear answer needs.

    :param env: a simulation of the demonstrations' task that can be started at any observation.
    :param demos: states in the order of the task; their actions are not looked at.
    :param seed: draws the stretches.
    """
    rows, scales = expert_data(demos.without_actions(), env).rows, state_statistics(demos)
    rng = np.random.default_rng(seed)
    misses: list[torch.Tensor] = []
    for number in range(_STRETCHES):
        first = int(rng.integers(max(len(rows) - _LENGTH, 1)))
        stretch = rows[first : first + _LENGTH]
        solver = GaussNewton(env, stretch, scales, torch.zeros(0), passes=2)
        complete(solver.run())
        misses.append(solver.misses)
        explained = float((torch.cat(misses) < EXPLAINED).double().mean())
        if number + 1 >= _LEAST and abs(explained - ENOUGH) > _CLEAR:
            break
    found = torch.cat(misses)
    return Feasibility(explained, float(found.median()), len(found))
