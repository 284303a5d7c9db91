# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Measure a policy in episodes of its own, apart from training."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from lsiq_core.env import Env
from lsiq_core.job import Interrupted
import numpy as np
import numpy.typing as npt

Policy = Callable[[npt.NDArray[np.float64]], npt.NDArray[np.float64]]
"""Maps an observation [D] to a normalised action [A] in [-1, 1]."""

EVALUATION_SEED = 1_000_000  # far from any training seed


@dataclass(frozen=True)
class Rollouts:
    """What a number of episodes came to."""

    returns: npt.NDArray[np.float64]  # [E]
    discounted: npt.NDArray[np.float64]  # [E]
    lengths: npt.NDArray[np.int64]  # [E]
    terminated: npt.NDArray[np.bool_]  # [E]
    summaries: dict[str, float] = field(default_factory=dict)
    transitions: list[tuple[npt.NDArray[np.float64], ...]] = field(default_factory=list)
    """(obs, normalised action, next obs) of the episodes, where they were asked for."""

    def metrics(self, references: Mapping[str, float | None]) -> dict[str, float]:
        """
        Return the metrics by name.

        :param references: ``random_return`` and ``expert_return``, the zero and the one of the
            normalised return, and ``expert_length``; what is unknown leaves its metric out.
        """
        metrics = {
            'return_mean': float(self.returns.mean()),
            'return_std': float(self.returns.std()),
            'discounted_return_mean': float(self.discounted.mean()),
            'episode_length_mean': float(self.lengths.mean()),
            'terminated_rate': float(self.terminated.mean()),
            **self.summaries,
        }
        chance, expert = references.get('random_return'), references.get('expert_return')
        if chance is not None and expert is not None:
            metrics['normalized_return'] = (metrics['return_mean'] - chance) / (expert - chance)
        length = references.get('expert_length')
        if 'metric_mean' in metrics and expert is not None and length is not None:
            metrics['metric_expert'] = expert / length
        return metrics


def rollout(
    env: Env,
    policy: Policy,
    *,
    episodes: int,
    discount: float,
    seed: int = EVALUATION_SEED,
    keep_transitions: bool = False,
    interrupted: Callable[[], bool] = lambda: False,
) -> Rollouts:
    """
    Run episodes with seeds of their own.

    :param env: an environment that nobody else is using.
    :param policy: observation to normalised action.
    :param episodes: how many.
    :param discount: for the discounted return.
    :param seed: of the first episode; the next ones count up.
    :param keep_transitions: also return every (obs, action, next obs).
    :param interrupted: asked at every step; raises :class:`Interrupted` when it says so.
    """
    half = (env.action_high - env.action_low) / 2
    centre = (env.action_high + env.action_low) / 2
    returns, discounted, lengths, terminated = [], [], [], []
    summaries: list[dict[str, float]] = []
    transitions: list[tuple[npt.NDArray[np.float64], ...]] = []
    for episode in range(episodes):
        obs = env.reset(seed=seed + episode)
        total = discounted_total = 0.0
        weight, length = 1.0, 0
        while True:
            if interrupted():
                raise Interrupted
            action = policy(obs)
            step = env.step(centre + half * action)
            if keep_transitions:
                transitions.append((obs, action, step.obs))
            obs = step.obs
            total += step.reward
            discounted_total += weight * step.reward
            weight *= discount
            length += 1
            if step.terminated or step.truncated:
                break
        returns.append(total)
        discounted.append(discounted_total)
        lengths.append(length)
        terminated.append(step.terminated)
        summaries.append(getattr(env, 'episode_summary', dict)())
    means = {name: float(np.mean([one[name] for one in summaries])) for name in summaries[0]}
    return Rollouts(
        np.array(returns),
        np.array(discounted),
        np.array(lengths),
        np.array(terminated),
        means,
        transitions,
    )


def random_policy(env: Env, seed: int) -> Policy:
    """Return the policy that draws uniformly from the action box: the zero of the scale."""
    rng = np.random.default_rng(seed)
    return lambda _: rng.uniform(-1.0, 1.0, len(env.action_terms))
