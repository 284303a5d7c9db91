# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""From a run directory to the module and the metadata that a policy file is made of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lsiq_core import checkpoint
from lsiq_core.data.batch import unpack
from lsiq_core.data.demonstrations import Demonstrations
from lsiq_core.history import is_past
from lsiq_core.learning.learner import Learner
from lsiq_core.policy.artifact import (
    ArtifactError,
    Bounds,
    Joint,
    ObservationTerm,
    PdTarget,
    PolicyMetadata,
)
from lsiq_core.policy.export import bounds_of
import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

GOLDEN_TRACES = 8


def observed_columns(state: dict[str, Tensor]) -> list[int]:
    """Return the columns of the network's input that the policy sees: all that a file asks for."""
    return [int(column) for column in state['actor_mask'].nonzero()]


def present_columns(state: dict[str, Tensor], header: dict[str, Any]) -> list[int]:
    """Return those of them that are of the present observation."""
    terms = header['spec']['observation']
    return [c for c in observed_columns(state) if not is_past(terms[c]['name'])]


class ExportedPolicy(torch.nn.Module):
    """The deterministic policy: raw inputs [B, S] of what it sees, to N m or rad [B, A]."""

    mean: Tensor  # [S]
    std: Tensor  # [S]
    centre: Tensor  # [A], of the action's range
    reach: Tensor  # [A]

    def __init__(
        self, learner: Learner, state: dict[str, Tensor], low: Tensor, high: Tensor
    ) -> None:
        super().__init__()
        self._clip = learner.config.networks.observation_clip
        self._normalises = learner.config.networks.normalise != 'none'
        self._gain = learner.networks.policy.action_gain
        columns = observed_columns(state)
        self.register_buffer('mean', state['obs_mean'][columns])
        self.register_buffer('std', state['obs_std'][columns])
        self.register_buffer('centre', (high + low) / 2)
        self.register_buffer('reach', (high - low) / 2)
        mlp = learner.networks.policy.mlp
        first, *others = mlp.split(state[learner.evaluated_actor])
        parameters = iter([first[:, columns], *others])
        layers: list[torch.nn.Module] = []
        last = len(mlp.sizes) - 2
        sizes = (len(columns), *mlp.sizes[1:])
        for layer, (fan_in, fan_out) in enumerate(zip(sizes, sizes[1:])):
            layers.append(_filled(torch.nn.Linear(fan_in, fan_out), parameters))
            if layer < last:
                if mlp.layer_norm:
                    layers.append(_filled(torch.nn.LayerNorm(fan_out), parameters))
                layers.append(torch.nn.ReLU())
        self.layers = torch.nn.Sequential(*layers)

    def forward(self, obs: Tensor) -> Tensor:
        """Normalise, apply the network, squash the mean and scale it."""
        if self._normalises:
            obs = ((obs - self.mean) / self.std).clamp(-self._clip, self._clip)
        mean = self.layers(obs)[:, : len(self.reach)]
        return self.centre + self.reach * torch.tanh(mean * self._gain)


def _filled(
    layer: torch.nn.Linear | torch.nn.LayerNorm, parameters: Iterator[Tensor]
) -> torch.nn.Module:
    with torch.no_grad():
        layer.weight.copy_(next(parameters))
        layer.bias.copy_(next(parameters))
    return layer


def policy_module(
    learner: Learner, state: dict[str, Tensor], header: dict[str, Any]
) -> ExportedPolicy:
    """Return what a checkpoint's policy computes, ready for export."""
    if checkpoint.READS_0_1 in state:
        # Exported as it is, it would take roll for the pitch that it learned from.
        raise ArtifactError(
            'the checkpoint is of version 0.1, whose policy reads the base otherwise; export it '
            'with version 0.1 and convert that file with lsiq convert policy.onnx'
        )
    low, high = (
        torch.tensor([term[end] for term in header['spec']['action']]) for end in ('low', 'high')
    )
    return ExportedPolicy(learner, state, low.float(), high.float()).eval()


