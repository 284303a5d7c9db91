# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""``lsiq view``: watch a robot in a window, in a browser or as a film."""

from pathlib import Path
import tempfile
from typing import Annotated, Any

from lsiq_core.errors import ConfigError
import typer

EXPERT = Path('models/atlas/expert/expert.onnx')


def view(
    source: Annotated[
        Path | None,
        typer.Argument(
            help='Expert or policy (.onnx) to run; states (.npz) or a bag to replay. None: the '
            'shipped expert, or with --web the topics of a graph that runs.'
        ),
    ] = None,
    robot: Annotated[
        str, typer.Option(help='By name or path; empty takes the one that the file names.')
    ] = '',
    seconds: Annotated[float, typer.Option(help='How long.')] = 10.0,
    seed: Annotated[int, typer.Option(help='Of the start; of a replay the episode.')] = 0,
    mp4: Annotated[Path | None, typer.Option(help='Write a film here instead.')] = None,
    strip: Annotated[Path | None, typer.Option(help='Also write six frames as a PNG.')] = None,
    camera: Annotated[str, typer.Option(help='corner or side.')] = 'corner',
    web: Annotated[
        bool, typer.Option('--web', help='Show it in a browser, until Ctrl-C.')
    ] = False,
    ghost: Annotated[
        Path | None, typer.Option(help='With --web: states (.npz) or a bag, shown beside it.')
    ] = None,
    host: Annotated[
        str, typer.Option(help='With --web: where to listen; 0.0.0.0 for other machines, too.')
    ] = '127.0.0.1',
    port: Annotated[int, typer.Option(help='With --web: 0 for any that is free.')] = 8080,
) -> None:
    """
    Watch a robot in a window or in a browser, or film it.

    Without a display it writes an mp4 file.
    Runs an expert or a learned policy in the simulation, or replays recorded states.

        lsiq view policy.onnx --web --ghost h1.npz
        lsiq view --web --robot quad          # what runs on the topics, and what the gate says
    """
    if web and source is None:
        _watch(robot, ghost, host, port)
        return
    if ghost is not None and not web:
        raise ConfigError('--ghost goes with --web')
    from lsiq_ros.view.robot import has_display, motion, record, show

    with tempfile.TemporaryDirectory() as folder:
        shown = _states(source or EXPERT, robot, Path(folder) / 'shown.npz')
        beside = ghost and _states(ghost, robot, Path(folder) / 'ghost.npz')
        if web:
            _show_in_browser(shown, beside, robot, seed, seconds, host, port)
            return
        env, steps = motion(shown, seed=seed, seconds=seconds, robot=robot)
        if mp4 is None and strip is None and has_display():
            show(env, steps)
            return
        film = mp4 or Path('runs') / f'{(source or EXPERT).stem}.mp4'
        record(env, steps, film, strip=strip, camera=camera)
        typer.echo(f'{film}')


def _show_in_browser(
    source: Path, ghost: Path | None, robot: str, seed: int, seconds: float, host: str, port: int
) -> None:
    from lsiq_ros.view.robot import motion
    from lsiq_ros.view.web import play, WebScene

    def start(file: Path) -> Any:
        return lambda: motion(file, seed=seed, seconds=seconds, robot=robot)

    env, _ = start(source)()
    scene = WebScene(env.robot, ghost=ghost is not None, host=host, port=port)
    typer.echo(f'{env.name}: {scene.url} (Ctrl-C ends)')
    try:
        play(scene, start(source), None if ghost is None else start(ghost))
    except KeyboardInterrupt:
        scene.close()


def _watch(robot: str, ghost: Path | None, host: str, port: int) -> None:
    if not robot:
        raise ConfigError('--web without a file watches topics: say of which --robot')
    from lsiq_ros.nodes.view_node import main

    given = {'robot': robot, 'ghost': str(ghost or ''), 'host': host, 'port': port}
    main(['--ros-args', *(w for k, v in given.items() for w in ('-p', f'{k}:={v}'))])


def _states(source: Path, robot: str, npz: Path) -> Path:
    """Return a file that can be shown; a bag is imported for the robot first."""
    if source.suffix not in ('.mcap', '.db3') and not (source / 'metadata.yaml').is_file():
        return source
    if not robot:
        raise ConfigError(f'{source}: is a bag; say of which --robot')
    from lsiq_ros.bags.importer import import_samples, ImportOptions
    from lsiq_ros.cli.bag_commands import recorded_robot, states_of

    spec, terms, wanted = recorded_robot(robot)
    options = ImportOptions(terms=terms, rate_hz=wanted['rate_hz'], force=True)
    import_samples(states_of(source, spec), options).demonstrations.save(npz)
    return npz
