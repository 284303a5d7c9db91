# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
A robot as data: ``models/<name>/robot.yaml`` beside its MJCF.

``load_robot('name')`` or ``load_robot('path/to/robot.yaml')`` returns a :class:`RobotSpec`. It
needs neither mujoco nor torch, so a robot's own computer can read it:

====================================  =====================================================
``spec.name``, ``spec.folder``        the folder's name, and where it lies
``spec.mjcf_path``                    the model; ``sim.robot`` compiles it
``spec.soles``                        names of the force readings, ``<sole>/force_x`` ...
``spec.topics.wrenches(spec.soles)``  their topics
``spec.topics``, ``spec.frames``      topic names, frames below ``base_link``
``spec.gate``                         gate settings that depend on the robot, by name
``spec.control``                      rate, physics step, torque or PD targets
``spec.task``, ``spec.reset``         speed, falls; where episodes start
``spec.observations``                 named observations as lists of term groups
====================================  =====================================================

Joints are named by regular expressions that match whole names; which joints there are says the
compiled model: ``sim.robot.compile_robot(spec)``.
"""

from collections.abc import Iterable, Mapping, Sequence
import hashlib
import math
from pathlib import Path
import re
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

from lsiq_core.errors import ConfigError
from lsiq_core.shipped_files import roots
from lsiq_core.types import FallBounds, Term
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    field_validator,
    ValidationError,
)
import yaml

FILE = 'robot.yaml'
OF_ROBOT = 'robot'  # as a task's option randomisation: the ranges of the robot's file
MODELS = 'models'
DEMOS = 'demos/walk_noisy.npz'  # in a robot's folder, of a robot that has demonstrations
AUTO = 'auto'  # instead of a file: that of the robot's folder
LARGEST_FILE_BYTES = 2**20
# What an observation is put together of, see sim.robot for the terms of each.
GROUPS = ('base_pose', 'base_twist', 'joint_positions', 'joint_velocities', 'foot_forces')
# What of the gate a robot's file may set; lsiq_ros.gate.settings explains each.
GATE_SETTINGS = ('min_height_m', 'max_tilt_rad', 'power_w', 'damping_nm_s_rad')
OBSERVATIONS: dict[str, tuple[str, ...]] = {
    'kinematic': ('base_pose', 'joint_positions', 'base_twist', 'joint_velocities'),
    'full': ('base_pose', 'joint_positions', 'base_twist', 'joint_velocities', 'foot_forces'),
    'paper': ('joint_positions', 'joint_velocities', 'foot_forces'),
}


class RobotError(ConfigError):
    """A robot's file or model cannot be used; the message names file, key and what is allowed."""


def _expression(text: Any) -> Any:
    if isinstance(text, str):
        try:
            re.compile(text)
        except re.error as error:
            raise ValueError(f'{text!r} is no regular expression: {error}') from error
    return text


def _pair(value: Any) -> Any:
    """Take one number for both ends of a range."""
    return (value, value) if isinstance(value, (int, float)) else value


