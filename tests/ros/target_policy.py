# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""A policy of PD targets for a robot that takes no training: it always answers the same pose."""

from __future__ import annotations

from pathlib import Path

from lsiq_core.policy.artifact import Joint, ObservationTerm, PdTarget, PolicyMetadata
from lsiq_core.policy.export import bounds_of, export_policy
from lsiq_core.types import names
from lsiq_ros.robot_limits import robot_facts
from lsiq_ros.wire.observation import raw_from_observation
import numpy as np
from sim.walking import make_walking
import torch


class Pose(torch.nn.Module):
    """The same targets, whatever is observed."""

    def __init__(self, targets_rad: np.ndarray) -> None:
        super().__init__()
        self.register_buffer('targets', torch.tensor(targets_rad, dtype=torch.float32))

    def forward(self, observation: torch.Tensor) -> torch.Tensor:
        """Return rad for raw observations."""
        return 0 * observation[:, :1] + self.targets


def write_target_policy(
    path: Path, robot: str = 'quad', lower_rad: float = 0.0, **changes
) -> Path:
    """Export a policy that holds a robot at its nominal pose, moved by so much."""
    env = make_walking(robot, action='pd_target', start='stand')
    terms = names(env.observation_terms)
    rng = np.random.default_rng(0)
    states = [env.reset(seed=0)]
    for _ in range(100):  # a little of everything, so that the gate knows what to expect
        move = 0.3 * rng.uniform(env.action_low - env.robot.rest, env.action_high - env.robot.rest)
        states.append(env.step(env.robot.rest + move).obs)
    bounds = bounds_of(np.array(states))
    facts = robot_facts(robot, terms, bounds)
    fields = {
        'robot': facts.name,
        'task': facts.name,
        'rate_hz': env.rate_hz,
        'observation': tuple(ObservationTerm(name) for name in terms),
        'joints': tuple(
            Joint(name, pd['effort_low'], pd['effort_high'], **facts.joint_limits[name])
            for name, pd in zip(env.joints, env.pd_targets)
        ),
        'demonstration_bounds': bounds,
        'training_bounds': bounds,
        'golden': (),
        'algorithm': 'one pose',
        'robot_model_sha256': facts.model_sha256,
        'pd': tuple(
            PdTarget(pd['nominal'], float(low), float(high), pd['stiffness'], pd['damping'])
            for pd, low, high in zip(env.pd_targets, env.action_low, env.action_high)
        ),
        'gate': facts.gate,
    }
    export_policy(
        Pose(env.robot.rest + lower_rad),
        PolicyMetadata(**{**fields, **changes}),
        path,
        golden_observations=np.array(states[:3]),
        raw_of=raw_from_observation,
    )
    return path
