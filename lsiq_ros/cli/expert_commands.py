# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
The commands around a simulated robot: train its expert, collect, look, measure.

Each function is one command; ``lsiq_ros/cli/main.py`` hangs them where they belong.
Imports that take a second stand inside, so that ``lsiq --help`` is instant.
"""

from __future__ import annotations

from pathlib import Path
import subprocess
from typing import Annotated, Any, TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from lsiq_core.robot import RobotSpec
    from sim.tracking.train import TrackerRun, Tracking

DEMOS = Path('runs/demos/walk.npz')
Robot = Annotated[
    str, typer.Option(help="The robot, by name or path; its file's tracking section counts.")
]


def expert_train(
    robot: Robot = 'atlas',
    reference: Annotated[
        Path | None,
        typer.Option(help="A recording to follow (npz); without it the gait of the robot's file."),
    ] = None,
    loop: Annotated[
        bool | None, typer.Option(help='Follow one cycle of it. Unsaid: where it repeats.')
    ] = None,
    randomise: Annotated[
        bool, typer.Option(help="Once it tracks, let worlds differ as the robot's file says.")
    ] = True,
    out: Annotated[Path, typer.Option(help='Directory for expert, curve and card.')] = Path(
        'runs/expert'
    ),
    minutes: Annotated[float, typer.Option(help='Longest training.')] = 30.0,
    seed: Annotated[int, typer.Option(help='Of everything random.')] = 0,
    threads: Annotated[int, typer.Option(help='Of the physics.', min=1)] = 2,
) -> None:
    """
    Train an expert: a controller that follows a reference in simulation, learned by PPO.

    The reference is a recording or the gait of the robot's file. It tracks when it survives 98 %
    of the reference from starts spread over it, twice in a row. Then worlds differ, as the robot's
    file says, until it survives 90 % there. Stop it with Ctrl-C; the
    same command goes on. Writes expert.onnx, the training curve, a film of reference and robot
    side by side, and a card with measured figures.
    """
    from lsiq_core.robot import load_robot
    from lsiq_ros.cli.tracker_progress import tracker_progress
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
    noise: Annotated[
        tuple[float, float],
        typer.Option(help='Action noise, drawn per episode from this range; 0 0 is clean.'),
    ] = (0.02, 0.16),
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
