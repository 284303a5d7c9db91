# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""A policy for Atlas that takes no training: least squares on the shipped demonstrations."""

from pathlib import Path

from lsiq_core.data.demonstrations import Demonstrations, load
from lsiq_core.policy.artifact import Joint, ObservationTerm, PolicyMetadata
from lsiq_core.policy.export import bounds_of, export_policy
from lsiq_core.shipped_files import shipped
from lsiq_ros.robot_limits import robot_facts
from lsiq_ros.wire.observation import raw_from_observation
import numpy as np
import torch

DEMOS = shipped('models/atlas/demos/walk_noisy.npz')
LIMIT_NM = 400.0  # of every joint


class LeastSquares(torch.nn.Module):
    """Some steps, then a fall."""

    def __init__(self, demos: Demonstrations) -> None:
        super().__init__()
        rows = np.concatenate([demos.states[span][:-1] for span in demos.state_slices()])
        inputs = np.column_stack([rows, np.ones(len(rows))]).astype(np.float64)
        weights = np.linalg.lstsq(inputs, demos.actions.astype(np.float64), rcond=None)[0]
        self.register_buffer('slope', torch.tensor(weights[:-1], dtype=torch.float32))
        self.register_buffer('offset', torch.tensor(weights[-1], dtype=torch.float32))

    def forward(self, observation: torch.Tensor) -> torch.Tensor:
        """Return N m for raw observations."""
        return observation @ self.slope + self.offset


def write_atlas_policy(path: Path) -> Path:
    """Export it."""
    demos = load(DEMOS)
    names, bounds = demos.state_names, bounds_of(demos.states)
    facts = robot_facts('atlas', names, bounds)
    joints = [name.removesuffix('/effort') for name in demos.action_names]
    metadata = PolicyMetadata(
        robot=facts.name,
        task='atlas',
        rate_hz=100.0,
        observation=tuple(ObservationTerm(name) for name in names),
        joints=tuple(
            Joint(name, -LIMIT_NM, LIMIT_NM, **facts.joint_limits[name]) for name in joints
        ),
        demonstration_bounds=bounds,
        training_bounds=bounds,
        golden=(),
        algorithm='least squares',
    )
    export_policy(
        LeastSquares(demos),
        metadata,
        path,
        golden_observations=demos.states[:3],
        raw_of=raw_from_observation,
    )
    return path
