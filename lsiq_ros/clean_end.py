# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""End a node cleanly on SIGINT and on SIGTERM alike."""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Sequence

import rclpy
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

_SLICE_S = 0.1  # how often a stop is looked for


def init_without_handlers(args: Sequence[str] | None) -> threading.Event:
    """
    Start rclpy and return an event that the first SIGINT or SIGTERM sets.

    rclpy's own handlers shut the context down under the feet of a node that still has
    something to save.
    """
    stop = threading.Event()

    def on_signal(_number: int, _frame: FrameType | None) -> None:
        stop.set()

    rclpy.init(args=args, signal_handler_options=SignalHandlerOptions.NO)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, on_signal)
    return stop


def spin_until(stop: threading.Event, node: Node) -> None:
    """Run the node's callbacks until ``stop`` is set."""
    executor = SingleThreadedExecutor(context=node.context)
    executor.add_node(node)
    try:
        while not stop.is_set() and node.context.ok():
            executor.spin_once(timeout_sec=_SLICE_S)
    except ExternalShutdownException:
        pass
    finally:
        stop.set()
        executor.shutdown()
