# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""A small policy of a made-up robot, exported for tests."""

from __future__ import annotations

from pathlib import Path

from lsiq_core.policy.artifact import Joint, ObservationTerm, PolicyMetadata, Verification
from lsiq_core.policy.export import bounds_of, export_policy
import numpy as np
import torch

JOINTS = ('hip', 'knee')
TERMS = ('hip/position', 'knee/position', 'hip/velocity', 'knee/velocity')
LIMITS_NM = (798.0, 846.0)


class Actor(torch.nn.Module):
    """The shape of the project's actor: normaliser, MLP, squashing, scaling."""

    def __init__(self, terms: int, limits_nm: tuple[float, ...], *, layer_norm: bool, seed: int):
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        self.register_buffer('mean', torch.randn(terms, generator=generator))
        self.register_buffer('std', torch.rand(terms, generator=generator) + 0.3)
        self.register_buffer('limits', torch.tensor(limits_nm))
        widths = (terms, 256, 256)
        layers: list[torch.nn.Module] = []
        for wide, next_wide in zip(widths, widths[1:]):
            layers.append(torch.nn.Linear(wide, next_wide))
            if layer_norm:
                layers.append(torch.nn.LayerNorm(next_wide))
            layers.append(torch.nn.ReLU())
        layers.append(torch.nn.Linear(256, 2 * len(limits_nm)))
        self.layers = torch.nn.Sequential(*layers)

    def forward(self, observation: torch.Tensor) -> torch.Tensor:
        """Return N m for raw observations."""
        normalised = ((observation - self.mean) / self.std).clamp(-10, 10)
        mean = self.layers(normalised)[:, : len(self.limits)]
        return torch.tanh(mean) * self.limits


def metadata(**changes: object) -> PolicyMetadata:
    """Describe the made-up robot."""
    states = np.random.default_rng(0).normal(size=(50, len(TERMS)))
    fields = {
        'robot': 'two_joints',
        'task': 'swing',
        'rate_hz': 100.0,
        'observation': tuple(
            ObservationTerm(name, 'rad' if name.endswith('position') else 'rad/s', scale=1 / 3)
            for name in TERMS
        ),
        'joints': tuple(
            Joint(name, -limit, limit, 12.0, -1.5, 1.5) for name, limit in zip(JOINTS, LIMITS_NM)
        ),
        'demonstration_bounds': bounds_of(states[:10]),
        'training_bounds': bounds_of(states),
        'golden': (),
        'algorithm': 'lsiq',
        'training': {'steps': 1000},
    }
    return PolicyMetadata(**{**fields, **changes})  # type: ignore[arg-type]


def write_policy(path: Path, *, seed: int = 0, **changes: object) -> Verification:
    """Export a random actor of the made-up robot."""
    torch.manual_seed(seed)
    actor = Actor(len(TERMS), LIMITS_NM, layer_norm=True, seed=seed)
    golden = np.random.default_rng(seed).normal(size=(5, len(TERMS)))
    return export_policy(actor, metadata(**changes), path, golden_observations=golden)
