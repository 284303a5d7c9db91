# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""A base that is of another instant than the joints is found by the feet that stand."""

from lsiq_core.data import demonstrations
from lsiq_core.robot import load_robot
from lsiq_core.shipped_files import shipped
import numpy as np
import pytest

pytest.importorskip('mujoco')
from lsiq_ros.simulator.base_shift import find_base_shift
from sim.robot import kinematic_columns, observation_terms

SPEC = load_robot('atlas')


@pytest.fixture(scope='module')
def episodes():
    demos = demonstrations.load(shipped('models/atlas/demos/walk_noisy.npz'), with_actions=False)
    terms = [term.name for term in observation_terms(SPEC, 'kinematic')]
    order = [demos.state_names.index(term) for term in terms]
    return [demos.states[one][:, order].astype(np.float64) for one in demos.state_slices()][:2]


def shifted(frames, rows):
    columns = kinematic_columns(frames.shape[1])
    middle = slice(20, len(frames) - 20)
    moved = slice(20 + rows, len(frames) - 20 + rows)
    found = frames[middle].copy()
    for part in (columns.pose, columns.twist):
        found[:, part] = frames[moved][:, part]
    return found


@pytest.mark.parametrize('rows', [0, 3, -4])
def test_the_shift_of_the_base_is_found(episodes, rows):
    found = find_base_shift(SPEC, [shifted(frames, rows) for frames in episodes], 100.0)
    assert found.shift_s == pytest.approx(rows / 100)
    assert found.least_slip_m_s < 0.1, 'a foot that stands is at rest'
    assert rows == 0 or found.slip_m_s > 3 * found.least_slip_m_s
