# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
The expert as a node: in real time on the state topics, or as the one who steps in lock-step.

Lock-step is for recording: every state is answered, whatever else the machine does.
"""

from dataclasses import dataclass
import threading

from lsiq_core.errors import ConfigError, LsiqError
from lsiq_core.robot import load_robot
from lsiq_core.types import LARGEST_SEED
from lsiq_ros.lockstep.protocol import EPISODE_GAP_S, SimulatorSetup
from lsiq_ros.nodes.clean_end import run_node
from lsiq_ros.simulator.lockstep_walk import LockstepWalk
from lsiq_ros.simulator.noisy_expert import NoisyExpert
from lsiq_ros.simulator.parameters import MODES
from lsiq_ros.wire import cdr
from lsiq_ros.wire.cdr import JointStateReader, OdometryReader
from lsiq_ros.wire.observation import ObservationSpec, Readings
from lsiq_ros.wire.parameters import declare, parameter
from lsiq_ros.wire.topics import EFFORT_COMMANDS, JOINT_STATES, ODOMETRY
from nav_msgs.msg import Odometry
import numpy as np
from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

EXPERT = 'expert/expert.onnx'  # in a robot's folder
_NOISE = "of the torque noise drawn per episode, in units of the expert's residual scale"
_DISCOVERY_S = 1.0  # on a busy machine; what is published before is lost


@dataclass(frozen=True)
class ExpertParameters:
    """What the node was told."""

    robot: str = parameter('atlas', 'name or path of the robot')
    expert: str = parameter('', "the expert's ONNX file; empty for the robot's own")
    mode: str = parameter('real_time', 'who moves time on', choices=MODES)
    noise_low: float = parameter(0.0, f'least std {_NOISE}', 0, 1)
    noise_high: float = parameter(0.0, f'largest std {_NOISE}', 0, 1)
    episodes: int = parameter(0, 'in lock-step, end after so many; 0 for never', 0, 10**6)
    episode_steps: int = parameter(
        1000, 'in lock-step, time limit of an episode in control periods', 1, 10**9
    )
    real_time_factor: float = parameter(
        1.0, 'in lock-step, simulated seconds per real one; 0 for as fast as it goes', 0, 1000
    )
    seed: int = parameter(0, 'of the noise, and in lock-step of the starts', 0, LARGEST_SEED)
    listeners: int = parameter(
        0, 'in lock-step, begin once so many listen to joint_states, say a recorder', 0, 100
    )


class ExpertNode(Node):
    """Answer the robot's state with the expert's torques."""

    def __init__(self) -> None:
        super().__init__('expert_node')
        self._chosen = chosen = declare(self, ExpertParameters)
        if chosen.noise_low > chosen.noise_high:
            raise ConfigError(
                f'noise_low {chosen.noise_low} is above noise_high {chosen.noise_high}'
            )
        self._robot = load_robot(chosen.robot)
        path = chosen.expert or self._robot.folder / EXPERT
        noise = (chosen.noise_low, chosen.noise_high)
        self._expert = NoisyExpert(path, self._robot, noise, chosen.seed)
        if chosen.mode != 'lockstep':
            self._create_real_time()

    def run(self, stop: threading.Event) -> None:
        """In lock-step, walk until ``stop`` is set or all episodes are done."""
        chosen = self._chosen
        if chosen.mode != 'lockstep':
            stop.wait()
            return
        while self.count_subscribers(JOINT_STATES) < chosen.listeners and not stop.is_set():
            stop.wait(0.1)
        if stop.is_set():
            return
        options = {'observation': 'full', 'max_episode_steps': chosen.episode_steps}
        setup = SimulatorSetup(chosen.robot, options)
        walk = LockstepWalk(self, self._expert, setup, chosen.real_time_factor)
        if chosen.listeners:  # the simulator's topics are new: who listens must find them first
            stop.wait(_DISCOVERY_S)
        try:
            seed: int | None = chosen.seed
            count = 0
            while not stop.is_set() and not (chosen.episodes and count >= chosen.episodes):
                episode = walk.walk(seed, stop)
                seed, count = None, count + 1
                self.get_logger().info(
                    f'episode {count}: {episode.length} steps, {episode.ending}'
                )
        finally:
            walk.close()

    # -- real time -------------------------------------------------------------------------

    def _create_real_time(self) -> None:
        self._spec = ObservationSpec(self._expert.state_names)
        self._read_joints, self._read_odometry = JointStateReader(), OdometryReader()
        self._joints: cdr.JointState | None = None
        self._odometry: cdr.Odometry | None = None
        self._last_ns: int | None = None
        self._efforts = self.create_publisher(Float64MultiArray, EFFORT_COMMANDS, 1)
        sensor = qos_profile_sensor_data
        self.create_subscription(Odometry, ODOMETRY, self._on_odometry, sensor, raw=True)
        self.create_subscription(JointState, JOINT_STATES, self._on_joints, sensor, raw=True)

    def _on_odometry(self, raw: bytes) -> None:
        self._odometry = self._read_odometry(raw)
        self._act_if_complete()

    def _on_joints(self, raw: bytes) -> None:
        self._joints = self._read_joints(raw)
        self._act_if_complete()

    def _act_if_complete(self) -> None:
        """Act when joints and base of one instant are here."""
        joints, odometry = self._joints, self._odometry
        if joints is None or odometry is None or joints.stamp_ns != odometry.stamp_ns:
            return
        self._joints = self._odometry = None
        readings = Readings(
            positions_rad=dict(zip(joints.names, joints.position)),
            velocities_rad_s=dict(zip(joints.names, joints.velocity)),
            base=odometry.base,
        )
        try:
            state = self._spec.observe(readings)
        except LsiqError as error:
            self.get_logger().warning(str(error), throttle_duration_sec=2.0)
            return
        place_m = np.array(odometry.base.position_m[:2])
        if self._is_new_episode(joints.stamp_ns):
            self._expert.reset(state, place_m)
        effort_nm = self._expert.act(state, place_m)
        self._efforts.publish(Float64MultiArray(data=effort_nm.tolist()))

    def _is_new_episode(self, stamp_ns: int) -> bool:
        last_ns, self._last_ns = self._last_ns, stamp_ns
        return last_ns is None or not 0 < stamp_ns - last_ns < EPISODE_GAP_S * 1e9


def main(args: list[str] | None = None) -> None:
    """Run the node until SIGINT or SIGTERM, or until its episodes are walked."""
    run_node(ExpertNode, ExpertNode.run, args, nothing_to_lose=lambda _node: True)


if __name__ == '__main__':
    main()
