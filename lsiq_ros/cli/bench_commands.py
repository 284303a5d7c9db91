# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""``lsiq bench``: speed beside a reference."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Optional

from lsiq_ros.cli.policy_commands import bench_control_loop
import typer

Json = Annotated[bool, typer.Option('--json', help='Print one JSON object as the last line.')]


def learner(
    rounds: Annotated[int, typer.Option(help='How often update and reference take turns.')] = 15,
    json_: Json = False,
) -> None:
    """
    Time one LS-IQ update at the size of Atlas beside the machine's matrix products.

    One thread, CPU time, medians. The ratio says how many times longer the update takes than
    its matrix products alone would at full speed. A first run compiles for about a minute.
    """
    from lsiq_ros.benchmarks.learner_update import bench_learner

    figures = bench_learner(rounds=rounds)
    for name, value in figures.items():
        typer.echo(f'{name:>28}  {value if isinstance(value, str) else format(value, ".3g")}')
    if json_:
        typer.echo(json.dumps(figures))


def loop(
    policy: Annotated[
        Optional[Path], typer.Argument(help='A policy file: measure its control loop instead.')
    ] = None,
    exchanges: Annotated[int, typer.Option(help='Lock-step exchanges to time.', min=100)] = 5000,
    json_: Json = False,
) -> None:
    """
    Measure lock-step over topics: exchanges per second, and what they cost a training step.

    The training is timed over topics and in process in turns; the ratio of medians counts.
    With a policy file this is ``lsiq bench control-loop``: the loop that drives a robot.
    """
    if policy is not None:
        bench_control_loop(policy, json_=json_)
        return
    from lsiq_ros.benchmarks.lockstep import ATLAS, lockstep_rate, ROBOTS, STILL
    from lsiq_ros.benchmarks.training import training_cost

    still, atlas = lockstep_rate(STILL, exchanges), lockstep_rate(ATLAS, exchanges)
    many = lockstep_rate(STILL, exchanges, ROBOTS)
    cost = training_cost()
    figures = {
        **{f'exchange_{name}': value for name, value in still._asdict().items()},
        **{f'robots_{name}': value for name, value in many._asdict().items()},
        **{f'atlas_{name}': value for name, value in atlas._asdict().items()},
        **{f'training_{name}': value for name, value in cost._asdict().items()},
    }
    for name, value in figures.items():
        typer.echo(f'{name:>32}  {value if isinstance(value, str) else format(value, ".4g")}')
    if json_:
        typer.echo(json.dumps(figures))
