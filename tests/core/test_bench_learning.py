# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""``lsiq bench learning``: the area by hand, and a stopped measurement that goes on."""

import json

from lsiq_core.errors import CheckpointError
from lsiq_ros.benchmarks.learning import bench_learning, learned_of
import pytest

SMALL = (
    'collection.steps=600',
    'report.evaluation_episodes=1',
    'report.evaluate_every=200',
    'report.log_every=200',
)


def test_the_area_counts_nothing_before_the_first_and_holds_the_last(tmp_path):
    lines = [
        {'step': 0, 'time/minutes': 0.0},
        {'step': 100, 'time/minutes': 1.0},
        {'step': 100, 'evaluation/normalized_return': 0.2},
        {'step': 200, 'time/minutes': 2.0},
        {'step': 200, 'evaluation/normalized_return': 0.6},
        {'step': 500, 'time/minutes': 5.0},
        {'step': 500, 'evaluation/normalized_return': 1.0},
    ]
    (tmp_path / 'metrics.jsonl').write_text(''.join(json.dumps(line) + '\n' for line in lines))
    # 0.4 on average in the second minute, 0.6 in the third and fourth; the fifth is not asked for.
    learned = learned_of(tmp_path, 'task', 0, 4.0)
    assert learned.area == pytest.approx((0.4 + 2 * 0.6) / 4)
    assert (learned.last, learned.evaluations) == (0.6, 2)


def test_a_stopped_measurement_goes_on(tmp_path):
    asked = iter([False] * 40 + [True] * 10_000)
    arguments = (['point_mass'], [0, 1], 9.0, tmp_path)
    quiet = {'settings': SMALL, 'log': lambda _: None}
    stopped = bench_learning(*arguments, stopped=lambda: next(asked), **quiet)
    assert stopped == [] and (tmp_path / 'point_mass-s0' / 'last.safetensors').exists()
    found = bench_learning(*arguments, **quiet)
    assert [each.seed for each in found] == [0, 1]
    assert all(each.evaluations == 3 for each in found)
    assert bench_learning(*arguments, **quiet) == found  # read, not made again
    with pytest.raises(CheckpointError, match=r'over 9 minutes, now 1 are'):
        bench_learning(['point_mass'], [0], 1.0, tmp_path, **quiet)
