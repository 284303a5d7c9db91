# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
The learner as a node: trains in lock-step with sim nodes, pipelined.

===================  =======================================================================
``~/pause``          std_srvs/SetBool: hold between two iterations
``~/checkpoint``     std_srvs/Trigger: save as soon as this iteration is over
``~/stop``           std_srvs/Trigger: save and end
``~/progress``       sensor_msgs/JointState: metric names in ``name``, values in ``position``
===================  =======================================================================
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
import threading
import time
from typing import Any, TYPE_CHECKING

from diagnostic_msgs.msg import DiagnosticArray
from lsiq_core.data.demonstrations import Demonstrations
from lsiq_core.errors import ConfigError
from lsiq_core.job import Interrupted, TRAINING
from lsiq_core.robot import AUTO, is_robot, load_robot
from lsiq_core.shipped_files import find_file
from lsiq_core.training.progress import progress_line
from lsiq_core.types import LARGEST_SEED
from lsiq_ros.lockstep.protocol import SimulatorLostError
from lsiq_ros.lockstep.recovering_env import RecoveringEnv
from lsiq_ros.lockstep.ros_env import RosEnv
from lsiq_ros.lockstep.simulator_link import tell
from lsiq_ros.nodes.clean_end import pause_service, run_node
from lsiq_ros.runs.driver import drive, has_checkpoint, refuse_used, RunHooks
from lsiq_ros.runs.feasibility import NEVER, TRACKER
from lsiq_ros.runs.setup import new_config, resumed_setup, RunSetup
from lsiq_ros.runs.tasks import simulator_setup
from lsiq_ros.wire.messages import diagnostics, progress_message
from lsiq_ros.wire.parameters import declare, parameter
from lsiq_ros.wire.topics import DIAGNOSTICS
import numpy as np
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

if TYPE_CHECKING:
    from lsiq_core.training.trainer import Trainer

_PUBLISH_S = 1.0
_RETURN_WAIT_S = 0.5  # between two looks whether somebody wants to stop
_LAST_ANSWER_S = 0.5  # what a simulator has to answer in once the end was asked for
_FIRST_CONTACT_S = 10.0  # discovery takes longer than any later answer
_TELL_S = 30.0  # between two lines of progress


@dataclass(frozen=True)
class LearnerParameters:
    """What the node was told."""

    robot: str = parameter('', 'the robot to learn for, by name or path; empty for task')
    task: str = parameter('atlas', 'what to learn where no robot is named')
    demos: str = parameter(AUTO, "demonstrations; auto are those in the robot's folder")
    retrace: str = parameter(NEVER, 'follow a recording in simulation first: auto, always, never')
    run: str = parameter('runs/learner', 'run directory; a run in it goes on')
    steps: int = parameter(0, "environment steps in all; 0 for the task's own", 0, 10**9)
    seed: int = parameter(0, 'seeds everything', 0, LARGEST_SEED)
    settings: tuple[str, ...] = parameter((), 'settings as lsiq train --set takes them')
    in_process: bool = parameter(False, 'simulate in this process, without sim nodes')
    sims: int = parameter(
        1, 'sim nodes, below sim_0, sim_1, ...; they share collection.simulations', 1, 256
    )
    sim_timeout_s: float = parameter(
        5.0, 'an answer that takes longer means a lost simulator', 0.2, 600
    )

    def setup(self) -> RunSetup:
        """Return the settings of a new run, or those that the run to go on with has."""
        run = Path(self.run)
        if has_checkpoint(run) or (run / TRACKER).is_dir():
            return resumed_setup(run, steps=self.steps or None)
        refuse_used(run, 'it holds no run to continue; choose another run')
        task = self.robot or self.task
        config = new_config(
            task,
            overrides=self.settings,
            seed=self.seed,
            observations_only=True,
            collection__steps=self.steps or None,
        )
        return RunSetup(config, str(_demonstrations(self.demos, task)), None, self.retrace)


def _demonstrations(named: str, task: str) -> Path:
    if named != AUTO:
        return find_file(named)
    found = load_robot(task).demos_path if is_robot(task) else None
    if found is None:
        raise ConfigError(f'{task} has no demonstrations of its own: name a file, demos:=FILE')
    return found


