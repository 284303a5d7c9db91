# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Episodes of a policy under a disturbance, many at once, in this process."""

from collections.abc import Callable
from dataclasses import dataclass
import hashlib
from pathlib import Path

from lsiq_core.errors import TaskError
from lsiq_core.history import History, is_past, Memory
from lsiq_core.policy.artifact import OnnxPolicy, read_artifact
from lsiq_core.policy.artifact.metadata import PolicyMetadata
from lsiq_core.robot import is_robot, load_robot, Randomisation, RobotSpec
from lsiq_core.types import Array, names
from lsiq_ros.view.robot import golden_starts
import numpy as np
from sim.batch import WalkingBatch
from sim.robot import forward_speed_mps
from sim.walking import WalkingConfig

Act = Callable[[Array], Array]  # inputs [N, I] to actions [N, A]


@dataclass(frozen=True)
class Subject:
    """The policy that is tried, by what a process needs to make it anew."""

    policy: Path  # policy.onnx, a checkpoint or a run
    robot: str = ''  # by name or path; empty: the one that the policy names
    stochastic: bool = False


@dataclass(frozen=True)
class Policy:
    """A policy as a function, and what it was made for."""

    act: Act
    history: History
    observation: tuple[str, ...]
    joints: tuple[str, ...]
    rate_hz: float
    robot: str
    sha256: str
    action: str  # torque or pd_target
    metadata: PolicyMetadata | None = None  # of a policy file


def load(subject: Subject, seed: int = 0) -> Policy:
    """Read a policy file, or the policy of a checkpoint or run."""
    if subject.policy.suffix == '.onnx':
        if subject.stochastic:
            raise TaskError(
                f'{subject.policy}: a policy file holds the mean alone; for sampled actions name '
                'the run or its checkpoint'
            )
        artifact = read_artifact(subject.policy)
        metadata = artifact.metadata
        return Policy(
            OnnxPolicy(artifact).batch,
            metadata.history,
            metadata.observation_names,
            metadata.joint_names,
            metadata.rate_hz,
            metadata.robot,
            artifact.sha256,
            metadata.action,
            metadata,
        )
    return _of_checkpoint(subject, seed)


def _of_checkpoint(subject: Subject, seed: int) -> Policy:
    from lsiq_core import checkpoint
    from lsiq_core.policy.policies import load_policy, policy_function
    import torch

    torch.set_num_threads(1)
    path = checkpoint.find(subject.policy)
    learner, state, header = load_policy(path)
    spec = header['spec']
    low, high = (np.array([term[end] for term in spec['action']]) for end in ('low', 'high'))
    normalised = policy_function(learner, state, stochastic=subject.stochastic, seed=seed)
    return Policy(
        lambda inputs: low + 0.5 * (normalised(inputs) + 1) * (high - low),
        learner.config.networks.history,
        tuple(term['name'] for term in spec['observation'] if not is_past(term['name'])),
        tuple(term['name'].partition('/')[0] for term in spec['action']),
        spec['rate_hz'],
        spec['task'],
        hashlib.sha256(path.read_bytes()).hexdigest(),
        'pd_target' if spec['action'][0]['name'].endswith('/position') else 'torque',
    )


def robot_of(subject: Subject, policy: Policy) -> RobotSpec:
    """Return the robot that a policy is tried on; refuse one that it was not made for."""
    if not subject.robot and not is_robot(policy.robot):
        raise TaskError(
            f'{subject.policy}: made for the robot {policy.robot!r}, which is not installed; say '
            'where its folder is with --robot'
        )
    spec = load_robot(subject.robot or policy.robot)
    if spec.control.rate_hz != policy.rate_hz:
        raise TaskError(
            f'{subject.policy}: made for {policy.rate_hz:g} Hz, {spec.name} is commanded at '
            f'{spec.control.rate_hz:g} Hz'
        )
    return spec


@dataclass(frozen=True)
class Walks:
    """How episodes went, one value for each."""

    survived: list[bool]
    speed_mps: list[float]  # until the fall
    metric: list[float]  # per step of the whole episode, nothing after the fall


def walk(
    subject: Subject, ranges: Randomisation, *, episodes: int, seconds: float, seed: int
) -> Walks:
    """
    Walk episodes at once.

    :param seed: of starts, worlds, noise and sampled actions.
    """
    policy = load(subject, seed)
    spec = robot_of(subject, policy)
    batch, columns = _batch(subject, policy, spec, ranges, episodes, seconds, seed)
    metric, standing = np.zeros(episodes), np.ones(episodes, bool)
    memory = Memory.of(policy.history, policy.observation, names(batch.robot.action_terms))
    steps = batch.max_episode_steps
    try:
        while standing.any() and batch.steps.max() < steps:
            actions = policy.act(memory.see(batch.obs[:, columns]))
            memory.did(actions)
            step = batch.step(actions, standing)
            metric[standing] += step.reward[standing]
            standing &= ~step.terminated
    finally:
        batch.close()
    speed = batch.forward_m / (batch.steps / batch.rate_hz)
    return Walks(standing.tolist(), speed.tolist(), (metric / steps).tolist())


def _batch(
    subject: Subject,
    policy: Policy,
    spec: RobotSpec,
    ranges: Randomisation,
    episodes: int,
    seconds: float,
    seed: int,
) -> tuple[WalkingBatch, list[int]]:
    """Return the robots and the columns of what the policy observes."""
    forces = any('/force_' in name for name in policy.observation)
    starts = None if policy.metadata is None else golden_starts(policy.metadata, spec)
    config = WalkingConfig(
        'full' if forces else 'kinematic',
        action=policy.action,
        max_episode_steps=round(seconds * spec.control.rate_hz),
        randomisation=ranges,
        speed_mps=None if starts is None else forward_speed_mps(starts),
    )
    batch = WalkingBatch(
        episodes,
        spec,
        config,
        reset_frames=starts,
        seed=seed,
    )
    found = names(batch.observation_terms)
    missing = [name for name in policy.observation if name not in found]
    if missing or batch.joints != policy.joints:
        raise TaskError(
            f'{subject.policy}: does not fit {spec.name}: '
            + (f'it observes {missing}' if missing else f'it drives {list(policy.joints)}')
            + f', the robot has {list(found if missing else batch.joints)}'
        )
    return batch, [found.index(name) for name in policy.observation]
