# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""The parameters of the sim node, declared with what they mean and what they may be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lsiq_core.errors import ConfigError
from lsiq_ros.simulator.tasks import TaskSettings
from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor
from rclpy.node import Node

MODES = ('real_time', 'lockstep')
LARGEST_SEED = 2**53 - 1


@dataclass(frozen=True)
class SimParameters:
    """What the node was told."""

    task: str
    mode: str
    settings: TaskSettings
    real_time_factor: float
    command_timeout_s: float
    hold_until_command: bool
    reset_on_fall: bool
    reset_on_time_limit: bool
    publish_every: int
    robots: int
    node_number: int
    start_paused: bool

    @property
    def lockstep(self) -> bool:
        """Return whether a learner moves the simulation on."""
        return self.mode == 'lockstep'


def declare_parameters(node: Node) -> SimParameters:
    """Declare them all on a node and return their values."""

    def declare(name: str, default: Any, description: str, **limits: Any) -> Any:
        descriptor = ParameterDescriptor(description=description, **{'read_only': True, **limits})
        return node.declare_parameter(name, default, descriptor).value

    mode = declare('mode', 'real_time', f'one of {list(MODES)}')
    if mode not in MODES:
        raise ConfigError(f'parameter mode is {mode!r}, expected one of {list(MODES)}')
    parameters = SimParameters(
        task=declare('task', 'atlas', 'which robot to simulate, by its name in simulator/tasks'),
        mode=mode,
        settings=TaskSettings(
            observation=declare(
                'observation', 'full', 'observation of the task; only those with forces have soles'
            ),
            seed=declare('seed', 0, 'seed of the first episode', **whole_range(0, LARGEST_SEED)),
            reset_frames=declare(
                'reset_frames', '', 'demonstration file whose states episodes start from'
            ),
            reset_share=declare(
                'reset_share',
                1.0,
                'share of the robots, over all sim nodes, whose episodes start there',
                **real_range(0.0, 1.0),
            ),
            start=declare(
                'start', 'stride', "where other episodes start: the expert's stride or the gait"
            ),
            delay_ms=declare(
                'delay_ms', 0.0, 'milliseconds until a command acts', **real_range(0.0, 50.0)
            ),
            max_episode_steps=declare(
                'max_episode_steps', 1000, 'time limit of an episode', **whole_range(1, 10**9)
            ),
        ),
        real_time_factor=declare(
            'real_time_factor',
            1.0,
            'simulated seconds per real one',
            read_only=False,
            **real_range(0.01, 100.0),
        ),
        command_timeout_s=declare(
            'command_timeout_s',
            0.2,
            'torque goes to zero when no command came for so long; 0 for never',
            **real_range(0.0, 60.0),
        ),
        hold_until_command=declare(
            'hold_until_command', True, 'the robot hangs in its start pose until commanded'
        ),
        reset_on_fall=declare('reset_on_fall', True, 'start a new episode after a fall'),
        reset_on_time_limit=declare(
            'reset_on_time_limit', False, 'start a new episode after max_episode_steps'
        ),
        publish_every=declare(
            'publish_every',
            1,
            'in lock-step, publish the state topics at every so manieth step; 0 for never',
            **whole_range(0, 10**6),
        ),
        robots=declare(
            'robots',
            1,
            'robots in this node, in lock-step: more than one live below robot_0, robot_1, ... '
            'and the first alone has state topics',
            **whole_range(1, 256),
        ),
        node_number=declare(
            'node_number', 0, 'which of the sim nodes this is, from 0', **whole_range(0, 10**4)
        ),
        start_paused=declare('start_paused', False, 'wait for the service ~/pause (false)'),
    )

    if parameters.robots > 1 and not parameters.lockstep:
        raise ConfigError(f'robots is {parameters.robots}, in real time there is one')
    return parameters


def real_range(low: float, high: float) -> dict[str, Any]:
    """Return the descriptor field of a range of real numbers."""
    limits = FloatingPointRange(from_value=float(low), to_value=float(high), step=0.0)
    return {'floating_point_range': [limits]}


def whole_range(low: int, high: int) -> dict[str, Any]:
    """Return the descriptor field of a range of whole numbers."""
    return {'integer_range': [IntegerRange(from_value=low, to_value=high, step=1)]}
