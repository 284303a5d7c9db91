# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
The commands around a simulated expert: train it, collect, retrace a recording.

Each function is one command; ``lsiq_ros/cli/main.py`` hangs them where they belong.
Imports that take a second stand inside, so that ``lsiq --help`` is instant.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
import signal
import subprocess
from typing import Annotated, Any, TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from lsiq_core.robot import RobotSpec
    from lsiq_ros.runs.retrace import Listener
    from sim.tracking.train import TrackerRun, Tracking

DEMOS = Path('runs/demos/walk.npz')
Robot = Annotated[
    str, typer.Option(help="The robot, by name or path; its file's tracking section counts.")
]
Noise = Annotated[
    tuple[float, float],
    typer.Option(help='Action noise, drawn per episode from this range; 0 0 is clean.'),
]
Loop = Annotated[
    bool | None, typer.Option(help='Follow one cycle of it. Unsaid: where it repeats.')
]
Randomise = Annotated[
    bool, typer.Option(help="Once it tracks, let worlds differ as the robot's file says.")
]
Seed = Annotated[int, typer.Option(help='Of everything random.')]
Threads = Annotated[int, typer.Option(help='Of the physics.', min=1)]


def expert_train(
    robot: Robot = 'atlas',
    reference: Annotated[
        Path | None,
        typer.Option(help="A recording to follow (npz); without it the gait of the robot's file."),
    ] = None,
    loop: Loop = None,
    randomise: Randomise = True,
    out: Annotated[Path, typer.Option(help='Directory for expert, curve and card.')] = Path(
        'runs/expert'
    ),
    minutes: Annotated[float, typer.Option(help='Longest training.')] = 30.0,
    all_minutes: Annotated[
        bool, typer.Option(help='Go on after it tracks: it learns to bear more.')
    ] = False,
    seed: Seed = 0,
    threads: Threads = 2,
) -> None:
    """
    Train an expert: a controller that follows a reference in simulation, learned by PPO.

    The reference is a recording or the gait of the robot's file. It tracks when it survives 98 %
    of the reference from starts spread over it, twice in a row. Then worlds differ, as the robot's
    file says, for as many steps again and until it survives 90 % there. Stop it with Ctrl-C; the
    same command goes on. Writes expert.onnx, the training curve, a film of reference and robot
    side by side, and a card with measured figures.
    """
    from lsiq_core.robot import load_robot
    from lsiq_ros.runs.recording import open_recording, Preparation
    from lsiq_ros.runs.retrace import (
        own_reference,
        reference_of,
        RetraceConfig,
        train_tracker,
        worlds_of,
    )
    from sim.tracking.export import export_onnx
    from sim.tracking.report import write_card, write_curve, write_curve_json
    from sim.tracking.train import TrackerConfig

    chosen = load_robot(robot)
    config = TrackerConfig(
        seed=seed,
        max_minutes=minutes,
        all_minutes=all_minutes,
        threads=threads,
        randomisation=worlds_of(chosen, randomise),
    )
    with tracker_progress(minutes) as listener:
        followed = (
            own_reference(chosen)
            if reference is None
            else reference_of(
                open_recording(reference, chosen, listener.log),
                chosen,
                RetraceConfig(Preparation(loop=loop)),
                listener.log,
            )
        )
        run = train_tracker(chosen, followed, out, config, listener)
    if run is None:
        raise typer.Exit(1)
    facts: dict[str, Any] = {
        'reference': 'the gait of the file of the robot' if reference is None else reference.name,
        'seed': seed,
        'commit': _commit(),
        'control steps': run.steps,
        'minutes': round(run.seconds / 60, 1),
        'it tracks': run.follows,
    }
    export_onnx(run.learner.policy, chosen, run.reference, out / 'expert.onnx', facts=facts)
    _film(run, chosen, out / 'film.mp4')
    write_curve(run.curve, out / 'curve.png')
    write_curve_json(run.curve, out / 'curve.jsonl')
    given = '' if reference is None else f' --reference {reference.name}'
    if loop is not None:
        given += ' --loop' if loop else ' --no-loop'
    write_card(
        out / 'card.md',
        robot=chosen.name,
        command=f'lsiq expert train --robot {chosen.name}{given} --seed {seed}',
        facts=facts,
        tracking=_measure(out / 'expert.onnx', chosen),
    )
    typer.echo(f'{out / "expert.onnx"} (it tracks: {run.follows})')
    if not run.follows:
        raise typer.Exit(1)


