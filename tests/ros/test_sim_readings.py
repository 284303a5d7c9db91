# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""What a sim node publishes is what the sensors gave."""

from lsiq_core.types import names
from lsiq_ros.simulator.tasks import make_task
from lsiq_ros.wire.observation import ObservationSpec, Readings
import numpy as np


def test_the_topics_carry_the_same_errors_as_the_observation():
    wrong = {'position_noise': 0.01, 'velocity_noise': 0.5, 'base_position_bias': 0.02}
    task = make_task('atlas', {'observation': 'full', 'randomisation': wrong, 'seed': 1})
    env = task.env
    for _ in range(3):
        obs = env.step(np.zeros(10)).obs
    assert np.abs(obs[:30] - env.kinematic()).max() > 0.1
    read = task.read()
    forces = dict(zip(task.soles, map(tuple, read.forces_n.tolist())))
    positions = dict(zip(task.joints, read.positions_rad))
    velocities = dict(zip(task.joints, read.velocities_rad_s))
    seen = ObservationSpec(names(env.observation_terms)).observe(
        Readings(positions, velocities, read.base, forces)
    )
    np.testing.assert_allclose(seen, obs, rtol=1e-9, atol=1e-9)
