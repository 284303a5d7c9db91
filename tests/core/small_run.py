# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Settings of a run of seconds: the point mass from states alone."""

SMALL = {
    'task': 'point_mass',
    'observations_only': True,
    'compile': 'never',
    'networks': {'hidden': [16]},
    'idm': {'hidden': [16]},
    'pretraining': {'babble': {'transitions': 40, 'updates': 3, 'to_replay': 10}},
    'optimisation': {'expert_batch': 8, 'policy_batch': 8, 'policy_ema': 0.01},
    'collection': {
        'steps': 240,
        'simulations': 2,
        'critic_start': 20,
        'actor_start': 40,
        'exploration_noise': 0.1,
    },
    'report': {
        'evaluate_every': 80,
        'evaluation_episodes': 2,
        'log_every': 20,
        'checkpoint_every': 120,
    },
}
