# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
The commands around the policy file: export and verify.

Each function is one command; ``lsiq_ros/cli/main.py`` hangs them where they belong.
Imports that take a second stand inside, so that ``lsiq --help`` is instant.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, TYPE_CHECKING

from lsiq_core.errors import ConfigError, LsiqError
import typer

if TYPE_CHECKING:
    from lsiq_core.policy.artifact import Verification

JSON = typer.Option('--json', help='Print one JSON object as the last line.')


def export(
    run: Annotated[Path, typer.Argument(help='Run directory or checkpoint file.')],
    out: Annotated[Path, typer.Option(help='The policy file to write.')] = Path('policy.onnx'),
    demos: Annotated[
        str | None,
        typer.Option(help='Demonstrations of the run, if they do not lie where they did.'),
    ] = None,
    robot: Annotated[
        str | None, typer.Option(help='Path of its robot, if it does not lie where it did.')
    ] = None,
) -> None:
    """
    Write a trained policy as one ONNX file, and verify it.

    Normaliser, network and scaling are inside: raw SI state in, N m out. A policy of PD targets
    answers rad; nominal pose and gains are in the file.

        lsiq export runs/walk --out policy.onnx
    """
    from lsiq_core.policy.artifact import card
    from lsiq_ros.runs.export import export_run

    typer.echo(card(export_run(run, out, demos, robot, log=typer.echo)))
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
    from lsiq_core.policy.stress import beside
    from lsiq_core.shipped_files import find_file
    from lsiq_ros.wire.observation import observe_raw

    try:
        found = verify_policy(find_file(str(policy)), expected_sha256=sha256, observe=observe_raw)
    except LsiqError as error:
        raise LsiqError(f'refused: {error}') from error
    typer.echo(card(found))
    typer.echo('\n' + '\n'.join(beside(found.artifact.source, found.artifact.sha256)))
    typer.echo(f'\nverdict: {_verdict(found)}')
    if json_:
        about = {'policy': str(policy), 'sha256': found.artifact.sha256}
        errors = {'action_error': found.action_error, 'observation_error': found.observation_error}
        typer.echo(json.dumps({**about, **errors}))


def _verdict(found: Verification) -> str:
    """Return one line: whether the policy answers as it did, and whether a robot may use it."""
    from lsiq_ros.gate.settings import GateSettings, limits_of

    metadata = found.artifact.metadata
    sound = f'sound on this machine, {len(metadata.golden)} golden traces replayed'
    try:
        limits_of(metadata, GateSettings().for_robot(metadata.gate))
    except ConfigError as error:
        return f'{sound}, but not for a robot: {error}'
    return f'{sound}; made for {metadata.robot}, {len(metadata.joints)} joints'
