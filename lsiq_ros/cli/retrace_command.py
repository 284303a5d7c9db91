# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""``lsiq demos retrace``: from a recording to demonstrations that the robot can do."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def retrace(
    recording: Annotated[
        Path,
        typer.Argument(help='Recorded states: imported (npz), a bag, or an npz of raw states.'),
    ],
    robot: Annotated[str, typer.Option(help='The robot, by name or path.')] = 'atlas',
    out: Annotated[
        Path, typer.Option(help='Demonstrations to write; the tracker goes into a folder beside.')
    ] = Path('runs/demos/retraced.npz'),
    smooth: Annotated[bool, typer.Option(help='Smooth the recording first.')] = True,
    take: Annotated[str, typer.Option(help='Episodes of the recording: 0,2,3. All.')] = '',
    from_s: Annotated[float, typer.Option(help='Cut what is before, in each episode.')] = 0.0,
    to_s: Annotated[float | None, typer.Option(help='Cut what comes after.')] = None,
    mirror: Annotated[
        bool | None,
        typer.Option(help='Add the mirror image, left for right. Unsaid: of a symmetric loop.'),
    ] = None,
    loop: Annotated[
        bool | None, typer.Option(help='Follow one cycle of it. Unsaid: where it repeats.')
    ] = None,
    speed: Annotated[float | None, typer.Option(help='Play a loop at this speed, m/s.')] = None,
    episodes: Annotated[int, typer.Option(help='Demonstrations to collect.', min=1)] = 60,
    seconds: Annotated[float, typer.Option(help='Longest demonstration.')] = 10.0,
    noise: Annotated[
        tuple[float, float],
        typer.Option(help='Action noise, drawn per episode from this range; 0 0 is clean.'),
    ] = (0.02, 0.3),
    randomise: Annotated[
        bool, typer.Option(help="Once it tracks, let worlds differ as the robot's file says.")
    ] = True,
    minutes: Annotated[float, typer.Option(help='Longest training of the tracker.')] = 30.0,
    threads: Annotated[int, typer.Option(help='Of the physics.', min=1)] = 2,
    seed: Annotated[int, typer.Option(help='Of everything random.')] = 0,
) -> None:
    """
    Turn a recording into feasible demonstrations.

    A recorded state is noisy, or was made by another controller or body. A tracker learns to
    follow the recording in simulation (PPO); what it then does is collected, with action noise.
    Stop it with Ctrl-C; the same command goes on. The states go to --out, the tracker's torques
    into a file beside it.
    """
    from lsiq_core.errors import ConfigError, TaskError
    from lsiq_core.robot import load_robot
    from lsiq_ros.cli.tracker_progress import tracker_progress
    from lsiq_ros.runs.recording import open_recording, Preparation
    from lsiq_ros.runs.retrace import retrace as run
    from lsiq_ros.runs.retrace import RetraceConfig, worlds_of
    from sim.tracking.collect import CollectConfig
    from sim.tracking.train import TrackerConfig

    if take and not all(number.strip().isdigit() for number in take.split(',')):
        raise ConfigError(f'--take {take!r}: numbers of episodes with commas between, as 0,2,3')
    chosen = tuple(int(number) for number in take.split(',')) if take else ()
    spec = load_robot(robot)
    config = RetraceConfig(
        Preparation(smooth, chosen, from_s, to_s, mirror, loop, speed),
        tracker=TrackerConfig(
            seed=seed,
            max_minutes=minutes,
            threads=threads,
            randomisation=worlds_of(spec, randomise),
        ),
        collect=CollectConfig(episodes=episodes, seconds=seconds, noise=noise, seed=seed),
    )
    with tracker_progress(minutes) as listener:
        try:
            shown = open_recording(recording, spec, listener.log)
            demos = run(shown, spec, out.with_suffix(''), config, listener)
        except (RuntimeError, ValueError) as error:
            raise TaskError(f'{recording}: {error}') from error
    if demos is None:
        raise typer.Exit(1)
    out.parent.mkdir(parents=True, exist_ok=True)
    demos.save(out, actions_apart=True)
    typer.echo(f'{out}: {demos.num_episodes} episodes, {demos.num_transitions} transitions')
