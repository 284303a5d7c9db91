# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""A policy for a made-up robot of two joints, whose torques are known by heart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lsiq_core.history import History, Memory
from lsiq_core.policy.artifact import Joint, ObservationTerm, PolicyMetadata
from lsiq_core.policy.export import bounds_of, export_policy
from lsiq_ros.wire.observation import raw_from_observation
import numpy as np
import torch

RATE_HZ = 25.0  # slow, so that a busy machine is not taken for a fault
JOINTS = ('hip', 'knee')
TERMS = ('hip/position', 'knee/position', 'hip/velocity', 'knee/velocity', 'base/height')
LIMITS_NM = np.array([100.0, 60.0])


class Spring(torch.nn.Module):
    """Torques that pull both joints to 0.1 rad; more than the limits far away from it."""

    def __init__(self, stiffness: float = 200.0) -> None:
        super().__init__()
        self.stiffness = stiffness

    def forward(self, observation: torch.Tensor) -> torch.Tensor:
        return self.stiffness * (0.1 - observation[:, :2])


class Growing(torch.nn.Module):
    """Asks for 8 N m more than half of what it asked for one step before."""

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        return 8.0 + 0.5 * inputs[:, -len(JOINTS) :]


def write_policy(path: Path, **changes: Any) -> Path:
    """Export the spring as a policy, or another ``module``."""
    rng = np.random.default_rng(0)
    states = rng.uniform(-1, 1, (100, len(TERMS))) + [0, 0, 0, 0, 1]
    module = changes.pop('module', None) or Spring(changes.pop('stiffness', 200.0))
    memory = Memory.of(changes.get('history', History()), TERMS, JOINTS)
    fields = {
        'robot': 'two_joints',
        'task': 'hold',
        'rate_hz': RATE_HZ,
        'observation': tuple(ObservationTerm(name) for name in TERMS),
        'joints': tuple(
            Joint(name, -limit, limit, 10.0, -1.5, 1.5) for name, limit in zip(JOINTS, LIMITS_NM)
        ),
        'demonstration_bounds': bounds_of(states),
        'training_bounds': bounds_of(states),
        'golden': (),
        'algorithm': 'spring',
    }
    metadata = PolicyMetadata(**{**fields, **changes})
    export_policy(
        module,
        metadata,
        path,
        golden_observations=memory.see(states[:3]),
        raw_of=raw_from_observation,
    )
    return path
