# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Turn a graph into actions of the ``launch`` package; needs a ROS installation."""

from __future__ import annotations

import os
from typing import Any

from launch.actions import (
    DeclareLaunchArgument,
    EmitEvent,
    LogInfo,
    OpaqueFunction,
    RegisterEventHandler,
    SetEnvironmentVariable,
)
from launch.event_handlers import OnProcessExit
from launch.events import Shutdown
from launch_ros.actions import Node
from lsiq_core.shipped_files import PACKAGE, shipped
from lsiq_ros.graph.catalogue import find_graph
from lsiq_ros.graph.model import Graph, ResolvedNode
from lsiq_ros.graph.processes import DISCOVERY, LOG_FORMAT

from launch import LaunchContext, LaunchDescription  # type: ignore[attr-defined]


def launch_description(name: str) -> LaunchDescription:
    """Return a graph of the catalogue as a launch description."""
    graph = find_graph(name)
    actions: list[Any] = [
        DeclareLaunchArgument(
            argument.name,
            default_value=str(argument.default),
            description=argument.description,
            choices=list(argument.choices) or None,
        )
        for argument in graph.arguments
    ]
    if LOG_FORMAT[0] not in os.environ:
        actions.append(SetEnvironmentVariable(*LOG_FORMAT))
    if graph.local and DISCOVERY not in os.environ:
        actions.append(SetEnvironmentVariable(DISCOVERY, 'LOCALHOST'))
    actions.append(OpaqueFunction(function=_start_nodes, args=[graph]))
    return LaunchDescription(actions)


def _start_nodes(context: LaunchContext, graph: Graph) -> list[Any]:
    given = {
        argument.name: context.launch_configurations[argument.name] for argument in graph.arguments
    }
    nodes = [(resolved.label, _node(resolved)) for resolved in graph.resolve(given)]
    endings = [RegisterEventHandler(_stop_all_after(label, node)) for label, node in nodes]
    return [*endings, *(node for _, node in nodes)]


def _node(resolved: ResolvedNode) -> Node:
    return Node(
        package=PACKAGE,
        executable=resolved.executable,
        namespace=resolved.namespace,
        parameters=[
            str(shipped(f'config/nodes/{resolved.executable}.yaml')),
            dict(resolved.parameters),
        ],
        remappings=list(resolved.remappings.items()),
        output='screen',
        emulate_tty=True,
    )


def _stop_all_after(label: str, node: Node) -> OnProcessExit:
    return OnProcessExit(
        target_action=node,
        on_exit=[
            LogInfo(msg=f'{label} ended, stopping the graph'),
            EmitEvent(event=Shutdown(reason=f'{label} ended')),
        ],
    )
