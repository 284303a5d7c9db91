# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
One update of everything that learns, as a pure function of the learner's state.

The state is a flat dictionary of tensors: parameters, Adam's moments, target networks and
the statistics of the observations. ``Learner.update`` maps it and two batches to a new
state; nothing else changes anything. ``compilation.compiled`` makes a
faster function with the same meaning.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
import math
from typing import Any

from lsiq_core.config import RunConfig
from lsiq_core.data.batch import Batch, Metrics, unpack
from lsiq_core.learning.algorithms import Algorithm, bc, by_name, predicts_actions
from lsiq_core.learning.algorithms.lsiq import actor_loss
from lsiq_core.learning.idm import InverseDynamics
from lsiq_core.learning.networks import Mlp, Networks, SquashedGaussian, StateActionValue
from lsiq_core.learning.optimiser import adam, State, with_moments
import torch
from torch import Tensor

Gradient = Callable[..., tuple[Tensor, Metrics]]


def eager_gradient(loss: Any, parameters: Tensor, *inputs: Any) -> tuple[Tensor, Metrics]:
    """Return the gradient of ``loss(parameters, *inputs)`` and its metrics."""
    leaf = parameters.detach().requires_grad_()
    value, metrics = loss(leaf, *inputs)
    (gradient,) = torch.autograd.grad(value, leaf)
    return gradient, metrics


