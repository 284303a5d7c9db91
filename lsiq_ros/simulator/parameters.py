# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
The parameters of the sim node.

Those of task and episodes count in real time; in lock-step the learner says what to run.
"""

from dataclasses import dataclass
from typing import Any

from lsiq_core.robot import OF_ROBOT
from lsiq_core.types import LARGEST_SEED
from lsiq_ros.wire.parameters import parameter

MODES = ('real_time', 'lockstep')


@dataclass(frozen=True)
class SimParameters:
    """What the node was told."""

    task: str = parameter('atlas', 'which robot to simulate')
    mode: str = parameter('real_time', 'who moves time on', choices=MODES)
    observation: str = parameter('full', 'what is observed; not all have foot forces')
    max_episode_steps: int = parameter(1000, 'time limit of an episode', 1, 10**9)
    delay_ms: float = parameter(0.0, 'milliseconds until a command acts', 0, 50)
    randomise: bool = parameter(
        False, "worlds and sensors differ as the robot's file says; delay_ms does not count then"
    )
    reset_frames: str = parameter(
        '', "demonstrations whose states episodes start from; auto: the robot's own, if any"
    )
    seed: int = parameter(0, 'seed of the first episode', 0, LARGEST_SEED)
    real_time_factor: float = parameter(
        1.0, 'simulated seconds per real one', 0.01, 100, read_only=False
    )
    command_timeout_s: float = parameter(
        0.2, 'torque goes to zero when no command came for so long; 0 for never', 0, 60
    )
    hold_until_command: bool = parameter(True, 'the robot hangs in its start pose until commanded')
    hold_s: float = parameter(
        0.0, 'simulated seconds that it hangs on after that, as in a gantry', 0, 60
    )
    wait_for_command: bool = parameter(
        False, 'a period ends no sooner than its state was answered: time waits for the machine'
    )
    policy: str = parameter('', 'where task is auto: the policy whose robot is simulated')
    reset_on_fall: bool = parameter(True, 'start a new episode after a fall')
    reset_on_time_limit: bool = parameter(False, 'start a new episode after max_episode_steps')
    publish_every: int = parameter(
        1, 'in lock-step, publish the state topics every so many steps; 0 for never', 0, 10**6
    )
    start_paused: bool = parameter(False, 'wait for the service ~/pause (false)')

    @property
    def lockstep(self) -> bool:
        """Return whether a learner moves the simulation on."""
        return self.mode == 'lockstep'

    @property
    def options(self) -> dict[str, Any]:
        """Return the options of the task in real time."""
        return {
            'observation': self.observation,
            'max_episode_steps': self.max_episode_steps,
            'randomisation': OF_ROBOT if self.randomise else {'delay_ms': self.delay_ms},
            'seed': self.seed,
        }
