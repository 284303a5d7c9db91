# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""``lsiq demos import``, ``lint`` and ``recover``: from bags to demonstrations."""

from __future__ import annotations

from dataclasses import asdict, replace
import json
import math
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TYPE_CHECKING

from lsiq_core.config import read_yaml
from lsiq_core.errors import ConfigError
import typer

if TYPE_CHECKING:
    from lsiq_core.data.demonstrations import Demonstrations
    from lsiq_core.robot import RobotSpec
    from lsiq_ros.bags.importer import ImportResult
    from lsiq_ros.bags.lint_report import Finding
    from lsiq_ros.bags.prepare import Wanted
    from lsiq_ros.bags.samples import BagSamples

Limits = dict[str, tuple[float, float]]
Bag = Annotated[Path, typer.Argument(help='A bag directory, or an .mcap or .db3 file.')]
Bags = Annotated[
    list[Path], typer.Argument(help='Bag directories, .mcap or .db3 files, or .npz of raw states.')
]
Json = Annotated[bool, typer.Option('--json', help='Print one JSON object as the last line.')]
Robot = Annotated[
    str, typer.Option(help='Name or robot.yaml: gives joints, limits, rate and observations.')
]
Observation = Annotated[
    str, typer.Option(help="One of the robot's observations: kinematic, full, paper, ...")
]
Rate = Annotated[
    float | None, typer.Option(help="Control rate; the robot's, or 100.", min=1, max=10_000)
]
Topics = Annotated[
    list[str] | None, typer.Option('--topic', help='Read only this topic; may be repeated.')
]
BaseTopic = Annotated[str | None, typer.Option(help='The odometry of the base.')]
TwistFrame = Annotated[str, typer.Option(help='child, as nav_msgs says, or world.')]
LimitsFile = Annotated[
    Path | None, typer.Option('--limits', help='YAML: joint: [lowest, highest] in rad.')
]
Names = Annotated[str, typer.Option(help='Names, with commas between them.')]
RecordedRate = Annotated[
    float | None, typer.Option(help='Of an npz file that does not say its rate.', min=1)
]
WithBase = Annotated[bool, typer.Option(help='Take the base, where the bag has odometry.')]
OldSpec = Annotated[str, typer.Option('--spec', hidden=True)]
OldTopic = Annotated[str, typer.Option('--pelvis-topic', hidden=True)]


class RecordedRobot(NamedTuple):
    """What a robot's file says about a recording of it."""

    spec: RobotSpec | None = None
    terms: tuple[str, ...] | None = None
    wanted: dict[str, Any] = {}  # fields of lsiq_ros.bags.prepare.Wanted


