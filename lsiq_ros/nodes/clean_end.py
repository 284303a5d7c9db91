# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""End a node cleanly on SIGINT and on SIGTERM alike."""

from collections.abc import Callable, Sequence
from contextlib import suppress
import os
import signal
import sys
import threading
from types import FrameType
from typing import Any

from lsiq_core.errors import LsiqError, missing_extra
from lsiq_ros.gate.steady_memory import set_what_exists_aside
import rclpy
from rclpy.exceptions import InvalidHandle
from rclpy.executors import Executor, ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from std_srvs.srv import SetBool

_SLICE_S = 0.1  # how often a stop is looked for
_PATIENCE_S = 0.5  # with work that has nothing to lose


def init_without_handlers(args: Sequence[str] | None) -> threading.Event:
    """
    Start rclpy and return an event that the first SIGINT or SIGTERM sets.

    rclpy's own handlers shut the context down under the feet of a node that still has
    something to save.
    """
    stop = threading.Event()

    def on_signal(_number: int, _frame: FrameType | None) -> None:
        stop.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, on_signal)
    given = None if args is None else list(args)
    rclpy.init(args=given, signal_handler_options=SignalHandlerOptions.NO)
    return stop


def spin_once(executor: Executor, timeout_s: float) -> None:
    """
    Run one callback.

    Another thread may destroy a publisher while the executor lists what to wait for; rclpy
    raises then, and the next round is without it.
    """
    with suppress(InvalidHandle):
        executor.spin_once(timeout_sec=timeout_s)


def spin_until(stop: threading.Event, node: Node) -> None:
    """Run the node's callbacks until ``stop`` is set."""
    executor = SingleThreadedExecutor(context=node.context)
    executor.add_node(node)
    try:
        while not stop.is_set() and node.context.ok():
            spin_once(executor, _SLICE_S)
    except ExternalShutdownException:
        pass
    finally:
        stop.set()
        executor.shutdown()


def pause_service(node: Node) -> threading.Event:
    """Return an event that the service ``~/pause`` (std_srvs/SetBool) sets and clears."""
    paused = threading.Event()

    def on_pause(request: Any, response: SetBool.Response) -> SetBool.Response:
        if request.data:
            paused.set()
        else:
            paused.clear()
        response.success, response.message = True, 'paused' if request.data else 'running'
        return response

    node.create_service(SetBool, '~/pause', on_pause)
    return paused


def leave_now() -> None:
    """End the process, all being saved: taking torch and rclpy apart costs a second of CPU."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def _wait_for(worker: threading.Thread, nothing_to_lose: Callable[[], bool]) -> None:
    """Wait until the work has ended; end the process where it goes on with nothing to lose."""
    waited_s = 0.0
    while worker.is_alive():
        worker.join(_SLICE_S)
        waited_s += _SLICE_S
        if waited_s >= _PATIENCE_S and worker.is_alive() and nothing_to_lose():
            leave_now()  # a thread in the middle of something long cannot be ended


def user_error(error: LsiqError) -> SystemExit:
    """Say what the user can mend; the exit code is that of the command line."""
    print(f'error: {error}', file=sys.stderr)
    return SystemExit(2)


def run_node(
    make: Callable[[], Node],
    work: Callable[[Any, threading.Event], None] | None = None,
    args: Sequence[str] | None = None,
    *,
    nothing_to_lose: Callable[[Any], bool] = lambda _node: False,
    hurry: Callable[[Any], None] = lambda _node: None,
) -> None:
    """
    Run a node until SIGINT or SIGTERM, or until its work is done.

    :param make: makes the node; a user's error ends the process with code 2.
    :param work: gets the node and the stop event, and runs in a thread of its own beside
        the callbacks; None for a node of callbacks alone.
    :param nothing_to_lose: whether work that does not stop at once may be left undone.
    :param hurry: called when the stop comes, for work that may be waiting for somebody.
    """
    stop = init_without_handlers(args)
    failure: list[BaseException] = []
    try:
        node = make()
    except LsiqError as error:
        rclpy.try_shutdown()
        raise user_error(error) from error
    except ModuleNotFoundError as error:
        rclpy.try_shutdown()
        extra = missing_extra(error.name)
        if extra is None:
            raise
        raise user_error(extra) from None

    set_what_exists_aside()

    def run_work() -> None:
        try:
            assert work is not None
            work(node, stop)
        except BaseException as error:  # the process must end with it, whatever it was
            failure.append(error)
        finally:
            stop.set()

    worker = threading.Thread(target=run_work, name='work') if work else None
    if worker:
        worker.start()
    try:
        spin_until(stop, node)
    finally:
        if worker:
            hurry(node)
            _wait_for(worker, lambda: nothing_to_lose(node))
        node.destroy_node()
        rclpy.try_shutdown()
        # All is saved: a second Ctrl-C must not turn a clean end into a death by signal.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
    if failure and isinstance(failure[0], LsiqError):
        raise user_error(failure[0]) from failure[0]
    if failure:
        raise failure[0]
    leave_now()
