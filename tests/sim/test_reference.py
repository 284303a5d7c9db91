# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""A reference keeps episodes apart, repeats cycles and knows where its base is."""

from dataclasses import replace

import numpy as np
import pytest
from sim.tracking.reference import FIRST_JOINT, Reference

JOINTS = 2
SIZE = 10 + 2 * JOINTS


def episode(length, speed=1.0):
    """Return frames that walk forward; the first joint counts the frames."""
    frames = np.zeros((length, SIZE))
    frames[:, 0] = 1.0
    frames[:, FIRST_JOINT] = np.arange(length)
    frames[:, FIRST_JOINT + JOINTS] = speed
    return frames


def test_rows_of_different_episodes_never_follow_each_other():
    reference = Reference.of([episode(5), episode(4)], 100.0)
    assert reference.after(np.array([3, 4, 5, 8]), 1).tolist() == [4, 4, 6, 8]
    assert reference.remaining(np.array([0, 4, 5])).tolist() == [4, 0, 3]


def test_the_path_is_the_integral_of_the_velocity():
    reference = Reference.of([episode(11, speed=2.0)], 10.0)
    assert reference.path_m[-1] == pytest.approx([2.0, 0.0])


def test_a_cycle_goes_round_and_on():
    reference = Reference.of([episode(10)], 10.0, cyclic=True)
    assert reference.after(np.array([9]), 1).tolist() == [0]
    assert reference.stride_m == pytest.approx((1.0, 0.0))


def test_random_starts_leave_time_to_follow():
    reference = Reference.of([episode(50), episode(30)], 100.0)
    rows = reference.draw(500, np.random.default_rng(0), 20)
    assert (reference.remaining(rows) >= 20).all()
    assert rows.min() < 5 and rows.max() > 55


def test_the_nearest_frame_is_found():
    frames = episode(20)
    assert Reference.of([frames], 100.0).nearest(frames[13] + 0.1) == 13


def test_a_cycle_is_one_episode():
    with pytest.raises(ValueError, match='found 2'):
        Reference.of([episode(5), episode(5)], 100.0, cyclic=True)


def test_a_reference_waits_at_the_end_of_its_leash():
    reference = Reference.of([episode(10)], 10.0)
    offsets = np.array([[0.3, 0.4], [0.6, 0.8], [0.0, 0.0]])  # 0.5, 1 and 0 m away
    assert reference.beyond_leash(offsets) == pytest.approx(np.array([[0, 0], [0.3, 0.4], [0, 0]]))
    assert replace(reference, leash_m=0.0).beyond_leash(offsets) == pytest.approx(offsets)