def import_bags(
    bags: Bags,
    out: Annotated[Path, typer.Option(help='The npz file to write; must not exist.')],
    robot: Robot = '',
    observation: Observation = 'kinematic',
    joints: Names = '',
    terms: Names = '',
    base: WithBase = True,
    rate_hz: Rate = None,
    topic: Topics = None,
    base_topic: BaseTopic = None,
    twist_frame: TwistFrame = 'child',
    base_shift_s: Annotated[float, typer.Option(help='Added to the stamps of the base.')] = 0.0,
    velocities: Annotated[str, typer.Option(help='auto, recorded or derived.')] = 'auto',
    actions: Annotated[bool, typer.Option(help='Also take efforts, into a file apart.')] = False,
    limits: LimitsFile = None,
    max_gap_s: Annotated[float, typer.Option(help='A longer silence ends an episode.')] = 0.1,
    min_episode_s: Annotated[float, typer.Option(help='Leave out shorter episodes.')] = 0.5,
    recorded_hz: RecordedRate = None,
    force: Annotated[bool, typer.Option(help='Import what lint refuses.')] = False,
    json_: Json = False,
    spec: OldSpec = '',
    pelvis_topic: OldTopic = '',
) -> None:
    """
    Turn bags, or npz files of raw states, into one demonstration set.

        lsiq demos import bags/* --out walk.npz --robot ROBOT
    """
    from lsiq_ros.bags.importer import import_samples, ImportOptions, merge

    _refuse_old(spec, pelvis_topic)
    refuse_taken(out)
    chosen, named = split(joints), split(terms)
    if named and (robot or chosen):
        raise ConfigError('--terms says all; leave out --robot and --joints')
    recorded = recorded_robot(robot, observation, chosen)
    options = ImportOptions(
        **_asked(recorded, rate_hz, limits, base_topic, twist_frame),
        terms=named or recorded.terms,
        joints=chosen or None,
        base=base,
        base_shift_s=base_shift_s,
        velocities=one_of('velocities', velocities, ('auto', 'recorded', 'derived')),
        max_gap_s=max_gap_s,
        min_episode_s=min_episode_s,
        force=force,
    )
    recordings = [states_of(bag, recorded.spec, topic, recorded_hz) for bag in bags]
    if actions:
        acting = _action_joints(recordings[0], chosen, options.terms)
        options = replace(options, action_joints=acting)
    results = [import_samples(recording, options) for recording in recordings]
    demos = merge([result.demonstrations for result in results])
    if recorded.spec is not None:
        name = recorded.spec.name
        about = {'task': name, 'robot': name, 'observation': observation}
        demos = replace(demos, metadata=about | demos.metadata)
    for bag, result in zip(bags, results):
        _say_imported(bag, result)
        for finding in _judge_base_shift(recorded.spec, result.demonstrations, base_shift_s):
            if not force:
                raise ConfigError(f'{bag}: the base {finding.message}, or with --force as it is')
            typer.echo(f'{finding.severity}: {finding.where}: {finding.message}')
    demos.save(out, actions_apart=True)
    say_demonstrations(out, demos)
    if json_:
        typer.echo(json.dumps(_facts(out, demos, results)))


def lint_bags(
    bags: Bags,
    robot: Robot = '',
    observation: Observation = 'kinematic',
    joints: Names = '',
    rate_hz: Rate = None,
    topic: Topics = None,
    base_topic: BaseTopic = None,
    twist_frame: TwistFrame = 'child',
    limits: LimitsFile = None,
    json_: Json = False,
    spec: OldSpec = '',
    pelvis_topic: OldTopic = '',
) -> None:
    """
    Say whether bags can be trained on, verdict first; ends with code 1 if one can not.

        lsiq demos lint bags/* --robot ROBOT
    """
    from lsiq_ros.bags.lint import lint

    _refuse_old(spec, pelvis_topic)
    chosen = split(joints)
    recorded = recorded_robot(robot, observation, chosen)
    spec_of = recorded.spec
    wanted = wanted_of(
        recorded, chosen, _asked(recorded, rate_hz, limits, base_topic, twist_frame)
    )
    trainable = True
    for bag in bags:
        samples = states_of(bag, spec_of, topic)
        report = lint(samples, wanted)
        if spec_of is not None and report.episodes and not chosen:
            report = report.with_findings(_look_by_model(samples, spec_of, wanted))
        trainable &= report.trainable
        typer.echo(report.text())
        if json_:
            typer.echo(json.dumps(finite(report.as_dict())))
    if not trainable:
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


def _asked(
    recorded: RecordedRobot,
    rate_hz: float | None,
    limits: Path | None,
    base_topic: str | None,
    twist_frame: str,
) -> dict[str, Any]:
    """Return what is asked of a recording: by the options, else by the robot's file."""
    given = {
        'rate_hz': rate_hz,
        'limits': None if limits is None else read_limits(limits),
        'base_topic': base_topic,
        'twist_frame': one_of('twist-frame', twist_frame, ('child', 'world')),
    }
    return recorded.wanted | {name: value for name, value in given.items() if value is not None}


def wanted_of(
    recorded: RecordedRobot, joints: tuple[str, ...], asked: dict[str, Any] | None = None
) -> Wanted:
    """Return what a recording must hold for a robot, or for the named joints."""
    from lsiq_ros.bags.prepare import Wanted
    from lsiq_ros.wire.observation import ObservationSpec

    spec = ObservationSpec(recorded.terms or ())
    return Wanted(
        joints=tuple(dict.fromkeys([*spec.position_joints, *joints])) or None,
        soles=tuple(spec.soles),
        base=True if spec.needs_base else None,
        **(recorded.wanted if asked is None else asked),
    )


