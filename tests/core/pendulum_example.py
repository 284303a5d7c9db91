# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""A small Gym task, the inverted pendulum, with an expert of four numbers."""

from lsiq_core.data.demonstrations import Demonstrations
import numpy as np
from sim.gym_task import GymTask

GAINS = np.array([0.5, 12.0, 0.6, 1.5])  # on cart, pole and their velocities: it pushes after
STEPS = 100

# As for the point mass, but a longer view: a fall lies some twenty steps behind its cause.
SETTINGS = {
    'task': 'InvertedPendulum-v5',
    'compile': 'never',
    'algorithm': {'discount': 0.95},
    'networks': {
        'hidden': [64, 64],
        'critic': {'layer_norm': True},
        'policy': {'log_std_min': -3.0},
    },
    'idm': {'hidden': [64, 64], 'rate': 1e-3},
    'discriminator': {'gail': {'hidden': [64, 64]}, 'vail': {'hidden': [64, 64], 'latent': 16}},
    'optimisation': {
        'actor_rate': 3e-4,
        'critic_rate': 1e-3,
        'actor_decay': 0.1,
        'policy_ema': 0.005,
        'expert_batch': 128,
        'policy_batch': 128,
    },
    'collection': {
        'steps': 10_000,
        'simulations': 4,
        'critic_start': 200,
        'actor_start': 400,
        'exploration_noise': 0.3,
    },
    'report': {'evaluate_every': 1_000, 'evaluation_episodes': 10, 'checkpoint_every': 5_000},
}


class CutPendulum(GymTask):
    """A fall cuts the episode and does not end the world, so that nobody can want it."""

    def step(self, action):
        step = super().step(action)
        return step._replace(terminated=False, truncated=step.truncated or step.terminated)


def pendulum(kind=GymTask):
    """Return the task with short episodes."""
    return kind('InvertedPendulum-v5', max_episode_steps=STEPS)


def demonstrations(episodes=20):
    """Show how the pole is caught from leaning, moving starts."""
    env, rng = pendulum(), np.random.default_rng(0)
    states, actions, lengths, returns, fallen = [], [], [], [], []
    for episode in range(episodes):
        env.reset(seed=episode)
        obs = env.reset_to(rng.uniform(-1.0, 1.0, 4) * (0.2, 0.08, 0.2, 0.2))
        states.append(obs)
        step, length = None, 0
        while step is None or not (step.terminated or step.truncated):
            action = np.clip(obs @ GAINS, env.action_low, env.action_high)
            step = env.step(action)
            obs, length = step.obs, length + 1
            states.append(obs)
            actions.append(action)
        lengths.append(length)
        returns.append(float(length))
        fallen.append(step.terminated)
    assert not any(fallen)
    return Demonstrations(
        states=np.array(states),
        episode_lengths=np.array(lengths),
        terminated=np.array(fallen),
        actions=np.array(actions),
        returns=np.array(returns),
    )