def training_bounds(run: Path, learner: Learner, columns: list[int]) -> Bounds | None:
    """Return the bounds of these columns of all states in the run's replay, if it lies there."""
    last = run / 'last.safetensors'
    if not last.is_file():
        return None
    rows = checkpoint.load(last).tensors.get('replay.rows')
    if rows is None or not len(rows):
        return None
    batch = unpack(rows, learner.obs_dim, learner.action_dim)
    both = [bounds_of(part[:, columns].numpy()) for part in (batch.obs, batch.next_obs)]
    return Bounds(
        low=tuple(float(value) for value in np.minimum(both[0].low, both[1].low)),
        high=tuple(float(value) for value in np.maximum(both[0].high, both[1].high)),
        samples=len(rows),
    )


def run_metadata(
    learner: Learner,
    state: dict[str, Tensor],
    header: dict[str, Any],
    demos: Demonstrations,
    *,
    trained: Bounds | None,
    joint_limits: Mapping[str, Mapping[str, float]],
    robot: str,
    robot_model_sha256: str = '',
    gate: Mapping[str, float] | None = None,
) -> PolicyMetadata:
    """
    Describe a run's policy.

    :param trained: bounds of the states seen in training; the demonstrations' if None.
    :param joint_limits: velocity_rad_s, position_low_rad and position_high_rad by joint.
    :param gate: settings of the gate that the robot's file gives.
    """
    if demos.sha256 != header['demonstrations']['sha256']:
        raise ArtifactError(
            f'{demos.source}: has hash {demos.sha256[:12]}..., the run learned from '
            f'{header["demonstrations"]["sha256"][:12]}...'
        )
    spec, config, columns = header['spec'], learner.config, present_columns(state, header)
    shown = bounds_of(demos.states[:, columns].astype(np.float64))
    scales = [(float(state['obs_mean'][c]), float(state['obs_std'][c])) for c in columns]
    return PolicyMetadata(
        robot=robot,
        task=spec['task'],
        rate_hz=float(spec['rate_hz']),
        observation=tuple(
            ObservationTerm(**spec['observation'][column], offset=mean, scale=std)
            for column, (mean, std) in zip(columns, scales)
        ),
        joints=tuple(_joint(term, joint_limits) for term in spec['action']),
        demonstration_bounds=shown,
        training_bounds=trained or shown,
        golden=(),
        algorithm=config.algorithm.name,
        robot_model_sha256=robot_model_sha256,
        demonstrations_sha256=demos.sha256,
        training={
            'environment_steps': header['steps'],
            'seconds': round(header['seconds'], 1),
            'best_evaluation': header['best'],
            'observations_only': config.observations_only,
            'demonstration_episodes': demos.num_episodes,
            'training_bounds_from': 'replay' if trained else 'demonstrations',
        },
        pd=_pd_targets(spec['action']),
        gate=dict(gate or {}),
        history=config.networks.history,
        versions={f'training {name}': text for name, text in header['versions'].items()},
    )


def golden_states(demos: Demonstrations, columns: list[int]) -> npt.NDArray[np.float64]:
    """
    Return these columns of a few states spread over the demonstrations, [N, S].

    Each is as unusual as half of its part is: a walk that starts at one begins neither in the
    midst of a push nor always at the same pose.
    """
    states = demos.states[:, columns].astype(np.float64)
    unusual = np.abs((states - states.mean(axis=0)) / (states.std(axis=0) + 1e-9)).max(axis=1)
    parts = np.array_split(np.arange(len(states)), min(GOLDEN_TRACES, len(states)))
    typical = [part[np.argsort(unusual[part], kind='stable')[len(part) // 2]] for part in parts]
    return states[typical]


def _joint(term: dict[str, Any], limits: Mapping[str, Mapping[str, float]]) -> Joint:
    name = str(term['name']).rpartition('/')[0]
    low, high = ('effort_low', 'effort_high') if 'stiffness' in term else ('low', 'high')
    return Joint(name, float(term[low]), float(term[high]), **limits.get(name, {}))


def _pd_targets(terms: Sequence[Mapping[str, Any]]) -> tuple[PdTarget, ...]:
    """Return what the targets mean, of a task whose actions are targets."""
    unexplained = [t['name'] for t in terms if t['unit'] in ('rad', 'm') and 'stiffness' not in t]
    if unexplained:
        raise ArtifactError(
            f'the run says nothing of the gains of {unexplained}; train it again with this version'
        )
    return tuple(
        PdTarget(
            nominal_rad=float(term['nominal']),
            low_rad=float(term['low']),
            high_rad=float(term['high']),
            stiffness=float(term['stiffness']),
            damping=float(term['damping']),
        )
        for term in terms
        if 'stiffness' in term
    )