def recorded_robot(
    robot: str, observation: str = 'kinematic', joints: tuple[str, ...] = ()
) -> RecordedRobot:
    """
    Return what a robot's file says; nothing without a robot.

    :param joints: take these of its joints instead of all actuated ones.
    """
    if not robot:
        return RecordedRobot()
    from lsiq_core.robot import load_robot
    from lsiq_core.types import names
    from sim.mjcf import compile_robot
    from sim.robot import terms_of

    spec = load_robot(robot)
    compiled = compile_robot(spec, forces=False)
    terms = names(terms_of(spec, observation, compiled.actuated))
    limits = {joint.name: (joint.position_low, joint.position_high) for joint in compiled.actuated}
    if joints:
        unknown = [joint for joint in joints if joint not in limits]
        if unknown:
            raise ConfigError(f'--joints {unknown}: {spec.name} drives {list(limits)}')
        others = set(limits) - set(joints)
        terms = tuple(term for term in terms if term.partition('/')[0] not in others)
    nominal = compiled.nominal_rad
    wanted = {
        'robot': spec.name,
        'rate_hz': spec.control.rate_hz,
        'limits': limits,
        'locked': {j.name: nominal[j.name] for j in compiled.joints if j.role == 'locked'},
    }
    return RecordedRobot(spec, terms, wanted)


def states_of(
    recording: Path,
    spec: RobotSpec | None,
    topic: list[str] | None = None,
    recorded_hz: float | None = None,
) -> BagSamples:
    """Read the states of a recording, with the base that the robot's model finds in it."""
    from lsiq_ros.bags.npz_samples import read_recording

    samples = read_recording(recording, tuple(topic) if topic else None, recorded_hz)
    if spec is None or samples.odometry:
        return samples
    from lsiq_ros.simulator.chain_base import with_chain_base

    return with_chain_base(samples, spec)


def _look_by_model(samples: BagSamples, spec: RobotSpec, wanted: Wanted) -> list[Finding]:
    """Import in memory, whatever lint said: do standing feet stand, can the robot do it."""
    from lsiq_core.types import names
    from lsiq_ros.bags.errors import BagError
    from lsiq_ros.bags.importer import import_samples, ImportOptions
    from lsiq_ros.bags.lint_report import Finding, INFEASIBLE, NOTE
    from lsiq_ros.runs.feasibility import judge_recording
    from sim.robot import observation_terms

    options = ImportOptions(
        terms=names(observation_terms(spec, 'kinematic')),
        rate_hz=wanted.rate_hz,
        base_topic=wanted.base_topic,
        twist_frame=wanted.twist_frame,
        force=True,
    )
    try:
        demos = import_samples(samples, options).demonstrations
    except BagError:  # a joint or the base is missing, as lint says
        return []
    judged = judge_recording(demos, spec)
    code = 'feasible' if judged.feasibility.exact else INFEASIBLE
    return [*_judge_base_shift(spec, demos), Finding(NOTE, code, 'states', judged.text)]


def _judge_base_shift(
    spec: RobotSpec | None, demos: Demonstrations, given_s: float = 0.0
) -> list[Finding]:
    """
    Say whether base and joints are of different instants.

    :param given_s: how far the base was shifted already.
    """
    if spec is None:
        return []
    from lsiq_core.types import names
    from lsiq_ros.bags.lint_report import ERROR, Finding
    from lsiq_ros.simulator.base_shift import find_base_shift
    from sim.robot import observation_terms

    terms = names(observation_terms(spec, 'kinematic'))
    if not set(terms) <= set(demos.state_names):
        return []
    rate_hz = demos.rate_hz or spec.control.rate_hz
    states = demos.of_terms(terms).states
    found = find_base_shift(spec, [states[one] for one in demos.state_slices()], rate_hz)
    if abs(found.shift_s) < 1 / rate_hz or found.least_slip_m_s > 0.8 * found.slip_m_s:
        return []
    when = 'later' if found.shift_s > 0 else 'earlier'
    text = (
        f'is {1e3 * abs(found.shift_s):.0f} ms {when} than the joints of the same stamp: standing '
        f'feet slip at {found.slip_m_s:.2f} m/s, shifted at {found.least_slip_m_s:.2f} m/s; '
        f'import with --base-shift-s {given_s + found.shift_s:g}'
    )
    return [Finding(ERROR, 'time_shift', 'base', text)]


