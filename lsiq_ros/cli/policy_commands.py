# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
The commands around the policy file: export, verify, and how fast it answers.

Each function is one command; ``lsiq_ros/cli/main.py`` hangs them where they belong.
Imports that take a second stand inside, so that ``lsiq --help`` is instant.
"""

from __future__ import annotations

from dataclasses import asdict
import json
from pathlib import Path
from typing import Annotated, Optional, TYPE_CHECKING

from lsiq_core.errors import ConfigError, LsiqError
import typer

if TYPE_CHECKING:
    from lsiq_core.policy.artifact import Verification

RATES = '100,500,1000'
JSON = typer.Option('--json', help='Print one JSON object as the last line.')


def export(
    run: Annotated[Path, typer.Argument(help='Run directory or checkpoint file.')],
    out: Annotated[Path, typer.Option(help='The policy file to write.')] = Path('policy.onnx'),
    demos: Annotated[
        Optional[str],
        typer.Option(help='Demonstrations of the run, if they do not lie where they did.'),
    ] = None,
) -> None:
    """
    Write a trained policy as one self-describing ONNX file, and verify it.

    Normaliser, network and torque scaling are inside: raw SI state in, N m out.

        lsiq export runs/atlas --out policy.onnx
    """
    from lsiq_core.policy.artifact import card
    from lsiq_ros.runs.export import export_run

    typer.echo(card(export_run(run, out, demos, log=typer.echo)))
    typer.echo(f"wrote {out}; next: lsiq verify {out}, on the robot's computer")


def verify(
    policy: Annotated[Path, typer.Argument(help='The policy file.')],
    sha256: Annotated[str, typer.Option(help='Refuse any other policy than this one.')] = '',
    json_: Annotated[bool, JSON] = False,
) -> None:
    """
    Check a policy file on this machine and print its card. Needs no torch.

    Size, hash, structure and metadata, then the golden traces: raw readings to observation
    to torques, as the robot would compute them here. Exits with 2 if anything is wrong.
    """
    from lsiq_core.policy.artifact import card
    from lsiq_core.policy.artifact import verify as verify_policy
    from lsiq_ros.wire.observation import observe_raw

    try:
        found = verify_policy(policy, expected_sha256=sha256, observe=observe_raw)
    except LsiqError as error:
        raise LsiqError(f'refused: {error}') from error
    typer.echo(card(found))
    typer.echo(f'\nverdict: {_verdict(found)}')
    if json_:
        about = {'policy': str(policy), 'sha256': found.artifact.sha256}
        errors = {
            'action_error': found.action_error,
            'observation_error': found.observation_error,
        }
        typer.echo(json.dumps({**about, **errors}))


def _verdict(found: Verification) -> str:
    """Return one line: whether the policy answers as it did, and whether a robot may use it."""
    from lsiq_ros.gate.settings import GateSettings, limits_of

    metadata = found.artifact.metadata
    sound = f'sound on this machine, {len(metadata.golden)} golden traces replayed'
    try:
        limits_of(metadata, GateSettings())
    except ConfigError as error:
        return f'{sound}, but not for a robot: {error}'
    return f'{sound}; made for {metadata.robot}, {len(metadata.joints)} joints'


def bench_policy(
    policy: Annotated[Path, typer.Argument(help='The policy file.')],
    calls: Annotated[int, typer.Option(help='Of each kind.', min=100)] = 20_000,
    json_: Annotated[bool, JSON] = False,
) -> None:
    """Measure inference alone, and gate and inference together, in microseconds."""
    from lsiq_core.policy.artifact import verify as verify_policy
    from lsiq_ros.benchmarks.policy import bench_policy as measure

    found = verify_policy(policy)
    results = measure(found.policy, calls)
    for name, timing in results.items():
        typer.echo(f'{name:<20} {timing.line()}')
    if json_:
        typer.echo(json.dumps({name: asdict(timing) for name, timing in results.items()}))


def bench_control_loop(
    policy: Annotated[Path, typer.Argument(help='The policy file.')],
    rates: Annotated[str, typer.Option(help='Rates in Hz, separated by commas.')] = RATES,
    seconds: Annotated[float, typer.Option(help='Of each rate.', min=1)] = 10.0,
    realtime_priority: Annotated[
        int, typer.Option(help='SCHED_FIFO of this loop and of the bare one.', min=0, max=99)
    ] = 0,
    json_: Annotated[bool, JSON] = False,
) -> None:
    """
    Measure the control loop over real topics, beside a bare sleep-until loop.

    A robot in another process publishes states at the rate; the loop answers each of them
    through policy and gate. The bare loop runs at the same time in a third process.
    """
    from lsiq_core.policy.artifact import verify as verify_policy
    from lsiq_ros.benchmarks.loop import bench_loop

    found = verify_policy(policy)
    try:
        wanted = [float(rate) for rate in rates.split(',')]
    except ValueError:
        raise ConfigError(f'--rates {rates}: expected numbers separated by commas') from None
    report = {}
    for rate_hz in wanted:
        result = bench_loop(found.policy, rate_hz, seconds, realtime_priority)
        report[f'{rate_hz:g}'] = result.as_dict()
        typer.echo(result.text())
    if json_:
        typer.echo(json.dumps(report))
