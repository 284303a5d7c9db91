# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""``lsiq stress``: what a policy survives."""

from __future__ import annotations

from dataclasses import asdict
import json
from pathlib import Path
from typing import Annotated, Optional

import typer


def stress(
    policy: Annotated[Path, typer.Argument(help='Policy file, checkpoint or run.')],
    robot: Annotated[
        str, typer.Option(help='By name or file. Default: the one that the policy was made for.')
    ] = '',
    out: Annotated[
        Optional[Path], typer.Option(help='Directory of stress.json and .html. Default: beside.')
    ] = None,
    quick: Annotated[bool, typer.Option('--quick', help='Not where it breaks.')] = False,
    stochastic: Annotated[
        bool, typer.Option('--stochastic', help='Sample actions; needs the run or checkpoint.')
    ] = False,
    episodes: Annotated[int, typer.Option(help='Of each row.', min=1)] = 20,
    seconds: Annotated[float, typer.Option(help='Of each episode.', min=0.1)] = 10.0,
    seed: Annotated[Optional[int], typer.Option(help='Of starts, worlds and noise.')] = None,
    processes: Annotated[int, typer.Option(help='At once; 0: one on each core.', min=0)] = 0,
    json_: Annotated[
        bool, typer.Option('--json', help='Print one JSON object as the last line.')
    ] = False,
) -> None:
    """
    Measure what a policy survives, and where it breaks.

    Noise, delay, pushes, other masses: each disturbance by itself, all at half size, then how
    far each can go until fewer than 9 of 10 episodes survive. In process, on all cores.

        lsiq stress models/atlas/walk/policy.onnx
    """
    from lsiq_core.policy.stress import FILE, write
    from lsiq_core.report.stress import write_page
    from lsiq_core.shipped_files import find_file
    from lsiq_ros.stress.measure import measure, SEED
    from lsiq_ros.stress.walks import Subject

    found = find_file(str(policy))
    measured = measure(
        Subject(found, robot, stochastic),
        quick=quick,
        episodes=episodes,
        seconds=seconds,
        seed=SEED if seed is None else seed,
        processes=processes,
        progress=typer.echo,
    )
    folder = out or (found if found.is_dir() else found.parent)
    folder.mkdir(parents=True, exist_ok=True)
    write(measured, folder / FILE)
    page = write_page(measured, folder / 'stress.html')
    typer.echo(f'{measured.minutes:.1f} min; wrote {folder / FILE} and {page}')
    if json_:
        typer.echo(json.dumps(asdict(measured)))