@dataclass(frozen=True)
class Learner:
    """Architectures, settings and the update; holds no tensor of its own."""

    config: RunConfig
    obs_dim: int
    action_dim: int

    @property
    def algorithm(self) -> Algorithm:
        """Return the losses of the configured algorithm."""
        return by_name(self.config.algorithm.name)

    @property
    def networks(self) -> Networks:
        """Return the architectures of policy and critics."""
        config = self.config.networks
        hidden = tuple(config.hidden)
        critic_sizes = (self.obs_dim + self.action_dim, *hidden, 1)
        discriminator = None
        if self.algorithm.discriminator is not None:
            on_actions = not self.config.observations_only
            size = self.obs_dim + (self.action_dim if on_actions else self.obs_dim)
            discriminator = self.algorithm.discriminator.build(
                self.config.discriminator, size, on_actions
            )
        return Networks(
            SquashedGaussian(
                Mlp((self.obs_dim, *hidden, 2 * self.action_dim)),
                config.log_std_min,
                config.log_std_max,
                config.action_gain,
            ),
            StateActionValue(
                Mlp(critic_sizes, config.critic_layer_norm),
                self.config.algorithm.q_max if config.scale_values else 1.0,
                config.action_gain,
            ),
            discriminator,
        )

    @property
    def idm(self) -> InverseDynamics:
        """Return the architecture of the inverse dynamics model."""
        config = self.config.idm
        features = InverseDynamics.input_size(config.inputs, self.obs_dim)
        return InverseDynamics(Mlp((features, *config.hidden, self.action_dim)), config.inputs)

    @property
    def has_idm(self) -> bool:
        """Return whether an inverse dynamics model fills in the expert's actions."""
        return predicts_actions(self.config)

    @property
    def moves_idm(self) -> bool:
        """Return whether that model goes on learning with the policy."""
        return self.has_idm and self.config.idm.online

    @property
    def noise_rows(self) -> int:
        """Return how many rows of standard normal noise one update takes."""
        return sum(self._noise_parts)

    @property
    def _noise_parts(self) -> tuple[int, ...]:
        """Return the rows for critic, actor, bonus, the expert's actions, and VAIL's code."""
        batches = self.config.optimisation
        both = batches.expert_batch + batches.policy_batch
        imagined = batches.expert_batch if self.config.unseen_actions == 'policy' else 0
        numbers = both * self.config.discriminator.latent if self._has_code else 0
        return 2 * both, both, both, imagined, -(-numbers // self.action_dim)

    @property
    def _has_code(self) -> bool:
        return self.config.algorithm.name == 'vail'

    def init(
        self, generator: torch.Generator, statistics: dict[str, Tensor] | None = None
    ) -> State:
        """
        Return the state before the first update.

        :param generator: source of the initial weights.
        :param statistics: ``obs_mean``, ``obs_std`` and ``difference_scale`` [D] of the
            expert's states, and ``seen`` [D], zero for terms that policy and critics are blind
            to; without them observations are taken as they are.
        """
        networks = self.networks
        actor = networks.policy.mlp.init(generator)
        actor[-self.action_dim :] += self.config.networks.log_std_init
        state: State = {
            'updates': torch.zeros(()),
            'log_beta': torch.tensor(math.log(max(self.config.algorithm.temperature, 1e-20))),
            'obs_mean': torch.zeros(self.obs_dim),
            'obs_std': torch.ones(self.obs_dim),
            'difference_scale': torch.ones(self.obs_dim),
            'seen': torch.ones(self.obs_dim),
            **(statistics or {}),
            **with_moments('actor', actor),
        }
        if self.algorithm.critic_loss is not None:
            critic = networks.critic.mlp.init(generator)
            state |= {**with_moments('critic', critic), 'critic_target': critic.clone()}
        if self.config.optimisation.policy_average:
            state['actor_average'] = actor.clone()
        if self.config.algorithm.tune_temperature:
            state |= with_moments('log_beta', state['log_beta'])
        if self.algorithm.bonus_loss is not None:
            bonus = networks.critic.mlp.init(generator)
            state |= with_moments('bonus', bonus)
            state |= {'bonus_target': bonus.clone(), 'entropy_ceiling': torch.zeros(())}
        if self.has_idm:
            state |= with_moments('idm', self.idm.mlp.init(generator))
        if networks.discriminator is not None:
            state |= networks.discriminator.init(generator)
            state |= with_moments('discriminator', state['discriminator'])
        return state

    def normalise(self, state: State, obs: Tensor) -> Tensor:
        """Return observations as the networks see them, [B, D]."""
        clip = self.config.networks.observation_clip
        if self.config.networks.normalise == 'none':
            return obs
        return ((obs - state['obs_mean']) / state['obs_std']).clamp(-clip, clip)

    def batch(self, state: State, rows: Tensor) -> Batch:
        """Take packed rows apart and normalise their observations."""
        raw = unpack(rows, self.obs_dim, self.action_dim)
        obs, next_obs = self.normalise(state, raw.obs), self.normalise(state, raw.next_obs)
        return Batch(obs, raw.action, next_obs, raw.absorbing)

    def expert_batch(self, state: State, rows: Tensor) -> Batch:
        """Return expert transitions as policy and critics see them, actions known or predicted."""
        return self._seen(state, self._with_actions(state, self.batch(state, rows), rows[:0]))

    def _seen(self, state: State, batch: Batch) -> Batch:
        """Hide what policy and critics are blind to."""
        if not self.config.networks.blind_to:
            return batch
        obs, next_obs = batch.obs * state['seen'], batch.next_obs * state['seen']
        return batch._replace(obs=obs, next_obs=next_obs)

    def update(
        self,
        state: State,
        expert_rows: Tensor,
        policy_rows: Tensor,
        babble_rows: Tensor | None,
        noise: Tensor,
        rates: dict[str, Tensor],
        gradient: Gradient = eager_gradient,
    ) -> tuple[State, Metrics]:
        """
        Do one step of inverse dynamics, critics, actor, temperature and targets.

        :param state: from :meth:`init` or the previous update; left as it is.
        :param expert_rows: packed expert transitions [E, 2 D + A + 1]; their actions are
            replaced by predicted ones when learning from observations.
        :param policy_rows: packed policy transitions [B, 2 D + A + 1].
        :param babble_rows: transitions that only the inverse dynamics model learns from.
        :param noise: standard normal [noise_rows, A].
        :param rates: learning rates by name.
        :param gradient: how gradients are taken; eager and compiled differ here alone.
        :return: the new state and the update's metrics.
        """
        state = dict(state)
        metrics: Metrics = {}
        expert, policy = self.batch(state, expert_rows), self.batch(state, policy_rows)
        critic_noise, actor_noise, bonus_noise, imagining_noise, code_noise = noise.split(
            self._noise_parts
        )
        if self.moves_idm:
            metrics |= self._move_idm(state, policy, babble_rows, rates['idm'], gradient)
        expert = self._with_actions(state, expert, imagining_noise)
        expert, policy = self._seen(state, expert), self._seen(state, policy)
        if self.algorithm.discriminator is not None:
            judging_noise = self._code_noise(code_noise) if self._has_code else bonus_noise
            metrics |= self._move_discriminator(
                state, expert, policy, judging_noise, rates['discriminator'], gradient
            )
        if self.algorithm.critic_loss is not None:
            metrics |= self._move_critics(
                state, expert, policy, critic_noise, bonus_noise, rates['critic'], gradient
            )
        metrics |= self._move_actor(state, expert, policy, actor_noise, rates['actor'], gradient)
        if self.config.algorithm.tune_temperature and 'actor/entropy' in metrics:
            # d/d log beta of beta (entropy - target), the dual of an entropy constraint.
            surplus = metrics['actor/entropy'] + self.action_dim
            step = state['log_beta'].exp() * surplus
            state |= adam(state, 'log_beta', step, rates['temperature'])
            metrics['actor/temperature'] = state['log_beta'].exp()

        state |= self._moved_averages(state)
        state['updates'] = state['updates'] + 1.0
        return state, metrics

    # Each of these changes the fresh dictionary it is given and returns its metrics.

    def _move_idm(
        self,
        state: State,
        policy: Batch,
        babble_rows: Tensor | None,
        rate: Tensor,
        gradient: Gradient,
    ) -> Metrics:
        if babble_rows is not None:
            policy = self._with_babble(state, policy, babble_rows)
        step, shown = gradient(self.idm.loss, state['idm'], policy, state['difference_scale'])
        state |= adam(state, 'idm', step, rate)
        return shown

    def _with_actions(self, state: State, expert: Batch, noise: Tensor) -> Batch:
        """Fill in the expert's actions where they are not known."""
        if not self.config.observations_only:
            return expert
        if self.moves_idm:
            # Eq. on_objective: the model's action stands where the expert's is not known.
            action = self.idm.predict(
                state['idm'], expert.obs, expert.next_obs, state['difference_scale']
            )
        elif self.config.unseen_actions == 'policy':
            action = self.networks.policy.sample(state['actor'], expert.obs, noise).action
        else:  # found before training, or a discriminator of state transitions asks for none
            return expert
        return expert._replace(action=action.detach())

    def _move_discriminator(
        self,
        state: State,
        expert: Batch,
        policy: Batch,
        noise: Tensor,
        rate: Tensor,
        gradient: Gradient,
    ) -> Metrics:
        step, shown = gradient(
            self.algorithm.discriminator_loss,
            *(state['discriminator'], self.networks, state, expert, policy, noise),
        )
        state |= adam(state, 'discriminator', step, rate)
        if 'bottleneck_weight' in state:
            state['bottleneck_weight'] = shown['discriminator/bottleneck_weight']
        return shown

    def _code_noise(self, noise: Tensor) -> Tensor:
        """Return the noise of VAIL's code, [E + B, Z]."""
        batches = self.config.optimisation
        both, latent = (
            batches.expert_batch + batches.policy_batch,
            self.config.discriminator.latent,
        )
        return noise.flatten()[: both * latent].view(both, latent)

    def _move_critics(
        self,
        state: State,
        expert: Batch,
        policy: Batch,
        noise: Tensor,
        bonus_noise: Tensor,
        rate: Tensor,
        gradient: Gradient,
    ) -> Metrics:
        config, networks = self.config.algorithm, self.networks
        step, metrics = gradient(
            self.algorithm.critic_loss,
            *(state['critic'], config, networks, state, expert, policy, noise),
            self.algorithm.soft,
        )
        state |= adam(state, 'critic', step, rate)
        if self.algorithm.bonus_loss is not None:
            step, shown = gradient(
                self.algorithm.bonus_loss,
                *(state['bonus'], config, networks, state, expert, policy, bonus_noise),
            )
            state |= adam(state, 'bonus', step, rate)
            state['entropy_ceiling'] = shown['bonus/entropy_ceiling']
            metrics |= shown
        return metrics

    def _move_actor(
        self,
        state: State,
        expert: Batch,
        policy: Batch,
        noise: Tensor,
        rate: Tensor,
        gradient: Gradient,
    ) -> Metrics:
        if self.algorithm.critic_loss is None:
            step, shown = gradient(
                bc.actor_loss,
                *(state['actor'], self.networks, expert),
                self.config.optimisation.cloning_outlier,
            )
        else:
            # A critic that never saw the expert's transitions says nothing about its states.
            both = self.algorithm.learns_from_expert_actions
            obs = torch.cat((expert.obs, policy.obs)) if both else policy.obs
            cloning = self.config.optimisation.cloning
            step, shown = gradient(
                actor_loss,
                *(state['actor'], self.config.algorithm, self.networks, state),
                obs,
                noise[: len(obs)],
                self.config.optimisation.mean_penalty,
                self.algorithm.critics,
                expert.action if both and cloning else None,
                cloning,
                self.config.optimisation.cloning_outlier,
            )
        state |= adam(state, 'actor', step, rate)
        return shown

    def _with_babble(self, state: State, policy: Batch, babble_rows: Tensor) -> Batch:
        """Replace the end of the policy batch by babble, so that the size stays."""
        babble = self.batch(state, babble_rows)
        kept = len(policy.obs) - len(babble.obs)
        return Batch(*(torch.cat((own[:kept], other)) for own, other in zip(policy, babble)))

    def _moved_averages(self, state: State) -> State:
        """Move the target networks, and the averaged policy where there is one."""
        tau = self.config.optimisation.target_rate
        moved = {
            f'{name}_target': torch.lerp(state[f'{name}_target'], state[name], tau)
            for name in ('critic', 'bonus')
            if name in state
        }
        if 'actor_average' in state:
            rate = self.config.optimisation.policy_average
            moved['actor_average'] = torch.lerp(state['actor_average'], state['actor'], rate)
        return moved

    def act(self, state: State, obs: Tensor, noise: Tensor | None = None) -> Tensor:
        """
        Return actions [N, A] in [-1, 1] for raw observations [N, D].

        :param noise: standard normal [N, A] for sampled actions, none for the mode.
        """
        seen = self.normalise(state, obs) * state['seen']
        policy = self.networks.policy
        if noise is None:
            return policy.mode(state[self.evaluated_actor], seen)
        return policy.sample(state['actor'], seen, noise).action

    @property
    def evaluated_actor(self) -> str:
        """Return which parameters are evaluated and exported."""
        return 'actor_average' if self.config.optimisation.policy_average else 'actor'
