# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
One world small enough for a pencil, for the tests of the losses.

One state, one action, linear networks: Q(s, a) = s + 2 a + 0.5 for critic and target; the
policy is a Gaussian of mean 0 and deviation 1 before the tanh, so noise 0 gives action 0 with
log density -log(2 pi)/2. gamma = 1/2, c = 1/2, beta = 0.1, so r = +-2 and Q lies in [-4, 4].
"""

import math

from lsiq_core.config import AlgorithmConfig, from_dict
from lsiq_core.data.batch import Batch, Batches
from lsiq_core.learning.learner import Learner
from lsiq_core.learning.networks import Mlp, Networks, SquashedGaussian, StateActionValue
from lsiq_core.learning.update import Agent, Draws, Rates, Rows, UpdateNoise
import torch

BETA = 0.1
ENTROPY = 0.5 * math.log(2 * math.pi)  # -log pi at the mean
BONUS = BETA * ENTROPY  # the entropy's part of a soft value
CRITIC = torch.tensor([1.0, 2.0, 0.5])  # weights of s and a, bias
OBS, ACTION = 5, 2


def networks(discriminator=None):
    policy = SquashedGaussian(Mlp((1, 2)))
    return Networks(policy, StateActionValue(Mlp((2, 1))), discriminator)


def algorithm(**changes):
    return AlgorithmConfig(**{'discount': 0.5, 'c': 0.5, 'beta': BETA, **changes})


def state(**changes):
    return {
        'actor': torch.zeros(4),
        'critic': CRITIC,
        'critic_target': CRITIC,
        'log_beta': torch.tensor(math.log(BETA)),
        'entropy_ceiling': torch.zeros(()),
        **changes,
    }


def agent(discriminator=None, entries=None, **changes):
    """Return what a loss looks at: settings, architectures and the state's entries."""
    return Agent(algorithm(**changes), networks(discriminator), state(**(entries or {})))


def batch(*transitions):
    s, a, following, absorbing = (torch.tensor(column) for column in zip(*transitions))
    return Batch(s[:, None], a[:, None], following[:, None], absorbing)


# (s, a, s', nu)
EXPERT = batch((1.0, 0.5, 0.25, 0.0), (0.0, -1.0, 0.25, 1.0))  # Q = 2.5, -1.5
POLICY = batch((1.0, 1.0, 0.25, 0.0), (2.0, 0.0, 9.0, 1.0))  # Q = 3.5, 2.5
FOLLOWING = 0.5 * (0.75 + BONUS)  # y = gamma V(0.25) where s' is not absorbing, else 0
BATCHES = Batches(EXPERT, POLICY)


def zero_noise(batches=BATCHES):
    """Return noise that gives the mean of the policy everywhere."""
    expert, policy = (torch.zeros((len(each.obs), 1)) for each in batches)
    draws = Draws(expert, policy)
    shared = torch.cat(draws)
    return UpdateNoise(draws, draws, shared, draws, expert[:0], shared[: min(map(len, draws))])


NOISE = zero_noise()


def learner(name, **settings):
    """Return a small learner with random networks."""
    small = {
        'networks': {'hidden': [6], 'normalise': 'none'},
        'idm': {'hidden': [8]},
        'discriminator': {'gail': {'hidden': [7]}, 'vail': {'hidden': [6], 'latent': 3}},
        'optimisation': {'expert_batch': 12, 'policy_batch': 10},
    }
    values = {'task': 'none', 'algorithm': {'name': name}, **small, **settings}
    return Learner(from_dict(values), OBS, ACTION)


def inputs(of, seed=0):
    """Return random arguments of ``Learner.update`` after the state."""
    generator = torch.Generator().manual_seed(seed)
    batches = of.config.optimisation
    rows = []
    for count in (batches.expert_batch, batches.policy_batch):
        columns = torch.randn((count, 2 * OBS + ACTION + 1), generator=generator)
        columns[:, OBS : OBS + ACTION] = columns[:, OBS : OBS + ACTION].tanh()
        columns[:, -1] = (columns[:, -1] > 0.5).float()
        rows.append(columns)
    return Rows(*rows), of.draw_noise(generator), Rates(*[torch.tensor(1e-3)] * 5)


def finite_difference(loss, parameters, index, step=1e-6):
    """Return the slope of a loss along one parameter."""
    bump = torch.zeros_like(parameters)
    bump[index] = step
    return float(loss(parameters + bump)[0] - loss(parameters - bump)[0]) / (2 * step)
