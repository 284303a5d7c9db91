# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
The parameters of the sim node, declared with what they mean and what they may be.

Those of task and episodes count in real time; in lock-step the learner says what to run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lsiq_core.errors import ConfigError
from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor
from rclpy.node import Node

MODES = ('real_time', 'lockstep')
LARGEST_SEED = 2**53 - 1


@dataclass(frozen=True)
class SimParameters:
    """What the node was told."""

    task: str
    mode: str
    options: dict[str, Any]
    reset_frames: str
    seed: int
    real_time_factor: float
    command_timeout_s: float
    hold_until_command: bool
    reset_on_fall: bool
    reset_on_time_limit: bool
    publish_every: int
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
    delay_ms = declare(
        'delay_ms', 0.0, 'milliseconds until a command acts', **real_range(0.0, 50.0)
    )
    return SimParameters(
        task=declare('task', 'atlas', 'which robot to simulate'),
        mode=mode,
        options={
            'observation': declare(
                'observation', 'full', 'what is observed; not all observations have foot forces'
            ),
            'max_episode_steps': declare(
                'max_episode_steps', 1000, 'time limit of an episode', **whole_range(1, 10**9)
            ),
            'randomisation': {'delay_ms': (delay_ms, delay_ms)},
        },
        reset_frames=declare(
            'reset_frames', '', 'demonstration file whose states episodes start from'
        ),
        seed=declare('seed', 0, 'seed of the first episode', **whole_range(0, LARGEST_SEED)),
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
            'in lock-step, publish the state topics every so many steps; 0 for never',
            **whole_range(0, 10**6),
        ),
        start_paused=declare('start_paused', False, 'wait for the service ~/pause (false)'),
    )


def real_range(low: float, high: float) -> dict[str, Any]:
    """Return the descriptor field of a range of real numbers."""
    limits = FloatingPointRange(from_value=float(low), to_value=float(high), step=0.0)
    return {'floating_point_range': [limits]}


def whole_range(low: int, high: int) -> dict[str, Any]:
    """Return the descriptor field of a range of whole numbers."""
    return {'integer_range': [IntegerRange(from_value=low, to_value=high, step=1)]}
