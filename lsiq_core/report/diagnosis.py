# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
Whether a run converges, seen without a reward: the learner held against its demonstrations.

Every figure comes with a sentence that says what it usually means. The limits in these
sentences are experience with the tasks of docs/results, no theory.
"""

from dataclasses import dataclass
import math
from pathlib import Path

from lsiq_core.data.batch import Batch
from lsiq_core.data.dataset import ExpertData
from lsiq_core.learning.idm_training import action_error, prediction_error
from lsiq_core.learning.learner import Learner
from lsiq_core.learning.optimiser import State
from lsiq_core.training.rollouts import Rollouts
import numpy as np
import torch
from torch import Tensor

_PERTURBED = 0.3  # deviation of the noise on the expert's actions, in units of the action gain
_LONGEST = 1000  # transitions along which is looked
_EDGE = 0.99  # an action beyond this is at the edge of the box
_AWAY = 3.0  # a state so many times further off than the expert's own is elsewhere


@dataclass(frozen=True)
class Diagnosis:
    """Figures by name, a sentence each, and the lines of the picture."""

    figures: dict[str, float]
    sentences: dict[str, str]  # by the figure they speak of
    along: dict[str, Tensor]  # values along a demonstration, by name
    away: Tensor  # [T], how far each state of the policy's episode is from the expert's
    usual: float  # 95 of 100 of the expert's own states are nearer than this to the others
    actions: tuple[Tensor, Tensor] | None  # the policy's own, predicted and true, [N, A]

    def text(self) -> str:
        """Return everything as lines for a person."""
        lines = []
        for name, value in self.figures.items():
            lines.append(f'{name:>34}  {value:.3g}')
            if name in self.sentences:
                lines.append(f'{"":>36}{self.sentences[name]}')
        return '\n'.join(lines)


def diagnose(
    learner: Learner, state: State, expert: ExpertData, shown: Tensor | None, episode: Rollouts
) -> Diagnosis:
    """
    Hold a learner against its demonstrations.

    :param expert: the demonstrations as the learner has them, its own actions where refined.
    :param shown: the expert's true actions [N, A] for the report alone, where they are known.
    :param episode: of the policy, with its transitions.
    """
    rows = expert.rows[:_LONGEST]
    with torch.no_grad():
        batch = learner.expert_batch(state, rows)
        policy = learner.networks.policy
        seen = batch.obs * state['actor_mask']
        mode = policy.mode(state[learner.evaluated_actor], seen)
        spread = policy.distribution(state['actor'], seen)[1]
        noise = torch.randn(mode.shape, generator=torch.Generator().manual_seed(0))
        entropy = -policy.sample(state['actor'], seen, noise).log_prob
        along = _values(learner, state, batch._replace(obs=seen), mode, noise)
    along['entropy'] = entropy
    figures = {name: float(values.mean()) for name, values in along.items()}
    said: dict[str, str] = {}
    if 'Q of the expert' in along:
        said |= _about_values(figures, learner.config.algorithm.q_max)
    lowest = policy.log_std_min + math.log(policy.action_gain)
    floor = figures['deviations at their floor'] = _share(spread <= lowest + 1e-3)
    said['entropy'] = (
        'the policy hardly explores by itself any more; exploration_noise has to'
        if floor > 0.9
        else 'the policy still varies its actions'
    )
    known = batch.action if shown is None else shown[: len(rows)]
    figures['policy at the edge of the box'] = _share(mode.abs() > _EDGE)
    edge = figures['expert at the edge of the box'] = _share(known.abs() > _EDGE)
    said['expert at the edge of the box'] = (
        'a tanh policy reaches the edge late; optimisation.mean_penalty holds it back'
        if edge > 0.2
        else 'the expert stays inside the box, as the policy can'
    )
    likeness = figures["R2 of the expert's actions"] = action_error(mode, known)['r2']
    said["R2 of the expert's actions"] = (
        "at the expert's states the policy acts as it does"
        if likeness > 0.8
        else "at the expert's own states the policy acts otherwise: it has not learned yet, or "
        'climbs errors of the critic'
    )
    away, usual = _distances(learner, state, expert, episode)
    left = (away > _AWAY * usual).nonzero()
    figures['distance of its states'] = float((away / usual).median())
    figures['steps until it leaves the expert'] = float(left[0]) if len(left) else float(len(away))
    said['steps until it leaves the expert'] = (
        f'from there on it is {_AWAY:g} times further from the expert than the expert is from '
        'itself: what it does there, no demonstration shows'
        if len(left)
        else 'the whole episode stays near the expert'
    )
    actions = None
    if learner.has_idm:
        actions = _about_inverse_dynamics(learner, state, expert, shown, episode, figures, said)
    return Diagnosis(figures, said, along, away, usual, actions)


def _values(
    learner: Learner, state: State, batch: Batch, mode: Tensor, noise: Tensor
) -> dict[str, Tensor]:
    """Return Q along the demonstration of the expert's, the policy's and a perturbed action."""
    names = learner.algorithm.critics
    if not names:
        return {}
    gain = learner.config.networks.action_gain
    perturbed = (batch.action + _PERTURBED * gain * noise).clamp(-1.0, 1.0)
    tried = {'the expert': batch.action, 'the policy': mode, 'the perturbed expert': perturbed}
    critic = learner.networks.critic
    return {
        f'Q of {name}': torch.stack(
            [critic(state[each], batch.obs, action) for each in names]
        ).sum(0)
        for name, action in tried.items()
    }


def _about_values(figures: dict[str, float], q_max: float) -> dict[str, str]:
    expert, policy = figures['Q of the expert'], figures['Q of the policy']
    told = figures['what a perturbation costs, of Q_max'] = (
        expert - figures['Q of the perturbed expert']
    ) / q_max
    behind = (expert - policy) / q_max
    if behind < -0.02:
        about = "above the expert's: the actor climbs errors of the critic"
    elif behind < 0.05:
        about = "near the expert's: to the critic they are alike"
    else:
        about = "below the expert's: the actor has not come there yet"
    return {
        'Q of the policy': about,
        'what a perturbation costs, of Q_max': 'the critic does not tell actions apart: more '
        'updates, more varied actions at these states, or a smaller discount'
        if told < 0.01
        else 'the critic knows what an action is worth here',
    }


def _distances(
    learner: Learner, state: State, expert: ExpertData, episode: Rollouts
) -> tuple[Tensor, float]:
    """Return how far the policy's states are from the expert's nearest, and what is usual."""
    seen = learner.normalise(state, expert.rows[:, : learner.obs_dim]) * state['actor_mask']
    obs = torch.as_tensor(np.stack([each[0] for each in episode.transitions]), dtype=torch.float32)
    own = learner.normalise(state, obs) * state['actor_mask']
    # Neighbours in time are near for no other reason; every tenth state is held against the rest.
    tenth, rest = seen[::10], seen[torch.arange(len(seen)) % 10 != 0]
    usual = torch.cdist(tenth, rest).amin(1).quantile(0.95)
    return torch.cdist(own, seen).amin(1), max(float(usual), 1e-6)


def _about_inverse_dynamics(
    learner: Learner,
    state: State,
    expert: ExpertData,
    shown: Tensor | None,
    episode: Rollouts,
    figures: dict[str, float],
    said: dict[str, str],
) -> tuple[Tensor, Tensor]:
    obs, action, next_obs = (
        torch.as_tensor(np.stack(each), dtype=torch.float32) for each in zip(*episode.transitions)
    )
    rows = learner.rows(obs, action, next_obs)
    own = prediction_error(learner, state, rows)
    name = 'inverse dynamics, R2 of its own'
    figures[name] = own['r2']
    if own['rmse'] < 0.05:
        said[name] = 'its own actions are told from states'
    elif own['r2'] < 0.5:
        said[name] = (
            'not even its own actions are told from states: something that matters is not '
            'observed, or idm.rate and the babble are too small'
        )
    else:
        said[name] = f'its own actions are told to {own["rmse"]:.2f} of half the box'
    if shown is not None:
        found = learner.expert_batch(state, expert.rows).action
        true = figures["inverse dynamics, R2 of the expert's"] = action_error(found, shown)['r2']
        said["inverse dynamics, R2 of the expert's"] = (
            'good enough to learn from'
            if true > 0.7
            else "the expert's actions are guessed badly; this rises as the policy comes near"
        )
    batch = learner.batch(state, rows)
    with torch.no_grad():
        predicted = learner.predicted_actions(state, batch)
    return predicted, batch.action


def _share(mask: Tensor) -> float:
    return float(mask.float().mean())


def draw_diagnosis(diagnosis: Diagnosis, title: str, picture: Path) -> None:
    """Draw it into a PNG."""
    from matplotlib.figure import Figure

    values = {name: line for name, line in diagnosis.along.items() if name.startswith('Q')}
    panels = bool(values) + 2 + (diagnosis.actions is not None)
    figure = Figure(figsize=(4.8 * panels, 3.6), layout='constrained')
    axes = iter(figure.subplots(1, panels, squeeze=False).flat)
    if values:
        place = next(axes)
        for name, line in values.items():
            place.plot(line, label=name.removeprefix('Q of '), linewidth=0.9)
        place.set(title='Q along a demonstration', xlabel='step')
        place.legend(frameon=False)
    place = next(axes)
    place.plot(diagnosis.along['entropy'], linewidth=0.9)
    place.set(title='entropy along a demonstration', xlabel='step')
    place = next(axes)
    place.plot(diagnosis.away, linewidth=0.9, label="the policy's states")
    place.axhline(diagnosis.usual, color='black', linestyle='--', label="the expert's own (95 %)")
    place.set(title="distance from the expert's states", xlabel='step of an episode')
    place.legend(frameon=False)
    if diagnosis.actions is not None:
        place = next(axes)
        predicted, true = diagnosis.actions
        place.plot(true.flatten(), predicted.flatten(), '.', markersize=1.5)
        place.plot([-1, 1], [-1, 1], color='black', linewidth=0.8)
        place.set(title='inverse dynamics, its own actions', xlabel='true', ylabel='predicted')
    for place in figure.axes:
        place.grid(alpha=0.3)
    figure.suptitle(title)
    figure.savefig(picture, dpi=110)
