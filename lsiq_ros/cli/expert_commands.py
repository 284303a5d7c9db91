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

import numpy as np
import typer

if TYPE_CHECKING:
    from lsiq_core.robot import RobotSpec
    from sim.tracking.evaluate import Evaluation

DEMOS = Path('runs/demos/walk.npz')
Robot = Annotated[
    str, typer.Option(help="The robot, by name or path; its file's tracking section counts.")
]


def expert_train(
    robot: Robot = 'atlas',
    out: Annotated[Path, typer.Option(help='Directory for expert, curve and card.')] = Path(
        'runs/expert'
    ),
    seed: Annotated[int, typer.Option(help='Of everything random.')] = 0,
    threads: Annotated[int, typer.Option(help='Of the physics.', min=1)] = 2,
    min_steps: Annotated[int, typer.Option(help='Go on until here in any case.')] = 0,
    max_steps: Annotated[int, typer.Option(help='Give up after so many steps.')] = 6_000_000,
) -> None:
    """
    Train the walking expert: a gait written as a formula, corrected by PPO.

    Stops when all 16 test rollouts walk 10 s at the robot's speed +- 0.1 m/s, twice in a row:
    minutes on two cores. Writes expert.onnx, the training curve and a card with measured figures.
    """
    from lsiq_core.robot import load_robot
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
    from sim.tracking.export import export_onnx
    from sim.tracking.report import write_card, write_curve, write_curve_json
    from sim.tracking.train import train, TrainConfig

    chosen = load_robot(robot)
    config = TrainConfig(
        seed=seed,
        threads=threads if threads > 1 else 0,
        min_steps=min_steps,
        max_steps=max_steps,
    )
    columns = (TextColumn('{task.description}'), BarColumn(), TimeElapsedColumn())
    with Progress(*columns) as progress:
        bar = progress.add_task('first steps', total=max_steps)
        trained = train(config, chosen, lambda row: _show_training(progress, bar, row))
    out.mkdir(parents=True, exist_ok=True)
    facts: dict[str, Any] = {
        'seed': seed,
        'commit': _commit(),
        'control steps': int(trained.curve[-1]['steps']),
        'minutes': round(trained.seconds / 60, 1),
        'criterion reached': trained.reached,
    }
    export_onnx(trained.policy, chosen, out / 'expert.onnx', facts=facts)
    write_curve(trained.curve, out / 'curve.png', wanted_mps=chosen.task.speed_mps)
    write_curve_json(trained.curve, out / 'curve.jsonl')
    command = f'lsiq expert train --seed {seed} --threads {threads} --min-steps {min_steps}'
    write_card(
        out / 'card.md',
        robot=chosen.name,
        command=command,
        facts=facts,
        evaluations=_measure(out / 'expert.onnx', chosen),
    )
    typer.echo(f'{out / "expert.onnx"} (criterion reached: {trained.reached})')
    if not trained.reached:
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
    keep_falls: Annotated[bool, typer.Option(help='Keep episodes that end in a fall.')] = False,
    seed: Annotated[int, typer.Option(help='Of starts and noise.')] = 0,
) -> None:
    """
    Let the expert walk and record it: states, and the actions in a file of their own.

    Noise makes the expert show how it recovers from mistakes, which a learner needs far more
    than the perfect stride. What learns from states alone never opens the actions' file.
    """
    from lsiq_core.data.demonstrations import Demonstrations
    from lsiq_core.robot import load_robot
    from lsiq_core.types import names
    from lsiq_ros.simulator.noisy_expert import load_expert
    from sim.robot import MujocoRobot
    from sim.tracking.collect import collect

    chosen = load_robot(robot)
    compiled = MujocoRobot(chosen)
    full, wanted = names(compiled.terms('full')), names(compiled.terms(observation))
    columns = [full.index(name) for name in wanted]
    who = expert or chosen.folder / 'expert/expert.onnx'
    rollouts = collect(
        load_expert(who, chosen),
        episodes=episodes,
        seconds=seconds,
        noise=noise,
        keep_falls=keep_falls,
        seed=seed,
    )
    demos = Demonstrations(
        states=np.concatenate([x.full[:, columns] for x in rollouts]).astype(np.float32),
        episode_lengths=np.array([len(x.actions) for x in rollouts]),
        terminated=np.array([x.terminated for x in rollouts]),
        actions=np.concatenate([x.actions for x in rollouts]).astype(np.float32),
        returns=np.array([x.metric.sum() for x in rollouts]),
        state_names=wanted,
        action_names=names(compiled.action_terms),
        rate_hz=chosen.control.rate_hz,
        metadata={
            'task': chosen.name,
            'observation': observation,
            'source': 'the built-in expert in simulation',
            'expert': who.name,
            'seed': seed,
            'noise': list(noise),
            'noise_of_episodes': [round(x.noise, 4) for x in rollouts],
        },
    )
    out.parent.mkdir(parents=True, exist_ok=True)
    demos.save(out, actions_apart=True)
    metric = float(np.concatenate([x.metric for x in rollouts]).mean())
    typer.echo(
        f'{out}: {demos.num_episodes} episodes, {demos.num_transitions} transitions, '
        f'metric per step {metric:.3f}'
    )


