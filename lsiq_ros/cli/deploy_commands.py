# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
``lsiq deploy``: operate a running control node, without a ROS installation.

Each function is one command. docs/hardware.md says when to use which.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
import os
from pathlib import Path
from typing import Annotated, Any, TYPE_CHECKING

from lsiq_core.errors import LsiqError
from lsiq_ros.gate.checks import Check, TRIPS
from lsiq_ros.graph.processes import DISCOVERY
import typer

if TYPE_CHECKING:  # rclpy takes half a second to import
    from lsiq_ros.control.client import ControlClient

NODE = typer.Option('--node', help='The control node, with its namespace if it has one.')
NETWORK = typer.Option('--network', help='The node may run on another machine.')
Node = Annotated[str, NODE]
Network = Annotated[bool, NETWORK]
DEFAULT = 'control_node'
LEVELS = {b'\x00': 'ok', b'\x01': 'warn', b'\x02': 'error', b'\x03': 'stale'}


def status(node: Node = DEFAULT, network: Network = False) -> None:
    """Say what the node does, what it has counted, and what to do next."""
    with _client(node, network) as client:
        _print_status(client)


def configure(node: Node = DEFAULT, network: Network = False) -> None:
    """Load and verify the policy, hear the robot, and begin to shadow it."""
    _change('configure', node, network)


def arm(node: Node = DEFAULT, network: Network = False) -> None:
    """Allow the next activation; after a trip, hand the robot back to the policy."""
    with _client(node, network) as client:
        typer.echo(client.arm(True))
        _print_status(client)


def activate(node: Node = DEFAULT, network: Network = False) -> None:
    """Drive the robot. Needs arming; waits until no other controller can be there."""
    _change('activate', node, network)


def deactivate(node: Node = DEFAULT, network: Network = False) -> None:
    """Ramp down, leave zero torque and go back to the shadow."""
    _change('deactivate', node, network)


def disarm(node: Node = DEFAULT, network: Network = False) -> None:
    """Trip at once: ramp to damping. A software stop, not an e-stop."""
    with _client(node, network) as client:
        typer.echo(client.arm(False))
        _print_status(client)


def swap(
    policy: Annotated[Path, typer.Argument(help='The policy file that takes over.')],
    node: Node = DEFAULT,
    network: Network = False,
) -> None:
    """Let another policy with the same contract take over, also while it drives."""
    with _client(node, network) as client:
        typer.echo(client.swap(str(policy.expanduser().absolute())))
        _print_status(client)


def watch(
    node: Node = DEFAULT,
    network: Network = False,
    seconds: Annotated[float, typer.Option(help='How long; 0 until Ctrl-C.', min=0)] = 0.0,
) -> None:
    """Show mode, checks, counters and reasons as they change."""
    from rich.console import Console
    from rich.live import Live

    console = Console()
    with _client(node, network) as client:
        client.wait_for_report()
        if not console.is_terminal:
            _print_changes(client, seconds)
            return
        with Live(_table(client), console=console, refresh_per_second=4) as live:

            def redraw() -> bool:
                live.update(_table(client))
                return False

            _look_on(client, seconds, redraw)


@contextmanager
def _client(node: str, network: bool) -> Iterator[ControlClient]:
    if not network:
        os.environ.setdefault(DISCOVERY, 'LOCALHOST')  # as lsiq up does
    from lsiq_ros.control.client import ControlClient
    import rclpy

    rclpy.init(args=[])
    try:
        client = ControlClient(f'lsiq_deploy_{os.getpid()}', node.strip('/'))
        yield client
        client.destroy_node()
    finally:
        rclpy.try_shutdown()


def _change(what: str, node: str, network: bool) -> None:
    with _client(node, network) as client:
        client.patience_s = 60.0  # configure waits for the robot
        client.change(what)
        _print_status(client)


def _print_status(client: ControlClient) -> None:
    lifecycle = client.state()
    client.wait_for_report()
    for line in status_lines(client, lifecycle):
        typer.echo(line)


