# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
``lsiq demos import``, ``lint`` and ``recover``: from bags to demonstrations.

Each function is one command; ``lsiq_ros/cli/main.py`` hangs them where they belong.
"""

from __future__ import annotations

from dataclasses import asdict, replace
import json
import math
from pathlib import Path
from typing import Annotated, Any, TYPE_CHECKING

from lsiq_core.config import read_yaml
from lsiq_core.errors import ConfigError
import typer

if TYPE_CHECKING:
    from lsiq_ros.bags.importer import ImportResult

Bag = Annotated[Path, typer.Argument(help='A bag directory, or an .mcap or .db3 file.')]
Json = Annotated[bool, typer.Option('--json', help='Print one JSON object as the last line.')]
Rate = Annotated[float, typer.Option(help='Control rate to train at.', min=1, max=10_000)]
Topics = Annotated[
    list[str] | None, typer.Option('--topic', help='Read only this topic; may be repeated.')
]
PelvisTopic = Annotated[str | None, typer.Option(help='The odometry of the pelvis.')]
TwistFrame = Annotated[str, typer.Option(help='child, as nav_msgs says, or world.')]
LimitsFile = Annotated[
    Path | None, typer.Option('--limits', help='YAML: joint: [lowest, highest] in rad.')
]
DEFAULT_ROBOT = 'atlas'  # of --spec alone
Robot = Annotated[str, typer.Option(help='By name or path; its file says terms and limits.')]
Spec = Annotated[
    str, typer.Option(help='Terms by their name in the robot file: kinematic, full, paper, ...')
]
Names = Annotated[str, typer.Option(help='Names, with commas between them.')]


def import_bag(
    bag: Bag,
    out: Annotated[Path, typer.Option(help='The npz file to write; must not exist.')],
    robot: Robot = '',
    spec: Spec = '',
    joints: Names = '',
    terms: Names = '',
    rate_hz: Rate = 100.0,
    topic: Topics = None,
    pelvis_topic: PelvisTopic = None,
    twist_frame: TwistFrame = 'child',
    velocities: Annotated[str, typer.Option(help='auto, recorded or derived.')] = 'auto',
    actions: Annotated[bool, typer.Option(help='Also take efforts, into a file apart.')] = False,
    limits: LimitsFile = None,
    max_gap_s: Annotated[float, typer.Option(help='A longer silence ends an episode.')] = 0.1,
    min_episode_s: Annotated[float, typer.Option(help='Leave out shorter episodes.')] = 0.5,
    force: Annotated[bool, typer.Option(help='Import what lint refuses.')] = False,
    json_: Json = False,
) -> None:
    """
    Turn a bag into demonstrations.

        lsiq demos import bags/expert_DATE --out walk.npz --spec kinematic
    """
    from lsiq_ros.bags.importer import import_demonstrations, ImportOptions

    if out.exists() or out.suffix != '.npz':
        raise ConfigError(f'{out}: must be a new file that ends in .npz')
    chosen = _split(joints)
    robot, spec = _robot_and_spec(robot, spec, bool(terms or joints))
    wanted = _terms(robot, spec, chosen, _split(terms))
    options = ImportOptions(
        terms=wanted,
        rate_hz=rate_hz,
        topics=tuple(topic) if topic else None,
        pelvis_topic=pelvis_topic,
        twist_frame=_one_of('twist-frame', twist_frame, ('child', 'world')),
        velocities=_one_of('velocities', velocities, ('auto', 'recorded', 'derived')),
        action_joints=_action_joints(bag, chosen, wanted, topic) if actions else (),
        limits=_limits(limits, robot),
        max_gap_s=max_gap_s,
        min_episode_s=min_episode_s,
        force=force,
    )
    result = import_demonstrations(bag, options)
    demos = result.demonstrations
    if spec:
        about = {'task': robot, 'observation': spec, **demos.metadata}
        demos = replace(demos, metadata=about)
    demos.save(out, actions_apart=True)
    _say_imported(out, result)
    if json_:
        typer.echo(json.dumps(_facts(out, result)))


def lint_bag(
    bag: Bag,
    robot: Robot = '',
    spec: Spec = '',
    joints: Names = '',
    rate_hz: Rate = 100.0,
    topic: Topics = None,
    pelvis_topic: PelvisTopic = None,
    twist_frame: TwistFrame = 'child',
    limits: LimitsFile = None,
    json_: Json = False,
) -> None:
    """
    Say whether a bag can be trained on; ends with code 1 if it can not.

        lsiq demos lint bags/expert_DATE --spec kinematic
    """
    from lsiq_ros.bags.lint import lint, LintOptions
    from lsiq_ros.bags.samples import read_samples
    from lsiq_ros.wire.observation import ObservationSpec

    robot, spec = _robot_and_spec(robot, spec, bool(joints))
    wanted = ObservationSpec(_terms(robot, spec, _split(joints), ()) or ())
    asked = tuple(dict.fromkeys([*wanted.position_joints, *_split(joints)]))
    options = LintOptions(
        control_rate_hz=rate_hz,
        joints=asked or None,
        soles=tuple(wanted.soles),
        needs_pelvis=wanted.needs_pelvis,
        pelvis_topic=pelvis_topic,
        twist_frame=_one_of('twist-frame', twist_frame, ('child', 'world')),
        limits=_limits(limits, robot),
    )
    report = lint(read_samples(bag, tuple(topic) if topic else None), options)
    typer.echo(report.text())
    if json_:
        typer.echo(json.dumps(_finite(report.as_dict())))
    if not report.trainable:
        raise typer.Exit(1)


def recover_bag(bag: Bag, json_: Json = False) -> None:
    """
    Repair a bag whose recorder was killed, in place.

        lsiq demos recover bags/recording_2026_11_16-03_21_13
    """
    from lsiq_ros.bags.recover import recover

    found = recover(bag)
    if found.was_finished:
        typer.echo(f'{found.bag}: whole already, {found.messages} messages')
    else:
        typer.echo(
            f'{found.bag}: recovered {found.messages} messages, {found.duration_s:.2f} s; '
            f'{found.bytes_cut_off} bytes of a cut-off record went'
        )
    if json_:
        typer.echo(json.dumps(asdict(found)))


def _say_imported(out: Path, result: ImportResult) -> None:
    demos = result.demonstrations
    typer.echo(
        f'{out}: {demos.num_episodes} episodes, {demos.num_transitions} transitions of '
        f'{len(demos.state_names)} terms at {demos.rate_hz:g} Hz, '
        f'{int(demos.terminated.sum())} ended by a fall'
    )
    if result.too_short:
        typer.echo(f'{result.too_short} stretches were too short and are left out')
    if result.derived:
        typer.echo(f'derived from positions: {", ".join(result.derived)}')
    for finding in result.lint.findings:
        if finding.severity != 'note':
            typer.echo(f'{finding.severity}: {finding.where}: {finding.message}')


def _facts(out: Path, result: ImportResult) -> dict[str, Any]:
    demos = result.demonstrations
    return {
        'demonstrations': str(out),
        'episodes': demos.num_episodes,
        'transitions': demos.num_transitions,
        'terminated': int(demos.terminated.sum()),
        'state_names': list(demos.state_names),
        'has_actions': demos.actions is not None,
        'derived': list(result.derived),
        'too_short': result.too_short,
        'trainable': result.lint.trainable,
        'sha256': demos.sha256,
    }


def _robot_and_spec(robot: str, spec: str, named: bool) -> tuple[str, str]:
    """Return both where one was given; ``named`` says that terms or joints are spelled out."""
    if spec and not robot:
        return DEFAULT_ROBOT, spec
    return robot, spec or ('kinematic' if robot and not named else '')


def _terms(
    robot: str, spec: str, joints: tuple[str, ...], terms: tuple[str, ...]
) -> tuple[str, ...] | None:
    """Return the wanted terms in order; None for all joints of the bag."""
    if terms:
        if spec or joints:
            raise ConfigError('--terms says all; leave out --spec and --joints')
        return terms
    if spec:
        from lsiq_core.robot import load_robot
        from lsiq_core.types import names
        from sim.robot import observation_terms

        return names(observation_terms(load_robot(robot), spec))
    if joints:
        from lsiq_ros.bags.importer import joint_terms

        return joint_terms(joints)
    return None


def _action_joints(
    bag: Path, joints: tuple[str, ...], terms: tuple[str, ...] | None, topic: list[str] | None
) -> tuple[str, ...]:
    """Return the joints whose efforts are actions: those that are observed, in their order."""
    from lsiq_ros.wire.observation import ObservationSpec

    if joints:
        return joints
    if terms is not None:
        return tuple(ObservationSpec(terms).position_joints)
    from lsiq_ros.bags.samples import read_samples

    return read_samples(bag, tuple(topic) if topic else None).joint_names()


def _limits(path: Path | None, robot: str) -> dict[str, tuple[float, float]]:
    """Read joint limits from a file, or take the robot's."""
    if path is None:
        return _robot_limits(robot) if robot else {}
    try:
        content = read_yaml(path).items()
        limits = {str(k): (float(low), float(high)) for k, (low, high) in content}
    except (ValueError, TypeError) as error:
        raise ConfigError(f'{path}: no joint limits like `knee: [-2.0, 0.1]` ({error})') from error
    bad = [joint for joint, (low, high) in limits.items() if not low < high]
    if bad:
        raise ConfigError(f'{path}: the lowest is not below the highest for {bad}')
    return limits


def _robot_limits(robot: str) -> dict[str, tuple[float, float]]:
    from lsiq_core.robot import load_robot
    from sim.mjcf import compile_robot

    joints = compile_robot(load_robot(robot), forces=False).joints
    return {joint.name: (joint.position_low, joint.position_high) for joint in joints}


def _split(names: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in names.split(',') if name.strip())


def _one_of(option: str, value: str, known: tuple[str, ...]) -> str:
    if value not in known:
        raise ConfigError(f'--{option} is {value!r}, must be one of {list(known)}')
    return value


def _finite(value: Any) -> Any:
    """Replace NaN, which JSON does not know, by null."""
    if isinstance(value, dict):
        return {key: _finite(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