Expression = Annotated[str, BeforeValidator(_expression)]
Finite = Annotated[float, Field(allow_inf_nan=False)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Amount = Annotated[tuple[NotNegative, NotNegative], BeforeValidator(_pair)]
Vector = tuple[Finite, Finite, Finite]
Value = TypeVar('Value')
ByJoint = dict[Expression, Finite]
PositiveByJoint = dict[Expression, Positive]
Name = Annotated[str, Field(pattern=r'^[A-Za-z][A-Za-z0-9_]*$')]


class Part(BaseModel):
    """A part of the file: nothing unknown, nothing changed later."""

    model_config = ConfigDict(extra='forbid', frozen=True, use_attribute_docstrings=True)


class Base(Part):
    """The body that floats."""

    body: str
    """The body in the MJCF; it hangs on a free joint, or on three slides and three hinges."""
    forward: Literal['x', '-x', 'y', '-y'] = 'x'
    """The axis of that body that points where the robot walks."""


class Joints(Part):
    """Which joints are driven, which are held; what is in neither is passive."""

    actuated: list[Expression] = Field(min_length=1)
    """Driven by torque."""
    locked: ByJoint = {}
    """Held rigidly at this angle, rad (slides: m). A joint that is also actuated is driven."""


class Foot(Part):
    """What stands on the floor."""

    body: str
    """The body in the MJCF."""
    soles: list[str] = []
    """Geoms whose floor force is read one by one; none: the force on the whole body."""


class Frame(Part):
    """A frame for TF, below base_link."""

    body: str | None = None
    site: str | None = None
    pos_m: Vector = (0.0, 0.0, 0.0)
    """In the frame of the body."""


class Topics(Part):
    """Topic names, relative to the robot's namespace."""

    joint_states: str = 'joint_states'
    odometry: str = 'odom'
    effort: str = 'effort_controller/commands'
    wrench: str = '{sole}/wrench'

    def wrenches(self, soles: Iterable[str]) -> tuple[str, ...]:
        """Return the topics of these soles' forces."""
        return tuple(self.wrench.format(sole=sole) for sole in soles)


class Control(Part):
    """How the robot is commanded."""

    rate_hz: Annotated[float, Field(ge=10, le=1000)] = 100.0
    """Commands per second."""
    timestep_s: Annotated[float, Field(gt=0, le=0.02)] | None = None
    """Of the physics; else the MJCF's."""
    action: Literal['torque', 'pd_target'] = 'torque'
    """What a policy answers: joint torque, or joint targets around the nominal pose."""
    stiffness: PositiveByJoint = {}
    """Of PD targets, N m/rad; else derived from the joint's inertia."""
    damping: dict[Expression, NotNegative] = {}
    """Of PD targets, N m s/rad; else derived from the joint's inertia."""
    target_range_rad: Positive | None = None
    """
    PD targets lie within so much of the nominal pose, and not farther beyond the joint's range
    than gives half of its torque. None: 1.0, or as far as gives half of the torque of a soft
    joint; 1.0 more where the file has no nominal pose.
    """


class Fall(Part):
    """The poses of the base that do not count as a fall, as lsiq_core.types.FallBounds."""

    height_m: tuple[float, float] | float | None = None
    """Lowest and highest height; one number is the lowest."""
    roll_rad: tuple[float, float] | None = None
    pitch_rad: tuple[float, float] | None = None
    yaw_rad: tuple[float, float] | None = None
    tilt_rad: Positive | None = None
    """Largest angle between the base's z axis and the vertical."""

    def bounds(self) -> FallBounds:
        """Return them as the tasks read them."""
        given: dict[str, Any] = {
            name: getattr(self, name)
            for name in ('roll_rad', 'pitch_rad', 'yaw_rad')
            if getattr(self, name) is not None
        }
        if self.height_m is not None:
            low_only = isinstance(self.height_m, (int, float))
            given['height_m'] = (self.height_m, math.inf) if low_only else self.height_m
        if self.tilt_rad is not None:
            given['lean_rad'] = self.tilt_rad
        return FallBounds(**given)


class Task(Part):
    """Walking: how fast, and what counts as a fall."""

    speed_mps: Finite | None = None
    """
    The metric of a step is exp(-(v - speed)^2) of the forward velocity. None: as fast as the
    motion that is learned, 0 for a squat; 1.0 where there is none.
    """
    speed_of_site: str | None = None
    """The site whose velocity counts; else the base's."""
    fall: Fall = Fall()
    max_episode_steps: Annotated[int, Field(ge=1)] = 1000


class Reset(Part):
    """Where episodes start."""

    frames: str | None = None
    """An npz beside the file with an array ``frames`` of kinematic observations, [F, D]."""
    keyframe: str | None = None
    """A keyframe of the MJCF whose joint angles are the nominal pose."""
    pose_rad: ByJoint = {}
    """The nominal pose, where it is not the keyframe's."""
    height_m: Finite | None = None
    """Of the base at the nominal pose; else such that the lowest foot touches the floor."""
    position_noise_rad: NotNegative = 0.01
    velocity_noise: NotNegative = 0.05


class Randomisation(Part):
    """
    How worlds differ from the MJCF: ranges, each drawn from once an episode.

    One number is a range without width. Nothing differs where nothing is given.
    """

    mass_scale: Amount = (1.0, 1.0)
    """Of every link, inertia included."""
    com_offset_m: Amount = (0.0, 0.0)
    """How far the centre of mass of the upper body is shifted, in a random direction."""
    friction: Amount | None = None
    """Sliding friction of every geom; else the MJCF's."""
    joint_friction: Amount = (0.0, 0.0)
    """Dry friction of the driven joints, added: as a share of each joint's largest torque."""
    joint_damping: Amount = (0.0, 0.0)
    """Damping of the driven joints, added: torque per rad/s as a share of the largest torque."""
    armature: Amount = (0.0, 0.0)
    """Rotor inertia, added: as a share of the inertia that the joint has without it."""
    torque_scale: Amount = (1.0, 1.0)
    """What the motors give of what was commanded."""
    delay_ms: Amount = (0.0, 0.0)
    """Until a command acts, in whole physics steps. With PD targets it is the torque that is
    late: the loop is closed over the delay, as over an effort topic."""
    delay_jitter_ms: Amount = (0.0, 0.0)
    """Up to so much more, drawn anew for each command."""
    observation_delay_ms: Amount = (0.0, 0.0)
    """How old an observation is when it comes, in whole physics steps."""
    push_n: Amount = (0.0, 0.0)
    """Horizontal, in a random direction."""
    push_every_s: Amount = (2.0, 4.0)
    push_duration_s: Amount = (0.1, 0.1)
    slope_rad: Amount = (0.0, 0.0)
    """Of the ground, in a random direction."""
    position_noise: Amount = (0.0, 0.0)
    """Standard deviation on height (m) and angles (rad) as observed."""
    velocity_noise: Amount = (0.0, 0.0)
    """Standard deviation on velocities as observed, m/s and rad/s."""
    base_velocity_noise: Amount | None = None
    """The same on velocities and rates of the base; else as on the joints' velocities."""
    force_noise_n: Amount = (0.0, 0.0)
    encoder_offset_rad: Amount = (0.0, 0.0)
    """Joint positions are read wrong by up to so much for the whole episode, each joint apart."""
    base_position_bias: Amount = (0.0, 0.0)
    """Height (m) and angles (rad) of the base likewise."""
    base_velocity_bias: Amount = (0.0, 0.0)
    """Velocities (m/s) and rates (rad/s) of the base likewise."""

    @field_validator('*')
    @classmethod
    def _low_before_high(cls, value: Any) -> Any:
        if isinstance(value, tuple) and value[0] > value[1]:
            raise ValueError('a range goes from low to high')
        return value

    @property
    def pushes(self) -> bool:
        """Return whether anything pushes."""
        return self.push_n[1] > 0

    @property
    def late_ms(self) -> float:
        """Return the largest delay of a command."""
        return self.delay_ms[1] + self.delay_jitter_ms[1]

    @property
    def changes_model(self) -> bool:
        """Return whether an episode needs a model of its own."""
        zero = (self.com_offset_m, self.joint_friction, self.joint_damping, self.armature)
        return (
            self.mass_scale != (1, 1)
            or self.friction is not None
            or any(limits[1] > 0 for limits in (*zero, self.slope_rad))
        )

    @property
    def changes_readings(self) -> bool:
        """Return whether what is observed differs from what is."""
        return any(
            limits is not None and limits[1] > 0
            for limits in (
                self.position_noise,
                self.velocity_noise,
                self.base_velocity_noise,
                self.force_noise_n,
                self.encoder_offset_rad,
                self.base_position_bias,
                self.base_velocity_bias,
                self.observation_delay_ms,
                self.slope_rad,
            )
        )


class ReadingError(NamedTuple):
    """How wrong the readings of one kind are."""

    columns: list[int]  # which terms
    noise: tuple[float, float]  # standard deviation, drawn from this range once an episode
    bias: tuple[float, float]  # constant, of either sign, up to a size from this range


def reading_errors(ranges: Randomisation, terms: Sequence[Term]) -> dict[str, ReadingError]:
    """Return what is wrong with each kind of readings: of the joints, of the base, forces."""
    columns: dict[str, list[int]] = {}
    for column, term in enumerate(terms):
        kind = {'m': 'position', 'rad': 'position', 'N': 'force'}.get(term.unit, 'velocity')
        owner = 'base_' if term.name.startswith('base/') else ''
        columns.setdefault(owner + kind, []).append(column)
    base = ranges.base_velocity_noise
    none = (0.0, 0.0)
    errors = {
        'position': (ranges.position_noise, ranges.encoder_offset_rad),
        'velocity': (ranges.velocity_noise, none),
        'base_position': (ranges.position_noise, ranges.base_position_bias),
        'base_velocity': (
            ranges.velocity_noise if base is None else base,
            ranges.base_velocity_bias,
        ),
        'force': (ranges.force_noise_n, none),
    }
    return {
        kind: ReadingError(columns[kind], *error)
        for kind, error in errors.items()
        if kind in columns
    }


def _foot(value: Any) -> Any:
    """Take a body's name for a foot without soles of its own."""
    return {'body': value} if isinstance(value, str) else value


class RobotSpec(Part):
    """All that the package knows about one robot."""

    mjcf: str
    """The model, a path below the file's folder."""
    base: Base
    joints: Joints
    feet: dict[Name, Annotated[Foot, BeforeValidator(_foot)]] = Field(min_length=1)
    effort_limit_nm: PositiveByJoint = {}
    """Largest torque; else the MJCF's."""
    position_limit_rad: dict[Expression, tuple[Finite, Finite]] = {}
    """Lowest and highest angle of joints without a range in the MJCF; the gate needs one."""
    velocity_limit_rad_s: PositiveByJoint = {}
    """Largest velocity, for the gate; the MJCF has none."""
    frames: dict[Name, Frame] = {}
    topics: Topics = Topics()
    gate: dict[Literal[GATE_SETTINGS], Finite] = {}  # type: ignore[valid-type]
    """Settings of the gate that depend on the robot; a policy for it carries them."""
    control: Control = Control()
    observations: dict[Name, list[Literal[GROUPS]]] = {}  # type: ignore[valid-type]
    """Further observations by name, each a list of term groups."""
    task: Task = Task()
    reset: Reset = Reset()
    randomisation: Randomisation = Randomisation()
    tracking: dict[str, Any] = {}
    """Numbers of the built-in expert, as sim.tracking reads them."""
    path: Path = Field(default=Path(FILE), exclude=True)
    """Where the file lies; filled in when it is read."""

    @property
    def name(self) -> str:
        """Return the robot's name: that of its folder, and of a variant what its file adds."""
        return _name(self.path)

    @property
    def folder(self) -> Path:
        """Return where everything about the robot lies."""
        return self.path.parent

    @property
    def mjcf_path(self) -> Path:
        """Return the model's file."""
        return self.folder / self.mjcf

    @property
    def soles(self) -> tuple[str, ...]:
        """Return the names of the force readings: each foot's soles, or the foot itself."""
        return tuple(sole for name, foot in self.feet.items() for sole in foot.soles or (name,))

    @property
    def demos_path(self) -> Path | None:
        """Return the demonstrations in the robot's folder, if there are any."""
        path = self.folder / DEMOS
        return path if path.is_file() else None

    def groups(self, observation: str) -> tuple[str, ...]:
        """Return the term groups of a named observation."""
        known = known_observations(self)
        if observation not in known:
            raise RobotError(
                f'{self.path}: observation {observation!r} is unknown, {self.name} offers '
                f'{list(known)}'
            )
        return known[observation]

    def model_sha256(self) -> str:
        """Return the hash of the MJCF, for the policies that are made for it."""
        return hashlib.sha256(self.mjcf_path.read_bytes()).hexdigest()


def known_observations(spec: RobotSpec) -> dict[str, tuple[str, ...]]:
    """Return the observations that a robot offers, by name, with their term groups."""
    return {**OBSERVATIONS, **{name: tuple(groups) for name, groups in spec.observations.items()}}


def matched(table: Mapping[str, Value], joint: str) -> Value | None:
    """Return the value of the first expression that matches the whole name."""
    for expression, value in table.items():
        if re.fullmatch(expression, joint):
            return value
    return None


def robot_names() -> dict[str, Path]:
    """Return the robots that are installed, by name, with their files."""
    found: dict[str, Path] = {}
    for root in roots():
        for path in sorted((root / MODELS).glob('*/robot*.yaml')):
            found.setdefault(_name(path), path)
    return found


def _name(path: Path) -> str:
    """Return go2 for go2/robot.yaml and go2_arm for go2/robot_arm.yaml."""
    return path.parent.name + path.stem.removeprefix('robot')


def find_robot(name_or_path: str | Path) -> Path:
    """Return the file of a robot, by its name, its folder or the file itself."""
    path = Path(name_or_path).expanduser()
    if path.is_dir() and (path / FILE).is_file():
        return path / FILE
    if path.is_file():
        return path
    installed = robot_names()
    if str(name_or_path) in installed:
        return installed[str(name_or_path)]
    raise RobotError(
        f'no robot {str(name_or_path)!r}: installed are {sorted(installed)}, and there is no such '
        f'file or folder with a {FILE} (lsiq robot new MJCF writes one)'
    )


def is_robot(name_or_path: str) -> bool:
    """Return whether a task's name is a robot's."""
    try:
        find_robot(name_or_path)
    except RobotError:
        return False
    return True


def ranges_of(spec: RobotSpec, option: Any) -> Randomisation | None:
    """
    Return what the option ``randomisation`` of a task stands for.

    :param option: fields by name, ``robot`` for those of the robot's file, None for no variety.
    """
    if option is None or isinstance(option, Randomisation):
        return option
    if option == OF_ROBOT:
        return spec.randomisation
    if not isinstance(option, Mapping):
        raise RobotError(f'randomisation {option!r}: expected ranges by name, or {OF_ROBOT!r}')
    try:
        return Randomisation(**option)
    except ValidationError as error:
        raise RobotError(f'randomisation in {explain(error, spec.path, Randomisation)}') from error


def load_robot(name_or_path: str | Path) -> RobotSpec:
    """Read a robot by its name, its folder or its file."""
    path = find_robot(name_or_path).resolve()
    if path.suffix not in ('.yaml', '.yml'):
        raise RobotError(f'{path}: expected a {FILE}; lsiq robot new writes one for an MJCF')
    if path.stat().st_size > LARGEST_FILE_BYTES:
        raise RobotError(
            f'{path}: has {path.stat().st_size} bytes, a {FILE} has at most {LARGEST_FILE_BYTES}'
        )
    return spec_from(_read(path), path)


def _read(path: Path) -> Any:
    """Return what a file holds, laid over the file of its folder that it extends."""
    tree = _yaml(path)
    if not isinstance(tree, dict) or 'extends' not in tree:
        return tree
    other = path.parent / Path(str(tree.pop('extends'))).name
    if other.name == path.name or not other.is_file():
        raise RobotError(f'{path}: extends: expected another file in {path.parent}')
    below = _yaml(other)
    if not isinstance(below, dict) or 'extends' in below:
        raise RobotError(f'{path}: extends: {other.name} must hold keys and extend nothing itself')
    return {**below, **tree}


def _yaml(path: Path) -> Any:
    try:
        return yaml.safe_load(path.read_text(encoding='utf-8'))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise RobotError(f'{path}: is no YAML: {error}') from error


def spec_from(tree: Any, path: Path) -> RobotSpec:
    """Check what a file holds; ``path`` is where it lies."""
    if not isinstance(tree, dict):
        raise RobotError(f'{path}: found {type(tree).__name__}, expected keys such as mjcf, base')
    if 'path' in tree:
        raise RobotError(f'{path}: path: is no key of this file')
    try:
        spec = RobotSpec(**tree, path=path)
    except (ValidationError, TypeError) as error:
        raise RobotError(explain(error, path)) from error
    inside = spec.mjcf_path.resolve()
    if not inside.is_relative_to(spec.folder.resolve()):
        raise RobotError(f'{path}: mjcf: {spec.mjcf!r} lies outside of {spec.folder}')
    if not inside.is_file():
        raise RobotError(f'{path}: mjcf: there is no file {spec.mjcf!r} in {spec.folder}')
    return spec


def explain(
    error: ValidationError | TypeError, path: Path, model: type[BaseModel] = RobotSpec
) -> str:
    """Say of each mistake in a part of the file where it is, what was found, what is allowed."""
    if isinstance(error, TypeError):
        return f'{path}: {error}'
    lines = []
    for item in error.errors():
        place = '.'.join(
            str(part) for part in item['loc'] if not str(part).startswith('function-')
        )
        if item['type'] == 'extra_forbidden':
            lines.append(f'{place}: unknown key, allowed are {_allowed(model, item["loc"])}')
        elif item['type'] == 'missing':
            lines.append(f'{place}: is missing')
        else:
            found = repr(item['input'])
            found = found if len(found) <= 60 else f'{found[:57]}...'
            reason = item['msg'].removeprefix('Value error, ')
            lines.append(
                f'{place}: {reason}' + (f' (found {found})' if found not in reason else '')
            )
    return f'{path}: ' + '; '.join(lines)


def _allowed(model: Any, place: tuple[int | str, ...]) -> list[str]:
    """Return the keys that may stand where an unknown one was found."""
    for part in place[:-1]:
        annotation = model.model_fields[part].annotation if part in model.model_fields else None
        if not (isinstance(annotation, type) and issubclass(annotation, BaseModel)):
            return sorted(Foot.model_fields) if place[0] == 'feet' else sorted(Frame.model_fields)
        model = annotation
    return [name for name in model.model_fields if name != 'path']