def status_lines(client: ControlClient, lifecycle: str) -> list[str]:
    """Return what a person wants to know of a node."""
    said, control = client.summary, client.statuses['control']
    words = dict.fromkeys([lifecycle, said['mode']])
    lines = [f'{client.target}: {", ".join(words)}{_armed(said)}']
    if control.message not in ('', said['mode']):
        lines.append(f'  {LEVELS[control.level]}: {control.message}')
    for key in ('policy', 'policy_sha256', 'robot', 'skew_ms', 'lateness_p99_us', 'realtime'):
        if said.get(key):
            lines.append(f'  {key}: {said[key]}')
    counted = [
        f'{check.value} {_count(client, check)}' for check in Check if _count(client, check)
    ]
    lines.append(f'  checks that spoke: {", ".join(counted) or "none"}')
    lines.append(f'next: {said["next"]}')
    return lines


def _armed(said: dict[str, str]) -> str:
    return ', armed' if said.get('armed') == 'True' else ''


def _count(client: ControlClient, check: Check) -> int:
    status = client.statuses.get(f'gate/{check.value}')
    values = {} if status is None else {entry.key: entry.value for entry in status.values}
    return int(values.get('count', 0))


def _look_on(client: ControlClient, seconds: float, look: Any) -> None:
    with suppress(KeyboardInterrupt):
        client.spin_for(seconds or float('inf'), look)


def _print_changes(client: ControlClient, seconds: float) -> None:
    """Print a line whenever something is new, for a pipe or a log file."""
    shown: dict[str, str] = {}

    def look() -> bool:
        for name, found in client.statuses.items():
            check = name.removeprefix('gate/')
            text = f'{LEVELS[found.level]} {found.message}'
            if name == 'control':
                text += f' ({client.summary["mode"]}{_armed(client.summary)})'
            elif Check(check) in TRIPS or found.level != b'\x00':
                text += f', {_count(client, Check(check))} times'
            if shown.get(name) != text and (name in shown or not text.startswith('ok quiet')):
                typer.echo(f'{check}: {text}')
            shown[name] = text
        return False

    _look_on(client, seconds, look)


def _table(client: ControlClient) -> Any:
    from rich.table import Table
    from rich.text import Text

    said = client.summary
    table = Table(
        title=f'{client.target}: {said.get("mode", "?")}{_armed(said)}',
        caption=f'next: {said.get("next", "")}',
    )
    for column in ('check', 'count', 'now'):
        table.add_column(column, justify='right' if column == 'count' else 'left')
    styles = {b'\x00': 'dim', b'\x01': 'yellow', b'\x02': 'bold red'}
    never = []  # checks that have not spoken share a row: a terminal has 24 lines
    for name, found in client.statuses.items():
        check = name.removeprefix('gate/')
        count = '' if name == 'control' else str(_count(client, Check(check)))
        style = styles.get(found.level, '')
        if name == 'control' and found.level == b'\x00':
            style = 'green'
        if count == '0' and found.level == b'\x00':
            never.append(check)
        else:
            table.add_row(*(Text(part, style) for part in (check, count, found.message)))
    if never:
        table.add_row(*(Text(part, 'dim') for part in ('quiet', '0', ', '.join(never))))
    return table


def check_policy(path: str, sha256: str, robot: str) -> str:
    """
    Verify a policy before a control node is started with it; return one line for people.

    :raises LsiqError: naming what is wrong and what to do next.
    """
    from lsiq_core.policy.artifact import verify
    from lsiq_core.shipped_files import find_file
    from lsiq_ros.control.compatibility import check_robot
    from lsiq_ros.gate.settings import GateSettings, limits_of
    from lsiq_ros.wire.observation import observe_raw

    if not path:
        raise LsiqError(
            'no policy was named: nothing was started. Next: lsiq export RUN --out policy.onnx, '
            'then policy:=policy.onnx'
        )
    try:
        found = verify(find_file(path), expected_sha256=sha256, observe=observe_raw).artifact
        check_robot(found, robot)
        limits_of(found.metadata, GateSettings().for_robot(found.metadata.gate))
    except LsiqError as error:
        raise LsiqError(f'{error}\nNothing was started. Next: lsiq verify {path}') from error
    return f'policy {found.sha256[:12]} of {found.metadata.robot} verified on this machine'
