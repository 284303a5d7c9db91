# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""The parameters of the learner node."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lsiq_core.shipped_files import find_file
from lsiq_ros.runs.driver import has_checkpoint, refuse_used
from lsiq_ros.runs.files import RunSetup
from lsiq_ros.runs.setup import new_config, resumed_setup
from lsiq_ros.simulator.parameters import LARGEST_SEED, real_range, whole_range
from rcl_interfaces.msg import ParameterDescriptor
from rclpy.node import Node


@dataclass(frozen=True)
class LearnerParameters:
    """What the node was told."""

    task: str
    demos: Path
    run: Path
    steps: int
    seed: int
    overrides: tuple[str, ...]
    in_process: bool
    sims: int
    sim_timeout_s: float

    def setup(self) -> RunSetup:
        """Return the settings of a new run, or those that the run to go on with has."""
        if has_checkpoint(self.run):
            return resumed_setup(self.run, steps=self.steps or None)
        refuse_used(self.run, 'it holds no run to continue; choose another run')
        config = new_config(
            self.task,
            overrides=self.overrides,
            seed=self.seed,
            observations_only=True,
            collection__steps=self.steps or None,
        )
        return RunSetup(config, str(self.demos), None)


def declare_parameters(node: Node) -> LearnerParameters:
    """Declare them all on a node and return their values."""

    def declare(name: str, default: Any, description: str, **limits: Any) -> Any:
        descriptor = ParameterDescriptor(description=description, read_only=True, **limits)
        return node.declare_parameter(name, default, descriptor).value

    demos = declare('demos', 'models/atlas/demos/walk_noisy.npz', 'demonstrations to learn from')
    # An empty list has no type in ROS: one empty text stands for none.
    overrides = declare(
        'settings', [''], 'settings as lsiq train --set takes them, between spaces'
    )
    return LearnerParameters(
        task=declare('task', 'atlas', 'what to learn'),
        demos=find_file(demos),
        run=Path(declare('run', 'runs/learner', 'run directory; a run in it goes on')),
        steps=declare('steps', 0, 'environment steps in all', **whole_range(0, 10**9)),
        seed=declare('seed', 0, 'seeds everything', **whole_range(0, LARGEST_SEED)),
        overrides=tuple(word for text in overrides for word in text.split()),
        in_process=declare('in_process', False, 'simulate in this process, without sim nodes'),
        sims=declare(
            'sims',
            1,
            'sim nodes, below sim_0, sim_1, ...; they share collection.simulations',
            **whole_range(1, 256),
        ),
        sim_timeout_s=declare(
            'sim_timeout_s',
            5.0,
            'an answer that takes longer means a lost simulator',
            **real_range(0.2, 600),
        ),
    )