def refuse_taken(out: Path) -> None:
    """Refuse a file that is there, or is no npz, before anything is worked out for it."""
    if out.exists() or out.suffix != '.npz':
        raise ConfigError(f'{out}: must be a new file that ends in .npz')


def say_demonstrations(out: Path, demos: Demonstrations) -> None:
    """Say what was written."""
    seconds = demos.num_transitions / demos.rate_hz if demos.rate_hz else math.nan
    typer.echo(
        f'{out}: {demos.num_episodes} episodes, {seconds:.2f} s, {demos.num_transitions} '
        f'transitions of {len(demos.state_names)} terms at {demos.rate_hz or 0:g} Hz, '
        f'{int(demos.terminated.sum())} ended by a fall'
    )


def _say_imported(bag: Path, result: ImportResult) -> None:
    from lsiq_ros.bags.lint_report import discarded_line

    line = discarded_line(result.lint.duration_s, result.used_s, result.discarded_s)
    typer.echo(f'{bag}: {line}')
    if result.derived:
        typer.echo(f'derived from positions: {", ".join(result.derived)}')
    for finding in result.lint.findings:
        if finding.severity != 'note':
            typer.echo(f'{finding.severity}: {finding.where}: {finding.message}')


def _facts(out: Path, demos: Demonstrations, results: list[ImportResult]) -> dict[str, Any]:
    return {
        'demonstrations': str(out),
        'episodes': demos.num_episodes,
        'transitions': demos.num_transitions,
        'terminated': int(demos.terminated.sum()),
        'state_names': list(demos.state_names),
        'has_actions': demos.actions is not None,
        'derived': sorted({term for result in results for term in result.derived}),
        'too_short': sum(result.too_short for result in results),
        'used_s': sum(result.used_s for result in results),
        'discarded_s': [result.discarded_s for result in results],
        'trainable': all(result.lint.trainable for result in results),
        'sha256': demos.sha256,
    }


def _action_joints(
    samples: BagSamples, joints: tuple[str, ...], terms: tuple[str, ...] | None
) -> tuple[str, ...]:
    """Return the joints whose efforts are actions: those that are observed, in their order."""
    if joints:
        return joints
    if terms is not None:
        from lsiq_ros.wire.observation import ObservationSpec

        return tuple(ObservationSpec(terms).position_joints)
    return samples.joint_names()


def read_limits(path: Path) -> Limits:
    """Read joint limits from a file."""
    try:
        content = read_yaml(path).items()
        limits = {str(k): (float(low), float(high)) for k, (low, high) in content}
    except (ValueError, TypeError) as error:
        raise ConfigError(f'{path}: no joint limits like `knee: [-2.0, 0.1]` ({error})') from error
    bad = [joint for joint, (low, high) in limits.items() if not low < high]
    if bad:
        raise ConfigError(f'{path}: the lowest is not below the highest for {bad}')
    return limits


def _refuse_old(spec: str, pelvis_topic: str) -> None:
    if spec:
        raise ConfigError(f'--spec {spec} is now --robot atlas --observation {spec}')
    if pelvis_topic:
        raise ConfigError(f'--pelvis-topic is now --base-topic {pelvis_topic}')


def split(names: str) -> tuple[str, ...]:
    """Return names that stand with commas between them."""
    return tuple(name.strip() for name in names.split(',') if name.strip())


def one_of(name: str, value: str, allowed: tuple[str, ...]) -> str:
    """Return the value of an option that has few."""
    if value not in allowed:
        raise ConfigError(f'--{name} is {value!r}, must be one of {list(allowed)}')
    return value


def finite(value: Any) -> Any:
    """Replace NaN, which JSON does not know, by null."""
    if isinstance(value, dict):
        return {key: finite(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [finite(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
