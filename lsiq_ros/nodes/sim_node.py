# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
The simulated robot as a node: in real time, or in lock-step with a learner.

In real time a period is computed when it is over, with the newest command. A command that
comes within the period thus acts on the very state it was made for, as in lock-step.
"""

from pathlib import Path
import threading
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from lsiq_core.data import demonstrations
from lsiq_core.errors import TaskError
from lsiq_core.policy.artifact import read_artifact
from lsiq_core.robot import AUTO, is_robot, load_robot, RobotSpec
from lsiq_core.shipped_files import find_file
from lsiq_ros.lockstep.protocol import SimulatorSetup, STEP
from lsiq_ros.lockstep.server import LockstepServer
from lsiq_ros.lockstep.sim_topics import LockstepTopics, RobotTopics
from lsiq_ros.nodes.clean_end import pause_service, run_node
from lsiq_ros.simulator.effort_command import EffortCommand
from lsiq_ros.simulator.pacing import Pacer, RateMeter
from lsiq_ros.simulator.parameters import SimParameters
from lsiq_ros.simulator.state_publisher import StatePublisher
from lsiq_ros.simulator.tasks import driven_by_torque, make_task, SimTask
from lsiq_ros.wire.messages import diagnostics
from lsiq_ros.wire.parameters import declare
from lsiq_ros.wire.topics import DIAGNOSTICS, EFFORT_COMMANDS
from rcl_interfaces.msg import SetParametersResult
from rclpy.node import Node
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger

_DIAGNOSE_S = 1.0


class SimNode(Node):
    """Publish a simulated robot's state and let commands move it."""

    def __init__(self) -> None:
        super().__init__('sim_node')
        self._chosen = declare(self, SimParameters)
        self._lock = threading.Lock()  # the env serves one thread at a time
        self._paused = pause_service(self)
        if self._chosen.start_paused:
            self._paused.set()
        self._steps, self._episodes, self._fallen = RateMeter(), 0, False
        self._publisher: StatePublisher | None = None
        self._robots = self._held = 0
        self._refused, self._refused_before, self._last_refusal = 0, 0, ''
        self._diagnostics = self.create_publisher(DiagnosticArray, DIAGNOSTICS, 10)
        self.create_service(Trigger, '~/reset', self._on_reset)
        self.create_service(Trigger, '~/step', self._on_step)
        if self._chosen.lockstep:
            self._topics = LockstepTopics(self, self._make_robots)
        else:
            self._create_real_time()
        self.create_timer(_DIAGNOSE_S, self._diagnose)

    def run(self, stop: threading.Event) -> None:
        """Simulate until ``stop`` is set; callbacks run in another thread."""
        if self._chosen.lockstep:
            self.get_logger().info('in lock-step: waiting for a learner to say what to run')
            self._topics.run(stop, self._paused)
        else:
            self._begin_episode()
            self._steps = RateMeter()  # building the node took its time
            self._stop = stop
            self._pacer.run(self._real_time_period, stop)

    def _open(self, task: SimTask, server: LockstepServer, robots: int) -> None:
        """Show a robot, the first of so many, on the state topics."""
        if self._publisher is not None:
            self._publisher.close()
        self._task, self._server, self._robots = task, server, robots
        self._publisher = StatePublisher(self, task)
        self.get_logger().info(
            f'{task.env.name} in {self._chosen.mode} mode at {task.env.rate_hz:g} Hz, '
            f'{len(task.joints)} joints'
            + ('' if robots == 1 else f', {robots} robots')
            + ('' if self._publisher.has_frames else '; no TF: tf2_msgs is not installed')
        )

    # -- real time -------------------------------------------------------------------------

    def _create_real_time(self) -> None:
        parameters = self._chosen
        task = _real_time_task(parameters)
        self._open(task, _server(task), 1)
        self._server.reset(parameters.seed)
        self._pacer = Pacer(1 / self._task.env.rate_hz, parameters.real_time_factor)
        self._command = EffortCommand(self._task.joints, parameters.command_timeout_s)
        self.create_subscription(Float64MultiArray, EFFORT_COMMANDS, self._on_command, 1)
        self.add_on_set_parameters_callback(self._on_parameters)

    def _on_command(self, message: Float64MultiArray) -> None:
        if not self._command.offer(message.data):
            self._on_refusal(self._command.last_refusal)

    def _real_time_period(self) -> None:
        if self._chosen.wait_for_command:
            self._command.wait(self._stop)
            if self._held == 1:  # while nobody commanded, states went out that nobody waited for
                self._command.drain()
        with self._lock:
            if not self._paused.is_set():
                self._advance()

    def _advance(self) -> None:
        """Let one period pass; a robot that nobody commands yet hangs where it started."""
        self._steps.count += 1
        if self._hangs():
            self._server.let_time_pass()
        else:
            self._server.step(self._command.effort_nm())
        self._command.asked()
        self._show()
        ended = self._announce_end()
        if (ended == 'fall' and self._chosen.reset_on_fall) or (
            ended == 'time_limit' and self._chosen.reset_on_time_limit
        ):
            self._restart()

    def _hangs(self) -> bool:
        """Return whether the robot is still held: for a policy that is faded in, too."""
        if not self._chosen.hold_until_command:
            return False
        if self._command.waiting:
            self._held = 0
            return True
        self._held += 1
        return self._held <= self._chosen.hold_s * self._task.env.rate_hz

    def _restart(self) -> None:
        self._server.reset()
        self._command.forget()
        self._begin_episode()

    # -- lock-step -------------------------------------------------------------------------

    def _make_robots(self, setup: SimulatorSetup, told: str) -> dict[str, RobotTopics]:
        """Make what a learner wants; the first robot alone has state topics."""
        count = len(setup.at_frames)
        tasks = [make_task(setup.task, setup.options_of(robot)) for robot in range(count)]
        servers = [_server(task, told) for task in tasks]
        for robot, server in enumerate(servers):
            server.reset(robot)
        with self._lock:  # nothing is published before the learner's first reset
            self._open(tasks[0], servers[0], count)
        return {
            prefix: RobotTopics(
                self,
                prefix,
                server,
                after=self._count_exchange if robot else self._after_exchange,
                refused=self._on_refusal,
            )
            for robot, (prefix, server) in enumerate(zip(setup.prefixes, servers))
        }

    def _count_exchange(self, verb: str) -> None:
        self._steps.count += 1

    def _after_exchange(self, verb: str) -> None:
        self._steps.count += 1
        if verb != STEP:
            self._begin_episode()
            return
        every, step = self._chosen.publish_every, self._server.last_step
        ended = step is not None and (step.terminated or step.truncated)
        if every and (self._server.tick % every == 0 or ended):
            self._show()
            self._announce_end()

    # -- both ------------------------------------------------------------------------------

    def _begin_episode(self) -> None:
        self._episodes += 1
        self._fallen = False
        self._announce('reset')
        self._show()

    def _show(self) -> None:
        if self._publisher is not None:
            self._publisher.publish(self._server.stamp_ns)

    def _announce(self, event: str) -> None:
        if self._publisher is not None:
            self._publisher.announce(event)

    def _announce_end(self) -> str:
        """Say once per episode that the robot fell; return how the episode ended, if it did."""
        step = self._server.last_step
        if step is not None and step.terminated:
            if not self._fallen:
                self._announce('fall')
            self._fallen = True
            return 'fall'
        return 'time_limit' if step is not None and step.truncated else ''

    def _on_reset(self, _request: Any, response: Trigger.Response) -> Trigger.Response:
        if self._chosen.lockstep:
            return _refuse(response, 'in lock-step the learner resets')
        with self._lock:
            self._restart()
        response.success, response.message = True, f'episode {self._episodes}'
        return response

    def _on_step(self, _request: Any, response: Trigger.Response) -> Trigger.Response:
        if self._chosen.lockstep:
            return _refuse(response, 'in lock-step the learner steps')
        if not self._paused.is_set():
            return _refuse(response, 'pause first: a running simulation steps by itself')
        with self._lock:
            self._advance()
        response.success = True
        response.message = f'simulated time {self._server.stamp_ns / 1e9:.3f} s'
        return response

    def _on_parameters(self, parameters: list[Any]) -> SetParametersResult:
        for parameter in parameters:
            if parameter.name == 'real_time_factor':
                self._pacer.real_time_factor = parameter.value
        return SetParametersResult(successful=True)

    def _on_refusal(self, reason: str) -> None:
        self._refused += 1
        self._last_refusal = reason
        if self._refused - self._refused_before == 1:  # the first since the last report
            self.get_logger().warning(f'command refused: {reason}')
            self._publish_diagnostics(float('nan'))

    def _diagnose(self) -> None:
        self._publish_diagnostics(self._steps.read_hz())
        self._refused_before = self._refused

    def _publish_diagnostics(self, rate_hz: float) -> None:
        problems = []
        if self._refused > self._refused_before:
            problems.append(f'command refused: {self._last_refusal}')
        values: dict[str, object] = {'mode': self._chosen.mode}
        if self._publisher is None:
            waiting = diagnostics(self, 'simulation', 'waiting for a learner', problems, values)
            self._diagnostics.publish(waiting)
            return
        factor = rate_hz / self._task.env.rate_hz / self._robots
        values |= {
            'achieved_real_time_factor': f'{factor:.4f}',
            'achieved_rate_hz': f'{rate_hz:.1f}',
            'simulated_time_s': f'{self._server.stamp_ns / 1e9:.3f}',
            'episodes': self._episodes,
            'commands_refused': self._refused,
            'last_refusal': self._last_refusal,
            'paused': self._paused.is_set(),
            'publishes_tf': self._publisher.has_frames,
        }
        if not self._chosen.lockstep:
            values['real_time_factor'] = self._pacer.real_time_factor
            values['late_periods'] = self._pacer.late
            if self._command.stale:
                problems.append(f'no command for {self._chosen.command_timeout_s:g} s: no torque')
            if factor < 0.9 * self._pacer.real_time_factor and not self._paused.is_set():
                problems.append(f'real-time factor {factor:.2f}')
        task = self._task.env.name
        self._diagnostics.publish(diagnostics(self, 'simulation', task, problems, values))


