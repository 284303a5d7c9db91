# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Motor babbling: short bursts of smooth random torque, from which the IDM learns first."""

from __future__ import annotations

from lsiq_core.batch import pack
from lsiq_core.dataset import ActionBox
from lsiq_core.env import Env
import numpy as np
import torch
from torch import Tensor

_SMOOTHING = 0.7  # share of the last action that the next one keeps


def babble(env: Env, *, transitions: int, burst: int, generator: torch.Generator) -> Tensor:
    """
    Return packed transitions of random actions, each burst from a fresh reset.

    Bursts are short because the model is wanted near the states that the task resets to (the
    expert's, with ``collection.reset_to_expert``): random torque until the fall teaches falling.

    :return: rows [transitions, 2 D + A + 1].
    """
    box = ActionBox.of(env)
    action_dim = len(env.action_terms)
    seed = int(torch.randint(2**31 - 1, (), generator=generator))
    obs = env.reset(seed=seed)
    rows: list[Tensor] = []
    action, size, age = torch.zeros(action_dim), torch.ones(()), burst
    before, actions, after, absorbing = [], [], [], []
    for _ in range(transitions):
        if age >= burst:
            obs, age = env.reset(), 0
            size = torch.rand((), generator=generator)  # from gentle to full torque
            action = size * torch.randn(action_dim, generator=generator)
        fresh = size * torch.randn(action_dim, generator=generator)
        action = (_SMOOTHING * action + (1 - _SMOOTHING**2) ** 0.5 * fresh).clamp(-1.0, 1.0)
        step = env.step(box.scale(action).numpy())
        before.append(obs)
        actions.append(action)
        after.append(step.obs)
        absorbing.append(float(step.terminated))
        obs, age = step.obs, burst if step.terminated or step.truncated else age + 1
    rows = [torch.as_tensor(np.stack(each), dtype=torch.float32) for each in (before, after)]
    return pack(rows[0], torch.stack(actions), rows[1], torch.tensor(absorbing))
