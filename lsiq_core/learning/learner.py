# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
One update of everything that learns, as a pure function of the learner's state.

The state is a flat dictionary of tensors: parameters, Adam's moments, target networks and
the statistics of the observations. ``Learner.update`` maps it and two batches to a new
state; nothing else changes anything. ``compilation.update_function`` makes a faster
function with the same meaning.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
import math
from typing import Any

from lsiq_core.config import RunConfig
from lsiq_core.data.batch import Batch, Batches, Metrics, pack, unpack, with_neighbours
from lsiq_core.learning.algorithms import Algorithm, bc, by_name, predicts_actions
from lsiq_core.learning.algorithms.lsiq import actor_loss, ActorTerms
from lsiq_core.learning.idm import InverseDynamics
from lsiq_core.learning.networks import Mlp, Networks, Residual, SquashedGaussian, StateActionValue
from lsiq_core.learning.optimiser import adam, State, with_moments
from lsiq_core.learning.update import Agent, Draws, Rates, Rows, UpdateNoise
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
                config.policy.log_std_min,
                config.policy.log_std_max,
                config.action_gain,
            ),
            StateActionValue(
                self._critic,
                self.config.algorithm.q_max if config.critic.scale_values else 1.0,
                config.action_gain,
            ),
            discriminator,
        )

    @property
    def _critic(self) -> Mlp | Residual:
        config, inputs = self.config.networks, self.obs_dim + self.action_dim
        if config.critic.kind == 'residual':
            return Residual(inputs, 1, config.critic.width, config.critic.blocks)
        return Mlp((inputs, *config.hidden, 1), config.critic.layer_norm)

    @property
    def idm(self) -> InverseDynamics:
        """Return the architecture of the inverse dynamics model."""
        config = self.config.idm
        features = InverseDynamics.input_size(config.inputs, self.window, self.obs_dim)
        network = (
            Residual(features, self.action_dim, config.width)
            if config.kind == 'residual'
            else Mlp((features, *config.hidden, self.action_dim))
        )
        return InverseDynamics(network, config.inputs, self.window)

    @property
    def has_idm(self) -> bool:
        """Return whether an inverse dynamics model fills in the expert's actions."""
        return predicts_actions(self.config)

    @property
    def window(self) -> bool:
        """Return whether transitions keep the states before and after, for that model."""
        return self.has_idm and bool(self.config.idm.window)

    @property
    def moves_idm(self) -> bool:
        """Return whether that model goes on learning with the policy."""
        return self.has_idm and self.config.idm.online

    def draw_noise(
        self, generator: torch.Generator, device: torch.device | str = 'cpu'
    ) -> UpdateNoise:
        """
        Draw the noise of one update: one draw, taken apart in this one place.

        :param generator: on the CPU, so that a seed gives the same numbers on every device.
        :param device: where the noise is wanted.
        """
        sizes = self.config.optimisation
        expert, policy = sizes.expert_batch, sizes.policy_batch
        both, latent = expert + policy, self.config.discriminator.vail.latent
        codes = both * latent if self.config.algorithm.name == 'vail' else 0
        unseen = expert if self.config.unseen_actions == 'policy' else 0
        parts = (policy, expert, policy, expert, both, policy, expert, unseen)
        rows = (*parts, -(-codes // self.action_dim))
        whole = torch.randn((sum(rows), self.action_dim), generator=generator)
        drawn = whole.to(device).split(rows)
        next_policy, next_expert, at_policy, at_expert, actor = drawn[:5]
        entropy_policy, entropy_expert, unseen_action, code = drawn[5:]
        # GAIL has no entropy critic, and places points between the batches with its noise.
        between = entropy_policy[: min(expert, policy), :1]
        return UpdateNoise(
            next_action=Draws(next_expert, next_policy),
            action=Draws(at_expert, at_policy),
            actor=actor,
            entropy_critic=Draws(entropy_expert, entropy_policy),
            unseen_action=unseen_action,
            discriminator=code.flatten()[:codes].view(both, latent) if codes else between,
        )

    def init(
        self, generator: torch.Generator, statistics: dict[str, Tensor] | None = None
    ) -> State:
        """
        Return the state before the first update, on the CPU, where the generator draws.

        :param generator: source of the initial weights.
        :param statistics: ``obs_mean``, ``obs_std`` and ``difference_scale`` [D] of the
            expert's states, and ``actor_mask`` [D], zero for privileged terms; without them
            observations are taken as they are.
        """
        networks = self.networks
        actor = networks.policy.mlp.init(generator)
        actor[-self.action_dim :] += self.config.networks.policy.log_std_init
        state: State = {
            'updates': torch.zeros(()),
            'log_beta': torch.tensor(math.log(max(self.config.algorithm.beta, 1e-20))),
            'obs_mean': torch.zeros(self.obs_dim),
            'obs_std': torch.ones(self.obs_dim),
            'difference_scale': torch.ones(self.obs_dim),
            'actor_mask': torch.ones(self.obs_dim),
            **(statistics or {}),
            **with_moments('actor', actor),
        }
        if self.algorithm.critic_loss is not None:
            critic = networks.critic.mlp.init(generator)
            state |= {**with_moments('critic', critic), 'critic_target': critic.clone()}
        if self.evaluated_actor == 'actor_ema':
            state['actor_ema'] = actor.clone()
        if self.config.algorithm.tune_beta:
            state |= with_moments('log_beta', state['log_beta'])
        if self.algorithm.entropy_critic_loss is not None:
            second = networks.critic.mlp.init(generator)
            state |= with_moments('entropy_critic', second)
            state |= {'entropy_critic_target': second.clone(), 'entropy_ceiling': torch.zeros(())}
        if self.has_idm:
            state |= with_moments('idm', self.idm.mlp.init(generator))
            if self.moves_idm and self.config.idm.ema:
                state['idm_ema'] = state['idm'].clone()
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
        around = raw.around
        if self.window:
            around = self.normalise(state, around.unflatten(1, (2, -1))).flatten(1)
        return Batch(obs, raw.action, next_obs, raw.absorbing, around)

    def rows(self, obs: Tensor, action: Tensor, next_obs: Tensor) -> Tensor:
        """Pack transitions in the order of time, as :meth:`batch` takes them."""
        rows = pack(obs, action, next_obs, torch.zeros_like(obs[:, 0]))
        return with_neighbours(rows, self.obs_dim) if self.window else rows

    def expert_batch(self, state: State, rows: Tensor) -> Batch:
        """Return expert transitions as policy and critics see them, actions known or predicted."""
        return self._masked(state, self._with_actions(state, self.batch(state, rows), rows[:0]))

    def _masked(self, state: State, batch: Batch) -> Batch:
        """Hide the privileged terms from policy and critics."""
        if not self.config.networks.privileged_terms:
            return batch
        mask = state['actor_mask']
        return batch._replace(obs=batch.obs * mask, next_obs=batch.next_obs * mask)

    def update(
        self,
        state: State,
        rows: Rows,
        noise: UpdateNoise,
        rates: Rates,
        gradient: Gradient = eager_gradient,
    ) -> tuple[State, Metrics]:
        """
        Do one step of inverse dynamics, critics, actor, beta and targets.

        :param state: from :meth:`init` or the previous update; left as it is.
        :param rows: the transitions to learn from.
        :param noise: from :meth:`draw_noise`.
        :param rates: learning rates.
        :param gradient: how gradients are taken; eager and compiled differ here alone.
        :return: the new state and the update's metrics.
        """
        state = dict(state)
        metrics: Metrics = {}
        expert, policy = self.batch(state, rows.expert), self.batch(state, rows.policy)
        if self.moves_idm:
            known = policy if rows.known is None else self.batch(state, rows.known)
            metrics |= self._move_idm(state, known, rates.idm, gradient)
        expert = self._with_actions(state, expert, noise.unseen_action)
        batches = Batches(self._masked(state, expert), self._masked(state, policy))
        if self.algorithm.discriminator is not None:
            metrics |= self._move_discriminator(state, batches, noise, rates, gradient)
        if self.algorithm.critic_loss is not None:
            metrics |= self._move_critics(state, batches, noise, rates, gradient)
            metrics |= self._move_actor(state, batches, noise, rates, gradient)
        else:
            metrics |= self._move_clone(state, batches.expert, rates.actor, gradient)
        if self.config.algorithm.tune_beta and 'actor/entropy' in metrics:
            # d/d log beta of beta (entropy - target), the dual of an entropy constraint.
            surplus = metrics['actor/entropy'] + self.action_dim
            step = state['log_beta'].exp() * surplus
            state |= adam(state, 'log_beta', step, rates.beta)
            metrics['actor/beta'] = state['log_beta'].exp()

        state |= self._moved_averages(state)
        state['updates'] = state['updates'] + 1.0
        return state, metrics

    def _agent(self, state: State) -> Agent:
        return Agent(self.config.algorithm, self.networks, state)

    def predicted_actions(self, state: State, batch: Batch) -> Tensor:
        """Return the actions that the inverse dynamics model sees in transitions, [B, A]."""
        model = state['idm_ema'] if 'idm_ema' in state else state['idm']
        return self.idm.predict(model, batch, state['difference_scale'])

    def _with_actions(self, state: State, expert: Batch, noise: Tensor) -> Batch:
        """Fill in the expert's actions where they are not known."""
        if not self.config.observations_only:
            return expert
        if self.moves_idm:
            # Eq. on_objective: the model's action stands where the expert's is not known.
            action = self.predicted_actions(state, expert)
        elif self.config.unseen_actions == 'policy':
            action = self.networks.policy.sample(state['actor'], expert.obs, noise).action
        else:  # found before training, or a discriminator of state transitions asks for none
            return expert
        return expert._replace(action=action.detach())

    # Each of these changes the fresh dictionary it is given and returns its metrics.

    def _move_idm(self, state: State, known: Batch, rate: Tensor, gradient: Gradient) -> Metrics:
        step, shown = gradient(self.idm.loss, state['idm'], known, state['difference_scale'])
        state |= adam(state, 'idm', step, rate)
        return shown

    def _move_discriminator(
        self, state: State, batches: Batches, noise: UpdateNoise, rates: Rates, gradient: Gradient
    ) -> Metrics:
        inputs = (self._agent(state), batches, noise.discriminator)
        step, shown = gradient(self.algorithm.discriminator_loss, state['discriminator'], *inputs)
        state |= adam(state, 'discriminator', step, rates.discriminator)
        if 'bottleneck_weight' in state:
            state['bottleneck_weight'] = shown['discriminator/bottleneck_weight']
        return shown

    def _move_critics(
        self, state: State, batches: Batches, noise: UpdateNoise, rates: Rates, gradient: Gradient
    ) -> Metrics:
        inputs = (self._agent(state), batches, noise)
        step, metrics = gradient(self.algorithm.critic_loss, state['critic'], *inputs)
        state |= adam(state, 'critic', step, rates.critic)
        if self.algorithm.entropy_critic_loss is not None:
            step, shown = gradient(
                self.algorithm.entropy_critic_loss, state['entropy_critic'], *inputs
            )
            state |= adam(state, 'entropy_critic', step, rates.critic)
            state['entropy_ceiling'] = shown['entropy_critic/entropy_ceiling']
            metrics |= shown
        return metrics

    def _move_actor(
        self, state: State, batches: Batches, noise: UpdateNoise, rates: Rates, gradient: Gradient
    ) -> Metrics:
        # A critic that never saw the expert's transitions says nothing about its states.
        both = self.algorithm.learns_from_expert_actions
        obs = torch.cat((batches.expert.obs, batches.policy.obs)) if both else batches.policy.obs
        bc_config = self.config.bc
        terms = ActorTerms(
            self.algorithm.critics,
            self.config.optimisation.mean_penalty,
            bc_config.weight,
            bc_config.huber_delta,
            batches.expert.action if both and bc_config.weight else None,
        )
        inputs = (self._agent(state), obs, noise.actor[: len(obs)], terms)
        step, shown = gradient(actor_loss, state['actor'], *inputs)
        state |= adam(state, 'actor', step, rates.actor)
        return shown

    def _move_clone(
        self, state: State, expert: Batch, rate: Tensor, gradient: Gradient
    ) -> Metrics:
        inputs = (self.networks, expert, self.config.bc.huber_delta)
        step, shown = gradient(bc.actor_loss, state['actor'], *inputs)
        state |= adam(state, 'actor', step, rate)
        return shown

    def _moved_averages(self, state: State) -> State:
        """Move the target networks, and the moving averages where there are some."""
        tau = self.config.optimisation.target_rate
        moved = {
            f'{name}_target': torch.lerp(state[f'{name}_target'], state[name], tau)
            for name in ('critic', 'entropy_critic')
            if name in state
        }
        averages = {'actor': self._policy_rate(state), 'idm': self.config.idm.ema}
        for name, rate in averages.items():
            if (average := f'{name}_ema') in state:
                moved[average] = torch.lerp(state[average], state[name], rate)
        return moved

    def _policy_rate(self, state: State) -> Tensor | float:
        """Return by how much the average of the policy moves in this update."""
        optimisation = self.config.optimisation
        if not optimisation.policy_window:
            return optimisation.policy_ema
        reach = 1.0 + optimisation.policy_window * state['updates']
        return reach.reciprocal().clamp(min=optimisation.policy_ema)

    def act(self, state: State, obs: Tensor, noise: Tensor | None = None) -> Tensor:
        """
        Return actions [N, A] in [-1, 1] for raw observations [N, D].

        This is the edge between the learner's device and the simulations' CPU: observations may
        lie elsewhere than the learner, and the actions are where the observations are.

        :param noise: standard normal [N, A] for sampled actions, none for the mode.
        """
        mask = state['actor_mask']
        seen = self.normalise(state, obs.to(mask.device)) * mask
        policy = self.networks.policy
        if noise is None:
            return policy.mode(state[self.evaluated_actor], seen).to(obs.device)
        drawn = policy.sample(state['actor'], seen, noise.to(mask.device))
        return drawn.action.to(obs.device)

    @property
    def evaluated_actor(self) -> str:
        """Return which parameters are evaluated and exported."""
        optimisation = self.config.optimisation
        averaged = optimisation.policy_ema or optimisation.policy_window
        return 'actor_ema' if averaged else 'actor'
