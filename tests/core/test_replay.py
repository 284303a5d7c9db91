# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""The replay ring."""

from lsiq_core.data.replay import Replay
import torch


def test_oldest_rows_give_way_and_capacity_grows_on_demand():
    replay = Replay(20_000, 1)
    replay.add(torch.arange(25_000.0)[:, None])
    assert len(replay) == 20_000
    drawn = replay.sample(4_000, torch.Generator().manual_seed(0))
    assert drawn.min() >= 5_000 and drawn.max() < 25_000
    assert len(drawn.unique()) > 3_000


def test_state_and_restore():
    replay = Replay(10, 2)
    replay.add(torch.arange(26.0).view(13, 2))
    copy = Replay(10, 2)
    copy.restore(replay.state())
    for each in (replay, copy):
        each.add(torch.tensor([[100.0, 101.0]]))
    generator = torch.Generator()
    first = replay.sample(50, generator.manual_seed(1))
    assert torch.equal(first, copy.sample(50, generator.manual_seed(1)))


def test_restored_ring_that_was_not_full_goes_on_growing():
    replay = Replay(100, 1)
    replay.add(torch.arange(7.0)[:, None])
    copy = Replay(100, 1)
    copy.restore(replay.state())
    copy.add(torch.arange(7.0, 60.0)[:, None])
    drawn = copy.sample(2_000, torch.Generator().manual_seed(0)).unique()
    assert torch.equal(drawn, torch.arange(60.0))


def test_a_full_ring_that_is_extended_goes_on_in_the_order_of_arrival():
    full = Replay(4, 1)
    full.add(torch.arange(6.0)[:, None])  # 4 5 2 3
    larger = Replay(8, 1)
    larger.restore(full.state())
    larger.add(torch.tensor([[6.0]]))
    assert larger.state()['replay.rows'].squeeze(1).tolist() == [2.0, 3.0, 4.0, 5.0, 6.0]
