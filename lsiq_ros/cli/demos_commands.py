# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""``lsiq demos``: look at demonstrations."""

import json
from pathlib import Path
from typing import Annotated, Any

from lsiq_core.data.demonstrations import Demonstrations
from lsiq_core.errors import ConfigError
from lsiq_ros.cli.bag_commands import (
    Json,
    Names,
    Observation,
    recorded_robot,
    refuse_taken,
    Robot,
    say_demonstrations,
    split,
    states_of,
    wanted_of,
)
from lsiq_ros.runs.tasks import built_in_demos, load_demos
import numpy as np
import typer


def info(
    demos: Annotated[str, typer.Argument(help='An npz file, or minari:DATASET-ID.')],
    json_: Json = False,
) -> None:
    """
    Check a demonstration file and say what it holds.

        lsiq demos info hopper.npz
    """
    loaded = load_demos(demos, task='')
    facts = describe(loaded)
    for name, value in facts.items():
        shown = ', '.join(f'{one:.2f}' for one in value) if isinstance(value, list) else value
        typer.echo(f'{name:>18}  {shown}')
    for index, name in enumerate(loaded.state_names):
        column = loaded.states[:, index]
        typer.echo(f'{name:>32}  {column.min():10.3f} to {column.max():10.3f}')
    if json_:
        typer.echo(json.dumps(facts))


def describe(demos: Demonstrations) -> dict[str, Any]:
    """Return the facts about demonstrations by name."""
    facts: dict[str, Any] = {
        'source': demos.source,
        'episodes': demos.num_episodes,
        'transitions': demos.num_transitions,
        'state_dim': int(demos.states.shape[1]),
        'action_dim': None if demos.actions is None else int(demos.actions.shape[1]),
        'has_actions': demos.actions is not None,
        'terminated': int(np.sum(demos.terminated)),
        'shortest': int(demos.episode_lengths.min()),
        'longest': int(demos.episode_lengths.max()),
        'return_mean': None if demos.returns is None else float(demos.returns.mean()),
        'return_std': None if demos.returns is None else float(demos.returns.std()),
        'rate_hz': demos.rate_hz,
        'duration_s': demos.num_transitions / demos.rate_hz if demos.rate_hz else None,
        'episodes_s': (demos.episode_lengths / demos.rate_hz).tolist() if demos.rate_hz else None,
        'task': demos.metadata.get('task'),
        'sha256': demos.sha256,
    }
    return facts


def plot(
    recording: Annotated[Path, typer.Argument(help='A bag, or an npz file.')],
    out: Annotated[Path, typer.Option(help='The PNG file to write.')],
    robot: Robot = '',
    observation: Observation = 'kinematic',
    joints: Names = '',
    episode: Annotated[int | None, typer.Option(help='Of an npz file; all if left out.')] = None,
    from_s: Annotated[float, typer.Option(help='Where the picture begins.')] = 0.0,
    to_s: Annotated[float | None, typer.Option(help='Where it ends; at the end.')] = None,
) -> None:
    """
    Draw positions, velocities, base and findings of a recording over time.

        lsiq demos plot bags/expert_DATE --robot ROBOT --out walk.png
    """
    from lsiq_core.data.npz_reading import open_npz
    from lsiq_ros.bags.npz_samples import is_recording
    from lsiq_ros.bags.plot import curves_of_bag, curves_of_demonstrations, draw

    if recording.suffix == '.npz' and not is_recording(open_npz(recording, ConfigError)):
        loaded = load_demos(str(recording), task='')
        if episode is not None and not 0 <= episode < loaded.num_episodes:
            raise ConfigError(f'--episode {episode}: {recording} has {loaded.num_episodes}')
        curves = curves_of_demonstrations(loaded, episode)
    else:
        recorded = recorded_robot(robot, observation, split(joints))
        samples = states_of(recording, recorded.spec)
        curves = curves_of_bag(samples, wanted_of(recorded, split(joints)))
    end_s = max(float(times.max()) for times, _ in curves.channels.values())
    draw(curves, out, (from_s, to_s or end_s))
    typer.echo(f'{out}: {curves.title}')
    for finding in curves.findings:
        typer.echo(f'{finding.severity}: {finding.where}: {finding.message}')


def merge(
    demos: Annotated[list[Path], typer.Argument(help='npz files of the same terms and rate.')],
    out: Annotated[Path, typer.Option(help='The npz file to write; must not exist.')],
) -> None:
    """
    Put the episodes of several files into one.

        lsiq demos merge monday.npz tuesday.npz --out week.npz
    """
    from lsiq_core.data import demonstrations
    from lsiq_ros.bags.importer import merge as merged

    refuse_taken(out)
    whole = merged([demonstrations.load(path) for path in demos])
    whole.save(out, actions_apart=True)
    say_demonstrations(out, whole)


def noise(
    demos: Annotated[Path, typer.Argument(help='An npz file of demonstrations.')],
    out: Annotated[Path, typer.Option(help='The npz file to write; must not exist.')],
    position: Annotated[float, typer.Option(help='Of angles and heights, rad or m.')] = 0.002,
    velocity: Annotated[float, typer.Option(help='Of velocities, rad/s or m/s.')] = 0.05,
    force: Annotated[float, typer.Option(help='Of forces, N.')] = 10.0,
    episodes: Annotated[int | None, typer.Option(help='Only the first so many.', min=1)] = None,
    seed: Annotated[int, typer.Option(help='Of the noise.')] = 0,
) -> None:
    """
    Add white noise to states, as sensors would; actions are left out.

        lsiq demos noise walk.npz --out noisy.npz --position 0.01 --velocity 0.5 --force 30
    """
    from dataclasses import replace

    from lsiq_core.data import demonstrations

    refuse_taken(out)
    clean = demonstrations.load(demos, with_actions=False)
    if not clean.state_names:
        raise ConfigError(f'{demos}: its states have no names, so no noise fits them')
    clean = clean if episodes is None else clean.first(episodes)
    sizes = [_noise_of(name, position, velocity, force) for name in clean.state_names]
    drawn = np.random.default_rng(seed).standard_normal(clean.states.shape) * sizes
    about = {'noise_position': position, 'noise_velocity': velocity, 'noise_force': force}
    noisy = replace(
        clean,
        states=(clean.states + drawn).astype(np.float32),
        observed=None,
        returns=None,
        metadata=clean.metadata | about | {'noise_seed': seed},
    )
    noisy.save(out)
    say_demonstrations(out, noisy)


def _noise_of(name: str, position: float, velocity: float, force: float) -> float:
    if '/force' in name:
        return force
    return velocity if 'velocity' in name or name.endswith('_rate') else position


def point_mass(
    out: Annotated[Path, typer.Argument(help='The npz file to write; must not exist.')],
    episodes: Annotated[int, typer.Option(help='How many.', min=1)] = 25,
    seed: Annotated[int, typer.Option(help='Seed of the first episode.')] = 0,
) -> None:
    """Let the point mass's own expert show its shortest paths."""
    if out.exists():
        raise ConfigError(f'{out}: exists already and is left as it is')
    built_in_demos('point_mass', episodes, seed).save(out)
    typer.echo(f'wrote {episodes} episodes to {out}')
