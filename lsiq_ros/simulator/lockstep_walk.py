# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""The expert steps a simulation in lock-step, episode after episode."""

import threading
import time
from typing import NamedTuple

from lsiq_ros.lockstep.protocol import LockstepError, SimulatorSetup
from lsiq_ros.lockstep.raw_topics import RawTopics
from lsiq_ros.lockstep.ros_env import RosEnv
from lsiq_ros.lockstep.simulator_link import tell
from lsiq_ros.simulator.noisy_expert import NoisyExpert
from lsiq_ros.wire.cdr import OdometryReader
from lsiq_ros.wire.topics import ODOMETRY
from nav_msgs.msg import Odometry
import numpy as np
import numpy.typing as npt
from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data

Array = npt.NDArray[np.float64]

_ODOMETRY_WAIT_S = 0.05  # it is published right after the state


class Episode(NamedTuple):
    """How an episode went."""

    length: int
    ending: str


class LockstepWalk:
    """
    Walk in lock-step.

    :param setup: what the simulator is to run.
    :param real_time_factor: simulated seconds per real one; 0 for as fast as it goes.
    """

    def __init__(
        self, node: Node, expert: NoisyExpert, setup: SimulatorSetup, real_time_factor: float
    ) -> None:
        self._node, self._expert, self._factor = node, expert, real_time_factor
        self._env = RosEnv(node, setup=tell(node, '', setup))
        self._odometry = RawTopics(node, [(ODOMETRY, Odometry, qos_profile_sensor_data)])
        self._read = OdometryReader()
        self._place_m = np.zeros(2)
        at = {term.name: column for column, term in enumerate(self._env.observation_terms)}
        missing = [name for name in expert.state_names if name not in at]
        if missing:
            raise LockstepError(f'{self._env.name} lacks what the expert observes: {missing}')
        self._columns = [at[name] for name in expert.state_names]

    def walk(self, seed: int | None, stop: threading.Event) -> Episode:
        """Walk one episode."""
        env = self._env
        state = env.reset(seed=seed)[self._columns]
        self._expert.reset(state, self._read_place_m())
        begin_s, length = time.monotonic(), 0
        while not stop.is_set():
            step = env.step(self._expert.act(state, self._read_place_m()))
            state, length = step.obs[self._columns], length + 1
            if step.terminated or step.truncated:
                return Episode(length, 'fell' if step.terminated else 'walked to the end')
            if self._factor:
                due_s = begin_s + length / (env.rate_hz * self._factor)
                time.sleep(max(0.0, due_s - time.monotonic()))
        return Episode(length, 'stopped')

    def close(self) -> None:
        """Give the topics back."""
        self._odometry.close()
        self._env.close()

    def _read_place_m(self) -> Array:
        """Return where the base is on the floor at the last state; it is in no observation."""
        wanted_ns = self._env.stamp_ns
        deadline_s = time.monotonic() + _ODOMETRY_WAIT_S
        while time.monotonic() < deadline_s:
            while (raw := self._odometry.take(ODOMETRY)) is not None:
                odometry = self._read(raw)
                if odometry.stamp_ns == wanted_ns:
                    self._place_m = np.array(odometry.base.position_m[:2])
                    return self._place_m
            self._odometry.wait((ODOMETRY,), _ODOMETRY_WAIT_S)
        self._node.get_logger().warning(
            'no odometry of this step: is publish_every 1?', throttle_duration_sec=5.0
        )
        return self._place_m