def _real_time_task(chosen: SimParameters) -> SimTask:
    options, name = chosen.options, chosen.task
    if name == AUTO:
        name = read_artifact(find_file(chosen.policy)).metadata.robot
    robot: str | RobotSpec = name
    if is_robot(name):
        asked = load_robot(name)
        robot = driven_by_torque(asked)
        periods = round(robot.control.rate_hz / asked.control.rate_hz)
        options = {**options, 'max_episode_steps': chosen.max_episode_steps * periods}
    frames: str | Path | None = chosen.reset_frames
    if frames == AUTO:
        frames = None if isinstance(robot, str) else robot.demos_path
    if not frames:
        return make_task(robot, options)
    demos = demonstrations.load(find_file(str(frames)), with_actions=False)
    task = make_task(robot, {**options, 'reset_frames': demos.states})
    wanted = task.start_names
    if demos.state_names[: len(wanted)] != wanted:
        raise TaskError(
            f'{frames}: an episode starts at {len(wanted)} values {list(wanted)}, '
            f'its states begin with {list(demos.state_names[: len(wanted)])}'
        )
    return task


def _server(task: SimTask, setup: str = '') -> LockstepServer:
    return LockstepServer(
        task.env, start_names=task.start_names, start_at=task.start_at, setup=setup
    )


def _refuse(response: Trigger.Response, why: str) -> Trigger.Response:
    response.success, response.message = False, why
    return response


def main(args: list[str] | None = None) -> None:
    """Run the node until SIGINT or SIGTERM."""
    run_node(SimNode, SimNode.run, args)


if __name__ == '__main__':
    main()