def demos_collect(
    robot: Robot = 'atlas',
    episodes: Annotated[int, typer.Option(help='How many to keep.', min=1)] = 100,
    out: Annotated[Path, typer.Option(help='The states; actions go into a file beside.')] = DEMOS,
    expert: Annotated[Path | None, typer.Option(help="Who walks; the robot's own expert.")] = None,
    seconds: Annotated[float, typer.Option(help='Length of an episode.')] = 10.0,
    noise: Noise = (0.02, 0.16),
    observation: Annotated[
        str, typer.Option(help='Terms by name: kinematic, full, paper.')
    ] = 'full',
    seed: Annotated[int, typer.Option(help='Of starts and noise.')] = 0,
    randomise: Annotated[
        bool, typer.Option(help="Let worlds differ as the robot's file says.")
    ] = False,
) -> None:
    """
    Let an expert walk and record it: states, and the actions in a file of their own.

    Noise makes the expert show how it recovers from mistakes, which a learner needs far more
    than the perfect stride. What learns from states alone never opens the actions' file.
    """
    from lsiq_core.robot import load_robot
    from lsiq_ros.runs.retrace import collected
    from lsiq_ros.simulator.noisy_expert import load_expert
    from sim.tracking.collect import CollectConfig

    chosen = load_robot(robot)
    who = expert or chosen.folder / 'expert/expert.onnx'
    controller = load_expert(who, chosen)
    config = CollectConfig(
        episodes=episodes,
        seconds=seconds,
        noise=noise,
        seed=seed,
        parallel=min(32, episodes),
        randomisation=chosen.randomisation if randomise else None,
    )
    facts = {
        'source': 'an expert in simulation' + ' in worlds that differ' * randomise,
        'expert': who.name,
    }
    demos = collected(
        controller.answer,
        chosen,
        controller.reference,
        config,
        facts,
        observation=observation,
        log=typer.echo,
    )
    out.parent.mkdir(parents=True, exist_ok=True)
    demos.save(out, actions_apart=True)
    assert demos.returns is not None
    typer.echo(
        f'{out}: {demos.num_episodes} episodes, {demos.num_transitions} transitions, '
        f'metric per step {demos.returns.sum() / demos.num_transitions:.3f}'
    )


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
    loop: Loop = None,
    speed: Annotated[float | None, typer.Option(help='Play a loop at this speed, m/s.')] = None,
    episodes: Annotated[int, typer.Option(help='Demonstrations to collect.', min=1)] = 60,
    seconds: Annotated[float, typer.Option(help='Longest demonstration.')] = 10.0,
    noise: Noise = (0.02, 0.3),
    randomise: Randomise = True,
    minutes: Annotated[float, typer.Option(help='Longest training of the tracker.')] = 30.0,
    threads: Threads = 2,
    seed: Seed = 0,
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


@contextmanager
def tracker_progress(minutes: float) -> Iterator[Listener]:
    """Show a bar and one line for each evaluation; Ctrl-C stops the training in good order."""
    from lsiq_ros.runs.driver import noted
    from lsiq_ros.runs.retrace import evaluated, Lines, Listener
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn('{task.description}'), BarColumn(), TimeElapsedColumn())
    with Progress(*columns) as progress, noted(signal.SIGINT, signal.SIGTERM) as signals:
        bar = progress.add_task('tracker', total=minutes)
        lines = Lines(progress.console.print)

        def show(row: dict[str, float]) -> None:
            if not progress.console.is_terminal:  # into a file: no bar, but a line each minute
                lines(row)
                return
            text = f'{row["steps"] / 1e6:.2f} M steps, reward {row["reward"]:.2f}'
            progress.update(bar, completed=row['minutes'], description=text)
            if said := evaluated(row):
                progress.console.print(said)

        yield Listener(progress.console.print, show, lambda: bool(signals))


def _film(run: TrackerRun, robot: RobotSpec, path: Path) -> None:
    """Film reference and robot side by side, where pictures can be made."""
    from sim.render import RenderingUnavailable
    from sim.tracking.film import write_film
    from sim.tracking.train import answers

    try:
        write_film(answers(run.learner.policy), robot, run.reference, path)
    except RenderingUnavailable as error:
        typer.echo(f'no film: {error}')


def _measure(expert: Path, robot: RobotSpec) -> dict[str, Tracking]:
    """Let the exported file follow its reference in several worlds."""
    from lsiq_core.robot import Randomisation
    from lsiq_ros.simulator.noisy_expert import load_expert
    from sim.tracking.train import evaluate

    controller = load_expert(expert, robot)
    worlds = {
        'as trained': Randomisation(),
        'friction 0.6': Randomisation(friction=(0.6, 0.6)),
        'masses 0.9 to 1.1': Randomisation(mass_scale=(0.9, 1.1)),
        'commands 4 ms late': Randomisation(delay_ms=(4, 4)),
    }
    return {
        name: evaluate(controller.answer, robot, controller.reference, randomisation=world)
        for name, world in worlds.items()
    }


def _commit() -> str:
    try:
        command = ['git', 'rev-parse', '--short', 'HEAD']
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return 'unknown'
