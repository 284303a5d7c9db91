# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""One control node for each file of tests that asks for it."""

from __future__ import annotations

from collections.abc import Iterator
import os
from typing import TYPE_CHECKING

import pytest

os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')

if TYPE_CHECKING:  # it imports torch and rclpy, which not every test needs
    from control_harness import Harness


@pytest.fixture(scope='module')
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Harness]:
    from control_harness import Harness

    harness = Harness(tmp_path_factory.mktemp('control'))
    yield harness
    harness.close()


@pytest.fixture
def harness(shared: Harness) -> Iterator[Harness]:
    shared.reset_node()
    yield shared
    shared.check_efforts()
