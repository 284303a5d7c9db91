# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""The learner's side: a simulator behind topics that looks like any other env."""

from collections.abc import Sequence

from lsiq_core.types import LARGEST_SEED, Step, Term
from lsiq_ros.lockstep import protocol
from lsiq_ros.lockstep.protocol import Arrays, LockstepError, pack_arrays, unpack_arrays
from lsiq_ros.lockstep.server import checked_action
from lsiq_ros.lockstep.simulator_link import SimulatorLink
from lsiq_ros.wire.cdr import JointStateWriter
import numpy as np
import numpy.typing as npt
from rclpy.node import Node

Array = npt.NDArray[np.float64]


class RosEnv:
    """
    The Env protocol over topics, with the step split in two for a pipelined learner.

    When the simulator dies, the next call raises ``SimulatorLostError``; after
    :meth:`wait_for_return`, :meth:`restore` or :meth:`reset` goes on with the new one.

    :param node: the node that publishes and subscribes; an executor may spin it meanwhile.
    :param namespace: where the simulator's topics are, relative to the node.
    :param setup: what ``simulator_link.tell`` returned; empty takes whatever runs there.
    :param timeout_s: how long an answer may take before the simulator counts as lost.
    """

    def __init__(
        self, node: Node, namespace: str = '', *, setup: str = '', timeout_s: float = 10.0
    ) -> None:
        self._link = SimulatorLink(node, namespace, setup, timeout_s)
        self._under_way = False
        task = self._link.task
        self.name = task.name
        self.observation_terms: Sequence[Term] = task.observation_terms
        self.action_terms: Sequence[Term] = task.action_terms
        self.action_low = np.array(task.action_low)
        self.action_high = np.array(task.action_high)
        self.rate_hz = task.rate_hz
        self.max_episode_steps = task.max_episode_steps
        self.start_names = task.start_names

    @property
    def stamp_ns(self) -> int:
        """Return the simulated time of the last state."""
        return self._link.stamp_ns

    @property
    def timeout_s(self) -> float:
        """Return how long an answer may take."""
        return self._link.timeout_s

    @timeout_s.setter
    def timeout_s(self, timeout_s: float) -> None:
        self._link.timeout_s = timeout_s

    def wait_for_return(self) -> None:
        """Wait until a simulator that was lost answers again or another was started."""
        self._under_way = False
        self._link.wait_for_return()

    def reset(self, *, seed: int | None = None) -> Array:
        """Start an episode; a seed restarts the task's own randomness."""
        if seed is None:
            return self._start(protocol.RESET, (), np.empty(0))
        if not 0 <= seed <= LARGEST_SEED:
            raise LockstepError(f'seed {seed} is not in 0 to {LARGEST_SEED}')
        return self._start(protocol.RESET, (protocol.SEED_NAME,), np.array([seed], np.float64))

    def reset_to(self, start: Array) -> Array:
        """
        Start an episode exactly at a state, for example a frame of a demonstration.

        :param start: values of ``start_names``, for robots the kinematic observation.
        """
        names = self.start_names
        values = np.asarray(start, np.float64)
        if values.shape != (len(names),):
            raise LockstepError(
                f'{self.name} starts at {len(names)} values {list(names)}, found {values.shape}'
            )
        return self._start(protocol.RESET_TO, names, values)

    def step(self, action: Array) -> Step:
        """Hold the action for one control period."""
        self.step_async(action)
        return self.step_wait()

    def step_async(self, action: Array) -> None:
        """Send the action and return at once; :meth:`step_wait` brings what came of it."""
        self._refuse_while_under_way()
        link = self._link
        link.step_writer.effort[:] = checked_action(np.asarray(action, np.float64), link.task)
        link.send(link.task.frame(protocol.STEP), link.step_writer.write(link.stamp_ns))
        self._under_way = True

    def step_wait(self) -> Step:
        """Wait for what the last :meth:`step_async` brought."""
        if not self._under_way:
            raise LockstepError('step_wait without step_async')
        self._under_way = False
        values = self._link.wait_for_state()
        reward, terminated, truncated = values[-3:].tolist()
        return Step(values[:-3].copy(), reward, bool(terminated), bool(truncated))

    def state(self) -> Arrays:
        """Return all that a bit-identical continuation needs, as plain arrays."""
        self._refuse_while_under_way()
        self._link.drop_old_snapshots()
        self._send(protocol.SNAPSHOT, (), np.empty(0))
        return unpack_arrays(self._link.wait_for_snapshot())

    def restore(self, state: Arrays) -> None:
        """Continue where :meth:`state` was taken."""
        self._under_way = False
        self._link.synchronise()
        self._link.send_restore(pack_arrays(state))
        self._link.wait_for_state()

    def close(self) -> None:
        """Give topics and publishers back; the simulator goes on waiting."""
        self._link.close()

    def _start(self, verb: str, names: tuple[str, ...], values: Array) -> Array:
        self._link.synchronise()
        self._send(verb, names, values)
        self._under_way = True
        return self.step_wait().obs

    def _send(self, verb: str, names: tuple[str, ...], values: Array) -> None:
        frame = self._link.task.frame(verb)
        writer = JointStateWriter(frame, names, position=len(values))
        writer.position[:] = values
        raw = writer.write(self._link.stamp_ns)
        self._link.send(frame, raw, ticks=self._link.task.episode_gap)

    def _refuse_while_under_way(self) -> None:
        if self._under_way:
            raise LockstepError('a step is under way: call step_wait first')
