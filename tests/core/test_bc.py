# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Behavioural cloning against numbers worked out by hand."""

import math

from loss_examples import EXPERT, networks, POLICY
from lsiq_core.learning.algorithms import bc
import pytest
import torch


def test_mode_is_regressed_to_the_experts_action():
    # mean = s, so the mode is tanh(s) at s = 1 and 0, the actions are 0.5 and -1.
    actor = torch.tensor([1.0, 0.0, 0.0, 0.0])
    loss, _ = bc.actor_loss(actor, networks(), EXPERT)
    assert float(loss) == pytest.approx(((math.tanh(1.0) - 0.5) ** 2 + 1.0) / 2, rel=1e-6)


def test_errors_are_summed_over_joints():
    from lsiq_core.learning.networks import Mlp, Networks, SquashedGaussian

    policy = SquashedGaussian(Mlp((1, 4)))
    expert = POLICY._replace(action=torch.tensor([[0.5, -0.25], [0.0, 1.0]]))
    loss, _ = bc.actor_loss(torch.zeros(8), Networks(policy, None), expert)
    assert float(loss) == pytest.approx((0.25 + 0.0625 + 1.0) / 2, rel=1e-6)