def view(
    source: Annotated[
        Path,
        typer.Argument(help='Expert or policy (.onnx) to run, or states (.npz).'),
    ] = Path('models/atlas/expert/expert.onnx'),
    robot: Annotated[
        str, typer.Option(help='By name or path; empty takes the one that the file names.')
    ] = '',
    seconds: Annotated[float, typer.Option(help='How long.')] = 10.0,
    seed: Annotated[int, typer.Option(help='Of the start; of a replay the episode.')] = 0,
    mp4: Annotated[Path | None, typer.Option(help='Write a film here instead.')] = None,
    strip: Annotated[Path | None, typer.Option(help='Also write six frames as a PNG.')] = None,
    camera: Annotated[str, typer.Option(help='corner or side.')] = 'corner',
) -> None:
    """
    Watch a robot: in a window where there is a display, as an mp4 file where there is none.

    Runs an expert or a learned policy in the simulation, or replays recorded states.
    """
    from lsiq_ros.view.robot import has_display, motion, record, show

    env, steps = motion(source, seed=seed, seconds=seconds, robot=robot)
    if mp4 is None and strip is None and has_display():
        show(env, steps)
        return
    film = mp4 or Path('runs') / f'{source.stem}.mp4'
    record(env, steps, film, strip=strip, camera=camera)
    typer.echo(f'{film}')


def _show_training(progress: Any, bar: Any, row: dict[str, float]) -> None:
    rate = row['steps'] / max(row['seconds'], 1e-9)
    text = f'{row["steps"] / 1e6:.2f} M steps, {rate:.0f}/s, reward {row["reward"]:.2f}'
    progress.update(bar, completed=row['steps'], description=text)
    if 'survived' in row:
        progress.console.print(
            f'{row["steps"] / 1e6:5.2f} M  survive {row["survived"]:4.0%}  '
            f'speed {row["speed_mps"]:.2f} m/s  metric {row["metric"]:.2f}  '
            f'{row["falls_per_s"]:.2f} falls/s  {row["seconds"] / 60:.1f} min'
        )


def _measure(expert: Path, robot: RobotSpec) -> dict[str, Evaluation]:
    """Walk the exported file in several worlds, 32 times 10 s each."""
    from lsiq_core.robot import Randomisation
    from lsiq_ros.simulator.noisy_expert import load_expert
    from sim.tracking.evaluate import evaluate

    controller = load_expert(expert, robot)
    worlds = {
        'as trained': Randomisation(),
        'friction 0.6': Randomisation(friction=(0.6, 0.6)),
        'masses 0.9 to 1.1': Randomisation(mass_scale=(0.9, 1.1)),
        'commands 2 ms late': Randomisation(delay_ms=(2, 2)),
        'commands 4 ms late': Randomisation(delay_ms=(4, 4)),
        'pushes of 100 N for 0.1 s': Randomisation(push_n=(100, 100)),
    }
    return {
        name: evaluate(
            lambda *inputs: controller.torque(*inputs)[0],
            robot,
            seed=1000,
            rollouts=32,
            randomisation=randomisation,
        )
        for name, randomisation in worlds.items()
    }


def _commit() -> str:
    try:
        command = ['git', 'rev-parse', '--short', 'HEAD']
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return 'unknown'
