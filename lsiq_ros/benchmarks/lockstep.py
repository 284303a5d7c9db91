# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
Measure lock-step without learning: exchanges per second between two processes.

The bare exchange is with a task that computes nothing, sized like a biped. With several robots
the commands go to all before the answers are waited for.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
import os
import subprocess
import sys
import time
from typing import Any, NamedTuple

from lsiq_core.env import Env
from lsiq_core.types import Step, Term
from lsiq_ros.lockstep.protocol import SimulatorSetup
from lsiq_ros.lockstep.ros_env import RosEnv
from lsiq_ros.lockstep.server import LockstepServer
from lsiq_ros.lockstep.sim_topics import LockstepTopics, RobotTopics
from lsiq_ros.lockstep.simulator_link import tell
from lsiq_ros.nodes.clean_end import init_without_handlers, spin_until
from lsiq_ros.simulator.tasks import make_env
import numpy as np
import numpy.typing as npt
import rclpy

STILL = 'still'
ROBOTS = 16  # as in training
NAMESPACE = 'lockstep_bench_sim'


class ExchangeRate(NamedTuple):
    """How fast a task was stepped."""

    task: str
    robots: int
    exchanges: int
    per_s: float
    p50_us: float
    p99_us: float
    in_process_per_s: float


class StillEnv:
    """A task of the size of a biped that computes nothing."""

    name = STILL
    observation_terms: Sequence[Term] = tuple(
        Term(f'joint_{i}/position', 'rad') for i in range(30)
    )
    action_terms: Sequence[Term] = tuple(Term(f'joint_{i}/effort', 'N m') for i in range(10))
    action_low, action_high = np.full(10, -1.0), np.full(10, 1.0)
    rate_hz = 100.0
    max_episode_steps = 1000

    def __init__(self) -> None:
        self._obs = np.zeros(30)

    def reset(self, *, seed: int | None = None) -> npt.NDArray[np.float64]:
        """Stand still."""
        return self._obs

    def step(self, action: npt.NDArray[np.float64]) -> Step:
        """Stand still."""
        return Step(self._obs, 0.0, False, False)

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return nothing."""
        return {}

    def restore(self, state: dict[str, npt.NDArray[Any]]) -> None:
        """Take nothing."""

    def close(self) -> None:
        """Release nothing."""


def lockstep_rate(task: str = STILL, exchanges: int = 5000, robots: int = 1) -> ExchangeRate:
    """
    Step a task in another process over topics, then in this one.

    :param task: ``still`` or a task of the sim node.
    :param exchanges: how many steps to take, over all robots.
    :param robots: how many the other process simulates; all are sent to, then all waited for.
    """
    rounds = -(-exchanges // robots)
    setup = SimulatorSetup(
        task, {} if task == STILL else {'observation': 'full'}, (False,) * robots
    )
    with served(setup, NAMESPACE) as envs:
        elapsed_us = _round_times_us(envs, rounds)
    here_us = _step_times_us(_make(setup), exchanges)
    return ExchangeRate(
        task=task,
        robots=robots,
        exchanges=rounds * robots,
        per_s=1e6 * robots / float(elapsed_us.mean()),
        p50_us=float(np.percentile(elapsed_us, 50)),
        p99_us=float(np.percentile(elapsed_us, 99)),
        in_process_per_s=1e6 / float(here_us.mean()),
    )


def _round_times_us(envs: Sequence[RosEnv], rounds: int) -> npt.NDArray[np.float64]:
    """Return how long it took each time to step all; resets after falls stay outside."""
    times_us = np.empty(rounds)
    action = np.zeros(len(envs[0].action_terms))
    for seed, env in enumerate(envs):
        env.reset(seed=seed)
    for index in range(rounds):
        start_s = time.perf_counter()
        for env in envs:
            env.step_async(action)
        steps = [env.step_wait() for env in envs]
        times_us[index] = 1e6 * (time.perf_counter() - start_s)
        for env, step in zip(envs, steps):
            if step.terminated or step.truncated:
                env.reset()
    return times_us


def _step_times_us(env: Env, steps: int) -> npt.NDArray[np.float64]:
    """Return how long each step took in process; resets after falls stay outside."""
    times_us = np.empty(steps)
    action = np.zeros(len(env.action_terms))
    env.reset(seed=0)
    for index in range(steps):
        start_s = time.perf_counter()
        step = env.step(action)
        times_us[index] = 1e6 * (time.perf_counter() - start_s)
        if step.terminated or step.truncated:
            env.reset()
    return times_us


def _make(setup: SimulatorSetup, robot: int = 0) -> Env:
    return StillEnv() if setup.task == STILL else make_env(setup.task, setup.options_of(robot))


@contextmanager
def served(setup: SimulatorSetup, namespace: str) -> Iterator[list[RosEnv]]:
    """Give the robots of a simulator in another process, visible on this machine alone."""
    os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
    words = ['-m', 'lsiq_ros.benchmarks.lockstep', namespace]
    process = subprocess.Popen([sys.executable, *words])
    context = rclpy.Context()
    rclpy.init(context=context)
    node = rclpy.create_node('lockstep_bench', context=context)
    try:
        told = tell(node, namespace, setup)
        places = [f'{namespace}/{prefix}'.rstrip('/') for prefix in setup.prefixes]
        yield [RosEnv(node, place, setup=told, timeout_s=60) for place in places]
    finally:
        node.destroy_node()
        rclpy.try_shutdown(context=context)
        process.terminate()
        process.wait(timeout=5)


def _serve(namespace: str) -> None:
    import threading

    stop = init_without_handlers(None)
    node = rclpy.create_node('sim_node', namespace=namespace)

    def robots(setup: SimulatorSetup, told: str) -> dict[str, RobotTopics]:
        made = {}
        for robot, prefix in enumerate(setup.prefixes):
            server = LockstepServer(_make(setup, robot), setup=told)
            server.reset(0)
            made[prefix] = RobotTopics(
                node, prefix, server, after=lambda verb: None, refused=print
            )
        return made

    topics = LockstepTopics(node, robots)
    worker = threading.Thread(target=topics.run, args=(stop, threading.Event()))
    worker.start()
    spin_until(stop, node)
    worker.join()
    topics.close()
    node.destroy_node()
    rclpy.try_shutdown()


if __name__ == '__main__':
    _serve(sys.argv[1])
