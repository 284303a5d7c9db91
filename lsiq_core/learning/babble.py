# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Motor babbling: short bursts of smooth random torque, from which the IDM learns first."""

from __future__ import annotations

from lsiq_core.data.batch import pack
from lsiq_core.data.dataset import ActionBox
from lsiq_core.env import Env
from lsiq_core.training.job import Work
import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

_PAUSE = 1000  # steps between two pauses of the work
_SMOOTHING = 0.7  # share of the last action that the next one keeps


def babble(
    env: Env, *, transitions: int, burst: int, quietest: float, generator: torch.Generator
) -> Work[Tensor]:
    """
    Return packed transitions of random actions, each burst from a fresh reset.

    Bursts are short because the model is wanted near the states that the task resets to (the
    expert's, with ``collection.reset_to_expert``): random torque until the fall teaches falling.

    :param env: the task to babble in.
    :param transitions: how many in all.
    :param burst: steps between two resets.
    :param quietest: 0 draws the size of a burst evenly; otherwise each joint draws its own,
        evenly in its logarithm, from this share of the torque limit to all of it.
    :param generator: source of everything random.
    :return: rows [transitions, 2 D + A + 1].
    """
    action_dim = len(env.action_terms)
    seed = int(torch.randint(2**31 - 1, (), generator=generator))
    actions = _smooth_noise(transitions, burst, action_dim, quietest, generator)
    commands = ActionBox.of(env).scale(torch.from_numpy(actions)).numpy()
    before, after = np.empty((2, transitions, len(env.observation_terms)), np.float32)
    absorbing = np.zeros(transitions, np.float32)
    obs, ended = env.reset(seed=seed), False
    for index, command in enumerate(commands):
        if index % _PAUSE == 0:
            yield
        if index and (index % burst == 0 or ended):
            obs = env.reset()
        step = env.step(command)
        before[index], after[index], absorbing[index] = obs, step.obs, step.terminated
        obs, ended = step.obs, step.terminated or step.truncated
    arrays = (before, actions.astype(np.float32), after, absorbing)
    return pack(*(torch.from_numpy(array) for array in arrays))


def _smooth_noise(
    transitions: int, burst: int, action_dim: int, quietest: float, generator: torch.Generator
) -> npt.NDArray[np.float64]:
    """Return actions [T, A] in [-1, 1]: each burst gentle or strong, each step like the last."""
    bursts = -(-transitions // burst)
    if quietest:
        size = quietest ** torch.rand((bursts, 1, action_dim), generator=generator)
    else:
        size = torch.rand((bursts, 1, 1), generator=generator)
    fresh = torch.randn((bursts, burst, action_dim), generator=generator)
    smooth = [fresh[:, 0]]
    for step in range(1, burst):
        kept, new = _SMOOTHING * smooth[-1], (1 - _SMOOTHING**2) ** 0.5 * fresh[:, step]
        smooth.append(kept + new)
    actions = (size * torch.stack(smooth, dim=1)).clamp(-1.0, 1.0)
    return actions.reshape(-1, action_dim)[:transitions].double().numpy()
