# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""``lsiq up``: start a graph of nodes where there is no ``ros2 launch``."""

from __future__ import annotations

import shlex
from typing import Annotated, Optional

from lsiq_ros.cli.deploy_commands import check_policy
from lsiq_ros.graph.catalogue import find_graph, GRAPHS
from lsiq_ros.graph.model import assignments, Graph
from lsiq_ros.graph.processes import command_line, environment, run_graph
import typer


def up(
    name: Annotated[
        Optional[str], typer.Argument(help='Which graph; without it, all are listed.')
    ] = None,
    settings: Annotated[
        Optional[list[str]], typer.Argument(help='Arguments of the graph: name:=value.')
    ] = None,
    network: Annotated[
        bool, typer.Option('--network', help='Let nodes on other machines take part.')
    ] = False,
    show: Annotated[
        bool, typer.Option('--show', help='Print the commands instead of running them.')
    ] = False,
) -> None:
    """
    Start a graph of nodes; all stop when one ends or on Ctrl-C.

        lsiq up record_expert episodes:=5 bags:=bags

    The same graphs start with ``ros2 launch lsiq_ros NAME.launch.py name:=value``.
    """
    if name is None:
        for graph in GRAPHS.values():
            _describe(graph)
        return
    graph = find_graph(name)
    nodes = graph.resolve(assignments(settings or []))
    if show:
        for node in nodes:
            print(shlex.join(command_line(node)))
        return
    for node in nodes:
        if node.executable == 'control_node':
            settings_of = node.parameters
            checked = check_policy(
                str(settings_of['policy']),
                str(settings_of.get('policy_sha256', '')),
                str(settings_of.get('robot', '')),
            )
            print(f'[up] {checked}', flush=True)
    ending = run_graph(
        nodes,
        environment(local=graph.local and not network),
        say=lambda line: print(line, flush=True),
    )
    if ending.code:
        raise typer.Exit(1)


def _describe(graph: Graph) -> None:
    print(f'{graph.name}: {graph.description}')
    for argument in graph.arguments:
        choices = f' {list(argument.choices)}' if argument.choices else ''
        print(f'  {f"{argument.name}:={argument.default!r}":<28} {argument.description}{choices}')
