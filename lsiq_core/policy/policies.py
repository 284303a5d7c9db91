# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Trained policies as functions, and what they were made for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from lsiq_core import checkpoint
from lsiq_core.config import convert, from_dict
from lsiq_core.conversion import as_read_by_0_1
from lsiq_core.env import Env
from lsiq_core.learning.learner import Learner
from lsiq_core.learning.optimiser import State
import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor


def learner_state(tensors: dict[str, Tensor]) -> State:
    """Return the learner's part of a checkpoint."""
    return checkpoint.part(tensors, 'learner')


def describe_env(env: Env) -> dict[str, Any]:
    """Return what a policy was made for, as plain data."""
    # Of PD targets their gains, nominal pose and torque limits; a torque explains itself.
    meanings = getattr(env, 'pd_targets', None) or [{}] * len(env.action_terms)
    return {
        'task': env.name,
        'rate_hz': env.rate_hz,
        'observation': [
            {'name': term.name, 'unit': term.unit, 'frame': term.frame}
            for term in env.observation_terms
        ],
        'action': [
            {
                'name': term.name,
                'unit': term.unit,
                'low': float(low),
                'high': float(high),
                **meaning,
            }
            for term, low, high, meaning in zip(
                env.action_terms, env.action_low, env.action_high, meanings
            )
        ],
    }


def load_policy(path: Path) -> tuple[Learner, State, dict[str, Any]]:
    """Return learner, state and header of a checkpoint or a run directory."""
    tensors, header = checkpoint.load(checkpoint.find(path))
    config = from_dict(convert(header['config']), where=str(path))
    spec = header['spec']
    learner = Learner(config, len(spec['observation']), len(spec['action']))
    return learner, learner_state(tensors), header


def policy_function(
    learner: Learner, state: State, *, stochastic: bool = False, seed: int = 0
) -> Callable[[npt.NDArray[np.float64]], npt.NDArray[np.float64]]:
    """Return the policy as a function from observations [..., D] to normalised actions."""
    generator = torch.Generator().manual_seed(seed)
    columns = state[checkpoint.READS_0_1].tolist() if checkpoint.READS_0_1 in state else None

    def act(obs: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        if columns is not None:
            obs = np.apply_along_axis(as_read_by_0_1, -1, obs, columns)
        rows = torch.as_tensor(obs, dtype=torch.float32).reshape(-1, obs.shape[-1])
        shape = (len(rows), learner.action_dim)
        noise = torch.randn(shape, generator=generator) if stochastic else None
        with torch.no_grad():
            actions = learner.act(state, rows, noise).double().numpy()
        return actions.reshape(*obs.shape[:-1], learner.action_dim)

    return act
