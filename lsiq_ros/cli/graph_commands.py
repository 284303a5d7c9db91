# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""``lsiq up`` and ``demo``: start a graph of nodes, and let the shipped policy walk in one."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
import os
from pathlib import Path
import shlex
from typing import Annotated

from lsiq_core.errors import LsiqError
from lsiq_core.shipped_files import find_file
from lsiq_ros.cli.deploy_commands import check_policy
from lsiq_ros.control.episode_log import EpisodeReport, read_report
from lsiq_ros.graph.catalogue import DEPLOY_SIM, find_graph, GRAPHS, SHIPPED_POLICY
from lsiq_ros.graph.model import assignments, Graph
from lsiq_ros.graph.processes import command_line, environment, run_graph
import typer

TOO_SLOW = 3  # the exit code of a walk that failed on a machine that did not keep up
_SLOW = 0.9  # share of the time asked for
TOO_BUSY = (
    'If this machine is busy, commands came too late: try --realtime-priority 10 (as root), or '
    '--real-time-factor 0.25.'
)


def up(
    name: Annotated[
        str | None, typer.Argument(help='Which graph; without it, all are listed.')
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Argument(help='Arguments of the graph: name:=value.')
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
    ending = run_graph(nodes, environment(local=graph.local and not network))
    if ending.code:
        raise typer.Exit(1)


def _describe(graph: Graph) -> None:
    print(f'{graph.name}: {graph.description}')
    for argument in graph.arguments:
        choices = f' {list(argument.choices)}' if argument.choices else ''
        print(f'  {f"{argument.name}:={argument.default!r}":<28} {argument.description}{choices}')


def demo(
    policy: Annotated[
        str, typer.Option(help='An .onnx file that lsiq export wrote.')
    ] = SHIPPED_POLICY,
    seconds: Annotated[float, typer.Option(help='How long to walk, simulated.', min=1)] = 60.0,
    out: Annotated[Path, typer.Option(help='Directory for film, states and report.')] = Path(
        'runs/demo'
    ),
    film_seconds: Annotated[
        float, typer.Option(help='How much of the end to film; without a GPU 5 s a second.', min=0)
    ] = 20.0,
    real_time_factor: Annotated[
        float, typer.Option(help='Simulated seconds per real one; less on a busy machine.')
    ] = 1.0,
    delay_ms: Annotated[float, typer.Option(help='Until a torque command acts.', min=0)] = 0.0,
    seed: Annotated[int, typer.Option(help='Of the start.')] = 0,
    realtime_priority: Annotated[
        int, typer.Option(help='SCHED_RR of all nodes, needs rtprio; 0 for none.', min=0, max=99)
    ] = 0,
) -> None:
    """
    Deploy a policy on the simulated robot, and film it.

    Three processes, real topics, the gate between.
    Ends with a film and one line: seconds walked, falls, gate trips, real-time factor.
    Exits with 1 after a fall or a trip, with 3 if the machine was too slow for it, too.

        lsiq demo --seconds 60
    """
    with share_of_time(realtime_priority):
        report = walk(find_file(policy), out, seconds, real_time_factor, seed, delay_ms)
    if film_seconds and report.seconds:
        film = film_end(out / 'walk.npz', out / 'walk.mp4', report.seconds, film_seconds)
        typer.echo(f'film: {film}')
    typer.echo(f'demo: {report.line()}')
    slow = report.real_time_factor < _SLOW * real_time_factor
    if slow:
        typer.echo(
            f'the machine is too slow: it kept {report.real_time_factor:.2f} simulated seconds '
            f'per real one, {real_time_factor:g} were asked for'
        )
    if not report.succeeded:
        typer.echo(TOO_BUSY)
        raise typer.Exit(TOO_SLOW if slow else 1)


@contextmanager
def share_of_time(priority: int) -> Iterator[None]:
    """
    Put all processes that are started meanwhile before those of others.

    In turns (SCHED_RR), since simulator and controller may share a core.
    """
    if not priority:
        yield
        return
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(priority))
    except OSError as error:
        raise LsiqError(f'--realtime-priority {priority}: {error.strerror}') from error
    try:
        yield
    finally:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


def walk(
    policy: Path,
    out: Path,
    seconds: float,
    real_time_factor: float,
    seed: int,
    delay_ms: float = 0.0,
) -> EpisodeReport:
    """Run the graph to its end and return what the operator saw."""
    report = out / 'report.json'
    report.unlink(missing_ok=True)
    given = {
        'policy': policy,
        'seconds': seconds,
        'report': report,
        'states': out / 'walk.npz',
        'real_time_factor': real_time_factor,
        'delay_ms': delay_ms,
        'seed': seed,
    }
    ending = run_graph(
        DEPLOY_SIM.resolve({name: str(value) for name, value in given.items()}),
        environment(local=DEPLOY_SIM.local),
    )
    if not report.is_file():
        raise LsiqError(f'no walk: {ending.text}')
    return read_report(report)


def film_end(states: Path, film: Path, walked_s: float, film_s: float) -> Path:
    """Film the last seconds of a walk from its states."""
    from lsiq_ros.view.robot import motion, record

    env, steps = motion(states, seed=0, seconds=walked_s + 1)
    skipped = round(max(0.0, walked_s - film_s) * env.rate_hz)
    record(env, islice(steps, skipped, None), film, strip=None, camera='corner')
    return film
