# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""``lsiq robot``: describe a robot, check what the package believes of it, list what is there."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Annotated, TYPE_CHECKING

from lsiq_core.errors import ConfigError
from lsiq_ros.cli.bag_commands import finite
import typer

if TYPE_CHECKING:
    from sim.mjcf import JointFacts
    from sim.walking import Walking


def new(
    mjcf: Annotated[Path, typer.Argument(help='The MJCF file; robot.yaml is written beside it.')],
    forward: Annotated[
        str | None, typer.Option(help='Axis of the base that points forward: x, -x, y or -y.')
    ] = None,
    force: Annotated[bool, typer.Option(help='Overwrite a robot.yaml that is there.')] = False,
) -> None:
    """Write a commented robot.yaml with all that can be derived from an MJCF."""
    from lsiq_core.robot import FILE
    from sim.describe import describe

    if not mjcf.is_file():
        raise ConfigError(f'{mjcf}: no such file')
    if forward not in (None, 'x', '-x', 'y', '-y'):
        raise ConfigError(f'--forward is {forward!r}, expected x, -x, y or -y')
    target = mjcf.parent / FILE
    if target.exists() and not force:
        raise ConfigError(f'{target}: is there already; --force overwrites it')
    target.write_text(describe(mjcf, forward), encoding='utf-8')
    typer.echo(f'{target}: written; read it, then lsiq robot check {mjcf.parent}')


def check(
    robot: Annotated[str, typer.Argument(help='By name, folder or robot.yaml.')],
    out: Annotated[Path | None, typer.Option(help='Folder for two pictures.')] = None,
    seconds: Annotated[float, typer.Option(help='Length of each trial.', min=0.1)] = 5.0,
    as_json: Annotated[bool, typer.Option('--json', help='One JSON object as last line.')] = False,
) -> None:
    """
    Show what the package believes of a robot, and try it in simulation.

    Exit code 1 means that it cannot be trained on.
    """
    from lsiq_core.robot import load_robot
    from rich.console import Console
    from sim.check import check_robot, ERROR
    from sim.walking import Walking, WalkingConfig

    spec = load_robot(robot)
    env = Walking(spec, WalkingConfig('full', action='torque', start='stand'))
    findings = check_robot(spec, seconds=seconds)
    console = Console()
    console.width = max(console.width, 132)  # a narrow table hides the joints' names
    console.print(_table(env.robot.compiled.joints))
    for line in _facts(env):
        console.print(line, highlight=False, markup=False)
    if out is not None:
        console.print(_draw(env, out), markup=False)
    for finding in findings:
        console.print(f'{finding.severity}: {finding.text}', highlight=False, markup=False)
    bad = [finding for finding in findings if finding.severity == ERROR]
    verdict = 'cannot be trained on' if bad else 'can be trained on'
    console.print(f'verdict: {spec.name} {verdict}', markup=False)
    if as_json:
        shown = {
            'robot': spec.name,
            'trainable': not bad,
            'findings': [finding._asdict() for finding in findings],
            'joints': [joint._asdict() for joint in env.robot.compiled.joints],
        }
        typer.echo(json.dumps(finite(shown)))
    if bad:
        raise typer.Exit(1)


def list_robots() -> None:
    """Name the robots that are installed."""
    from lsiq_core.robot import load_robot, robot_names

    for name, path in robot_names().items():
        spec = load_robot(path)
        typer.echo(f'{name:20} {spec.control.rate_hz:g} Hz, {spec.control.action}  {path}')


def _table(joints: tuple[JointFacts, ...]) -> object:
    from rich.table import Table

    table = Table()
    for name in (
        'joint',
        'type',
        'role',
        'range',
        'effort N m',
        'rad/s',
        'gear',
        'armature',
        'kp, kd',
    ):
        table.add_column(name, no_wrap=True)
    for joint in joints:
        table.add_row(
            joint.name,
            joint.kind,
            joint.role,
            f'{_number(joint.position_low)} .. {_number(joint.position_high)}',
            f'{_number(joint.effort_low_nm)} .. {_number(joint.effort_high_nm)}',
            '-' if joint.role == 'base' else _number(joint.velocity_rad_s),
            f'{joint.gear:g} ({joint.driver})',
            f'{joint.armature:g}',
            f'{joint.stiffness:.3g}, {joint.damping:.3g}' if joint.role == 'actuated' else '-',
        )
    return table


def _facts(env: Walking) -> list[str]:
    import mujoco

    robot, spec = env.robot, env.spec
    base = ', '.join(robot.compiled.base_joints)
    return [
        f'base: {spec.base.body} on {base}, forward {spec.base.forward}; nominal height '
        f'{robot.nominal_qpos[robot.base_qpos + 2]:.3f} m',
        f'mass: {mujoco.mj_getTotalmass(env.model):.2f} kg; feet: '
        + ', '.join(f'{name} ({foot.body})' for name, foot in spec.feet.items()),
        f'control: {spec.control.rate_hz:g} Hz, {robot.substeps} physics steps of '
        f'{env.model.opt.timestep:g} s, {spec.control.action}; '
        f'{len(env.joints)} joints driven, {len(env.observation_terms)} readings',
    ]


def _draw(env: Walking, out: Path) -> str:
    """Write a picture from two sides, or say why not."""
    from sim.render import Camera, RenderingUnavailable

    env.reset_to(env.robot.nominal_frame())
    paths = []
    try:
        from PIL import Image

        out.mkdir(parents=True, exist_ok=True)
        for view in ('side', 'corner'):
            with Camera(env.model, view=view) as camera:
                paths.append(out / f'{env.name}_{view}.png')
                Image.fromarray(camera.frame(env.data)).save(paths[-1])
    except (RenderingUnavailable, ImportError) as error:
        return f'no pictures: {error}'
    return 'pictures: ' + ', '.join(str(path) for path in paths)


def _number(value: float) -> str:
    return '-' if not math.isfinite(value) else f'{value:.4g}'