class LearnerNode(Node, RunHooks):
    """A run behind topics and services."""

    def __init__(self) -> None:
        super().__init__('learner_node')
        self._chosen = declare(self, LearnerParameters)
        self._setup = self._chosen.setup()
        self._config = self._setup.config
        self._trainer: Trainer | None = None
        self._simulators: list[RecoveringEnv] = []
        self._trouble, self._begun, self._finishing = '', False, False
        self._told, self._tell_at_s = (0, ''), 0.0
        self._save_wanted, self._stop_wanted = threading.Event(), threading.Event()
        self._paused = pause_service(self)
        self._progress = self.create_publisher(JointState, '~/progress', 10)
        self._diagnostics = self.create_publisher(DiagnosticArray, DIAGNOSTICS, 10)
        self.create_service(Trigger, '~/checkpoint', self._on_checkpoint)
        self.create_service(Trigger, '~/stop', self._on_stop)
        self.create_timer(_PUBLISH_S, self._publish)

    def run(self, stop: threading.Event) -> None:
        """Train until done or stopped, and leave everything saved."""
        self._stop = stop
        drive(
            Path(self._chosen.run),
            self._setup,
            connect=None if self._chosen.in_process else self._connect,
            hooks=self,
            stopped=self._stopped,
            log=self.get_logger().info,
        )

    def _stopped(self) -> bool:
        return self._stop.is_set() or self._stop_wanted.is_set()

    # -- hooks of the driver ---------------------------------------------------------------

    def begin(self, trainer: Trainer) -> None:
        """Know whose figures to publish."""
        self._trainer = trainer

    def iterate(self, trainer: Trainer) -> None:
        """Do one iteration unless paused; survive the loss of a simulator."""
        if self._paused.is_set():
            time.sleep(0.05)
        else:
            try:
                trainer.iterate()
                self._begun = True
            except SimulatorLostError as error:
                self._survive(error)
        if self._save_wanted.is_set():
            self._save_wanted.clear()
            trainer.save()
            self.get_logger().info(f'saved {trainer.run} at step {trainer.steps}')

    def show(self, trainer: Trainer) -> None:
        """Say where the run stands, after every stage and evaluation and now and then."""
        now_s = time.monotonic()
        stage = trainer.progress.stage
        if stage == TRAINING and not trainer.latest:
            return  # nothing is measured yet
        news = (trainer.evaluations, stage)
        if news == self._told and now_s < self._tell_at_s:
            return
        self._told, self._tell_at_s = news, now_s + _TELL_S
        self.get_logger().info(progress_line(trainer.progress, trainer.latest))

    def end(self, trainer: Trainer) -> None:
        """Take notice that all is saved."""
        self._finishing = True

    def has_nothing_to_lose(self) -> bool:
        """Return whether all is saved and what goes on takes minutes: babble, compiling, film."""
        if self._trainer is None or not self._begun or self._finishing:
            return True
        return self._trainer.can_be_left

    def hurry(self) -> None:
        """Wait no longer for simulators that may have been stopped, too."""
        for simulator in self._simulators:
            simulator.hurry(_LAST_ANSWER_S)

    def _connect(self, demos: Demonstrations) -> list[Any]:
        """Tell the sim nodes what to run and find their robots, however long they take."""
        count, sims = self._config.collection.simulations, self._chosen.sims
        if sims > count:
            raise ConfigError(f'sims is {sims}, with collection.simulations {count} to share')
        for sim, numbers in enumerate(np.array_split(np.arange(count), sims)):
            setup = simulator_setup(self._config, demos, numbers.tolist())
            told = tell(self, f'sim_{sim}', setup)
            for prefix in setup.prefixes:
                found = self._find(f'sim_{sim}/{prefix}'.rstrip('/'), told)
                self._simulators.append(RecoveringEnv(found, self.get_logger().warning))
        return list(self._simulators)

    def _find(self, namespace: str, told: str) -> RosEnv:
        while not self._stopped():
            try:
                found = RosEnv(self, namespace, setup=told, timeout_s=_FIRST_CONTACT_S)
            except SimulatorLostError as error:
                self.get_logger().warning(f'waiting for a sim node: {error}')
                continue
            found.timeout_s = self._chosen.sim_timeout_s
            return found
        raise Interrupted

    def _survive(self, error: SimulatorLostError) -> None:
        """Save without the lost simulator, wait for its return and go on."""
        assert self._trainer is not None
        for simulator in self._simulators:
            simulator.mark_out_of_step()
        self._trainer.save()
        self._trouble = f'simulator lost, saved at step {self._trainer.steps}: {error}'
        self.get_logger().error(self._trouble)
        self._publish()
        waiting = list(self._simulators)
        while waiting and not self._stopped():
            try:
                if waiting[0].come_back(_RETURN_WAIT_S):
                    waiting.pop(0)
            except SimulatorLostError:
                continue  # it died again, or another did
        if not waiting:
            self._trouble = ''
            self.get_logger().info(f'simulator back, going on at step {self._trainer.steps}')

    # -- callbacks -------------------------------------------------------------------------

    def _on_checkpoint(self, _request: Any, response: Trigger.Response) -> Trigger.Response:
        self._save_wanted.set()
        response.success, response.message = True, 'saving after this iteration'
        return response

    def _on_stop(self, _request: Any, response: Trigger.Response) -> Trigger.Response:
        self._stop_wanted.set()
        response.success, response.message = True, 'saving and ending'
        return response

    def _publish(self) -> None:
        trainer = self._trainer
        figures: dict[str, Any] = (
            {} if trainer is None else {'steps': trainer.steps, **trainer.latest}
        )
        message = progress_message(figures)
        message.header.stamp = self.get_clock().now().to_msg()
        self._progress.publish(message)
        problems = [self._trouble] if self._trouble else []
        task = self._config.task
        self._diagnostics.publish(diagnostics(self, 'training', task, problems, figures))


def main(args: list[str] | None = None) -> None:
    """Run the node until the training is done or SIGINT or SIGTERM comes."""
    run_node(
        LearnerNode,
        LearnerNode.run,
        args,
        nothing_to_lose=LearnerNode.has_nothing_to_lose,
        hurry=LearnerNode.hurry,
    )


if __name__ == '__main__':
    main()
