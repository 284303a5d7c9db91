# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
From a robot's MJCF to the model that is simulated.

The file is taken as it is, except: locked joints become rigid; each actuated joint gets one
motor of gear one, so that a control is a joint torque in N m (or, for PD targets, a joint angle);
sensors are those of the task; a floor is added where there is none. What cannot be simulated is
refused by name.
"""

from collections.abc import Iterator
import math
from pathlib import Path
import re
from typing import Any, NamedTuple
import xml.etree.ElementTree as ElementTree

from lsiq_core.robot import matched, RobotError, RobotSpec
import mujoco
import numpy as np
import numpy.typing as npt
from sim.stripping import strip

Array = npt.NDArray[np.float64]
LARGEST_FILE_BYTES = 20 * 2**20
FLOOR = 'floor'
_ASSETS = ('mesh', 'texture', 'hfield', 'skin')
SPEED_SENSOR = 'speed'
_FREE, _BALL, _SLIDE, _HINGE = (
    int(getattr(mujoco.mjtJoint, f'mjJNT_{kind}')) for kind in ('FREE', 'BALL', 'SLIDE', 'HINGE')
)
_KINDS = {_FREE: 'free', _BALL: 'ball', _SLIDE: 'slide', _HINGE: 'hinge'}
_JOINT_DRIVES = (int(mujoco.mjtTrn.mjTRN_JOINT), int(mujoco.mjtTrn.mjTRN_JOINTINPARENT))
_TARGET_RANGE_RAD = 1.0  # of PD targets around the nominal pose
_DERIVED_FREQUENCY_HZ, _DERIVED_DAMPING_RATIO = 10.0, 2.0  # of PD gains that nobody gave


class JointFacts(NamedTuple):
    """One joint as file and model describe it."""

    name: str
    kind: str  # free, ball, slide or hinge
    role: str  # base, actuated, locked or passive
    position_low: float  # rad or m; infinite without a limit
    position_high: float
    effort_low_nm: float  # not a number where nothing is known
    effort_high_nm: float
    velocity_rad_s: float  # not a number where nothing is known
    gear: float  # joint torque per motor torque in the MJCF
    driver: str  # what drives it in the MJCF: motor, position, velocity, general or nothing
    armature: float
    stiffness: float  # of PD targets, N m/rad
    damping: float  # of PD targets, N m s/rad


class CompiledRobot(NamedTuple):
    """The model and what must be known to read and drive it."""

    model: mujoco.MjModel
    joints: tuple[JointFacts, ...]  # all of the MJCF, in its order
    base_joints: tuple[str, ...]
    nominal_rad: dict[str, float]  # angle of each hinge and slide at the nominal pose
    nominal_ball: dict[str, Array]
    floor_added: bool

    @property
    def actuated(self) -> tuple[JointFacts, ...]:
        """Return the driven joints, in the order of observations and commands."""
        return tuple(joint for joint in self.joints if joint.role == 'actuated')


def compile_robot(
    spec: RobotSpec, *, forces: bool = True, action: str | None = None, drawn: bool = True
) -> CompiledRobot:
    """
    Compile a robot.

    :param forces: measure the floor's force on each sole, which costs time.
    :param action: ``torque`` or ``pd_target``; None for what the file says.
    :param drawn: keep what is only looked at; without it the model is a hundredth as large.
    """
    path = spec.mjcf_path
    original, tree = parse_mjcf(path)
    base_joints = _base_joints(spec, original)
    _refuse_unsupported(spec, original, base_joints)
    roles = _roles(spec, original, base_joints)
    nominal, nominal_ball = _nominal(spec, original)
    facts = tuple(_facts(spec, original, i, roles[i]) for i in range(original.njnt))
    _lock(spec, tree, facts, nominal, original)
    _drive(spec, tree, facts, nominal, action or spec.control.action)
    floor_added = _add_floor(tree)
    _measure(spec, tree, forces)
    if drawn:
        _look(spec, tree, original)
    else:
        strip(tree)
    tree.option.disableflags |= int(
        # A diverged simulation must end the episode; MuJoCo would silently start it anew.
        mujoco.mjtDisableBit.mjDSBL_AUTORESET
        # A step depends on position and velocity alone: single and batched stepping agree.
        | mujoco.mjtDisableBit.mjDSBL_WARMSTART
    )
    if spec.control.timestep_s is not None:
        tree.option.timestep = spec.control.timestep_s
    try:
        model = tree.compile()
    except ValueError as error:
        text = _explained(path, error)
        raise RobotError(f'{path}: MuJoCo refuses it with motors and floor: {text}') from error
    return CompiledRobot(model, facts, base_joints, nominal, nominal_ball, floor_added)


def parse_mjcf(path: Path) -> tuple[mujoco.MjModel, mujoco.MjSpec]:
    """Return the model of a file as it is, and its tree to change."""
    check_files(path)
    try:
        # Twice, because compiling joins fixed bodies in the tree itself.
        return _parse(path).compile(), _parse(path)
    except (ValueError, mujoco.FatalError) as error:
        raise RobotError(f'{path}: MuJoCo refuses it: {_explained(path, error)}') from error


def _explained(path: Path, error: Exception) -> str:
    """Return MuJoCo's reason as one line, with what a person should look at."""
    reason, _, place = str(error).removeprefix('Error: ').strip().partition('\n')
    hint = ''
    if 'mass and inertia of moving bodies' in reason:
        hint = '; a body that moves needs mass and inertia, of <inertial> or of its geoms'
    elif 'keyframe' in reason and not any(joint.type == _FREE for joint in _parse(path).joints):
        # The keyframe was written for a model whose base floats.
        hint = '; no body has a free joint: put <freejoint/> into the base'
    return ' '.join(f'{reason}{f" ({place})" if place else ""}{hint}'.split())


def _parse(path: Path) -> mujoco.MjSpec:
    """Read the file; a joint without a name gets one."""
    tree = mujoco.MjSpec.from_file(str(path))
    for number, joint in enumerate(tree.joints):
        joint.name = joint.name or f'unnamed_{number}'
    return tree


# -- what is refused -----------------------------------------------------------------------


def check_files(path: Path) -> None:
    """Refuse a model that is too large, includes itself or reaches outside of its folder."""
    folder = path.parent.resolve()
    # Includes are as if they stood in the file: its folders of meshes count for all.
    files = list(_included(path.resolve(), folder, ()))
    places = dict.fromkeys(_ASSETS, folder)
    for _, root in files:
        for compiler in root.iter('compiler'):
            for kind, key in (('mesh', 'meshdir'), ('texture', 'texturedir')):
                directory = compiler.get(key) or compiler.get('assetdir')
                if directory:
                    places[kind] = folder / directory
                    if kind == 'mesh':
                        places['skin'] = places['hfield'] = places[kind]
    for file, root in files:
        for element in root.iter():
            if element.tag not in _ASSETS and element.tag not in ('model', 'flexcomp'):
                continue
            for key, name in element.items():
                if key.startswith('file') and name:
                    _resolved(
                        file, element.tag, key, name, places.get(element.tag, folder), folder
                    )


def _resolved(file: Path, tag: str, key: str, name: str, place: Path, folder: Path) -> Path:
    """Return where a file lies that another one names; refuse what is outside or missing."""
    there = (place / name).resolve()
    where = f'{file}: <{tag} {key}="{name}">'
    if not there.is_relative_to(folder):
        raise RobotError(f'{where} lies outside of the folder {folder}')
    if not there.is_file():
        raise RobotError(f'{where}: there is no such file; expected {there}')
    return there


def _included(
    path: Path, folder: Path, including: tuple[Path, ...]
) -> Iterator[tuple[Path, ElementTree.Element]]:
    """Read a file and all that it includes."""
    if path in including:
        loop = ' -> '.join(file.name for file in (*including, path))
        raise RobotError(f'{including[0]}: includes itself: {loop}')
    size = path.stat().st_size
    if size > LARGEST_FILE_BYTES:
        raise RobotError(f'{path}: has {size} bytes, a model has at most {LARGEST_FILE_BYTES}')
    try:
        root = ElementTree.parse(path).getroot()
    except (ElementTree.ParseError, UnicodeDecodeError, LookupError) as error:
        raise RobotError(f'{path}: is no XML: {error}') from error
    if not including and root.tag != 'mujoco':
        raise RobotError(f'{path}: begins with <{root.tag}>, an MJCF begins with <mujoco>')
    yield path, root
    for element in root.iter('include'):
        name = element.get('file') or ''
        there = _resolved(path, 'include', 'file', name, folder, folder)
        yield from _included(there, folder, (*including, path))


def _refuse_unsupported(
    spec: RobotSpec, model: mujoco.MjModel, base_joints: tuple[str, ...]
) -> None:
    path = spec.mjcf_path
    free = [_joint_name(model, i) for i in range(model.njnt) if model.jnt_type[i] == _FREE]
    others = [name for name in free if name not in base_joints]
    if others:
        raise RobotError(
            f'{path}: there are several free bodies, joints {free}; only the base may float'
        )
    for i in range(model.nu):
        if model.actuator_trntype[i] not in _JOINT_DRIVES:
            kind = mujoco.mjtTrn(int(model.actuator_trntype[i])).name.removeprefix('mjTRN_')
            raise RobotError(
                f'{path}: actuator {model.actuator(i).name!r} drives a {kind.lower()}; '
                'only actuators of joints are simulated'
            )
    ranges = [(f'joint {_joint_name(model, i)!r}', model.jnt_range[i]) for i in range(model.njnt)]
    for i in range(model.nu):
        name = f'actuator {model.actuator(i).name!r}'
        ranges += [(name, model.actuator_ctrlrange[i]), (name, model.actuator_forcerange[i])]
    for name, (low, high) in ranges:
        if low > high:
            raise RobotError(f'{path}: {name}: its range goes from {low:g} to {high:g}')
    for what, count in (('flexes', model.nflex), ('plugins', model.nplugin)):
        if count:
            raise RobotError(f'{path}: has {count} {what}, which are not simulated')


def _base_joints(spec: RobotSpec, model: mujoco.MjModel) -> tuple[str, ...]:
    """Return the free joint of the base, or its three slides and three hinges."""
    where, body = f'{spec.path}: base.body', spec.base.body
    bodies = [model.body(i).name for i in range(1, model.nbody)]
    if body not in bodies:
        raise RobotError(f'{where}: no body {body!r} in {spec.mjcf}, it has {_some(bodies)}')
    index = model.body(body).id
    if model.body_parentid[index] != 0:
        parent = model.body(int(model.body_parentid[index])).name
        raise RobotError(
            f'{where}: {body!r} is carried by {parent!r}, the base hangs on the world'
        )
    first, count = int(model.body_jntadr[index]), int(model.body_jntnum[index])
    kinds = [int(model.jnt_type[i]) for i in range(first, first + count)]
    free = kinds == [_FREE]
    chain = sorted(kinds[:3]) == [_SLIDE] * 3 and kinds[3:] == [_HINGE] * 3
    if not free and not chain:
        found = [_KINDS[kind] for kind in kinds]
        raise RobotError(
            f'{where}: {body!r} has the joints {found}; expected a free joint '
            '(<freejoint/> in that body), or three slides and then three hinges'
        )
    if chain and spec.base.forward != 'x':
        raise RobotError(f'{spec.path}: base.forward: on slides and hinges only x can be forward')
    return tuple(_joint_name(model, i) for i in range(first, first + count))


def _roles(spec: RobotSpec, model: mujoco.MjModel, base: tuple[str, ...]) -> list[str]:
    """Say of each joint whether it carries the base, is driven, held or left alone."""
    every = [_joint_name(model, i) for i in range(model.njnt)]
    others = [name for name in every if name not in base]
    for key, expressions in (
        ('joints.actuated', spec.joints.actuated),
        ('joints.locked', spec.joints.locked),
        ('effort_limit_nm', spec.effort_limit_nm),
        ('position_limit_rad', spec.position_limit_rad),
        ('velocity_limit_rad_s', spec.velocity_limit_rad_s),
        ('control.stiffness', spec.control.stiffness),
        ('control.damping', spec.control.damping),
        ('reset.pose_rad', spec.reset.pose_rad),
    ):
        for expression in expressions:
            if not any(re.fullmatch(expression, name) for name in others):
                raise RobotError(
                    f'{spec.path}: {key}: {expression!r} matches no joint, {spec.mjcf} has '
                    f'{_some(others)}'
                )
    roles = []
    for i, name in enumerate(every):
        if name in base:
            roles.append('base')
        elif any(re.fullmatch(expression, name) for expression in spec.joints.actuated):
            if model.jnt_type[i] == _BALL:
                raise RobotError(
                    f'{spec.path}: joints.actuated: {name!r} is a ball joint, only hinges and '
                    'slides are driven'
                )
            roles.append('actuated')
        else:
            held = matched(spec.joints.locked, name)
            roles.append('passive' if held is None else 'locked')
    return roles


# -- what is derived -----------------------------------------------------------------------


def _nominal(spec: RobotSpec, model: mujoco.MjModel) -> tuple[dict[str, float], dict[str, Array]]:
    """Return the angles of the nominal pose: the file's, else the keyframe's, else the MJCF's."""
    qpos = model.qpos0
    if spec.reset.keyframe is not None:
        keys = [model.key(i).name for i in range(model.nkey)]
        if spec.reset.keyframe not in keys:
            raise RobotError(
                f'{spec.path}: reset.keyframe: no keyframe {spec.reset.keyframe!r} in '
                f'{spec.mjcf}, it has {keys}'
            )
        qpos = model.key(spec.reset.keyframe).qpos
    angles, balls = {}, {}
    for i in range(model.njnt):
        name, at = _joint_name(model, i), int(model.jnt_qposadr[i])
        if model.jnt_type[i] == _BALL:
            balls[name] = np.array(qpos[at : at + 4])
        elif model.jnt_type[i] != _FREE:
            given = matched(spec.reset.pose_rad, name)
            held = matched(spec.joints.locked, name)
            angle = next((x for x in (given, held) if x is not None), float(qpos[at]))
            if given is None and model.jnt_limited[i]:  # some zero poses lie outside of the range
                angle = float(np.clip(angle, *model.jnt_range[i]))
            angles[name] = angle
    return angles, balls


def _facts(spec: RobotSpec, model: mujoco.MjModel, index: int, role: str) -> JointFacts:
    name, kind = _joint_name(model, index), _KINDS[int(model.jnt_type[index])]
    limited = bool(model.jnt_limited[index])
    free = matched(spec.position_limit_rad, name) or (-math.inf, math.inf)
    low, high = model.jnt_range[index].tolist() if limited else free
    if not low < high:
        raise RobotError(f'{spec.path}: position_limit_rad: {name!r}: from {low:g} to {high:g}')
    drive = _drive_of(model, index)
    effort_low, effort_high = _effort(spec, model, index, role, drive)
    velocity = matched(spec.velocity_limit_rad_s, name)
    dof = int(model.jnt_dofadr[index])
    armature = float(model.dof_armature[dof])
    # Gains that nobody gave: a 10 Hz oscillator with the joint's inertia, damped twice over.
    inertia = max(armature, float(model.dof_M0[dof]), 1e-4)
    frequency = 2 * math.pi * _DERIVED_FREQUENCY_HZ
    stiffness = matched(spec.control.stiffness, name)
    damping = matched(spec.control.damping, name)
    if stiffness is None:
        stiffness = drive.stiffness or max(armature, 0.1 * inertia) * frequency**2
    if damping is None:
        damping = drive.damping or 2 * _DERIVED_DAMPING_RATIO * stiffness / frequency
    return JointFacts(
        name=name,
        kind=kind,
        role=role,
        position_low=low,
        position_high=high,
        effort_low_nm=effort_low,
        effort_high_nm=effort_high,
        velocity_rad_s=math.nan if velocity is None else velocity,
        gear=drive.gear,
        driver=drive.kind,
        armature=armature,
        stiffness=float(stiffness),
        damping=float(damping),
    )


class _Drive(NamedTuple):
    """How the MJCF drives a joint."""

    kind: str = 'nothing'
    gear: float = 1.0
    low: float = -math.inf  # torque at the joint, N m
    high: float = math.inf
    stiffness: float = 0.0
    damping: float = 0.0


def _drive_of(model: mujoco.MjModel, joint: int) -> _Drive:
    """Return the first actuator of a joint and the torque that it can give there."""
    for i in range(model.nu):
        if model.actuator_trntype[i] not in _JOINT_DRIVES or model.actuator_trnid[i, 0] != joint:
            continue
        gear = float(model.actuator_gear[i, 0])
        gain, bias = float(model.actuator_gainprm[i, 0]), model.actuator_biasprm[i].tolist()
        affine = model.actuator_biastype[i] == int(mujoco.mjtBias.mjBIAS_AFFINE)
        position = affine and bias[1] < 0
        kind = 'position' if position else 'velocity' if affine and bias[2] < 0 else 'motor'
        ends = [(-math.inf, math.inf)]
        if model.actuator_forcelimited[i]:
            ends.append(tuple(model.actuator_forcerange[i].tolist()))
        if kind == 'motor' and model.actuator_ctrllimited[i]:
            ends.append(tuple((gain * model.actuator_ctrlrange[i]).tolist()))
        low, high = max(low for low, _ in ends), min(high for _, high in ends)
        torque = sorted((low * gear, high * gear)) if gear else (0.0, 0.0)
        return _Drive(
            kind, gear, torque[0], torque[1], -bias[1] * gear**2 if position else 0.0,
            -bias[2] * gear**2 if position else 0.0,
        )  # fmt: skip
    return _Drive()


def _effort(
    spec: RobotSpec, model: mujoco.MjModel, index: int, role: str, drive: _Drive
) -> tuple[float, float]:
    """Return the least and the largest torque: the file's limit, else the MJCF's."""
    name = _joint_name(model, index)
    given = matched(spec.effort_limit_nm, name)
    if given is not None:
        return -given, given
    low, high = drive.low, drive.high
    if model.jnt_actfrclimited[index]:
        allowed = model.jnt_actfrcrange[index]
        low, high = max(low, float(allowed[0])), min(high, float(allowed[1]))
    if math.isfinite(low) and math.isfinite(high) and drive.kind != 'nothing':
        return low, high
    if role == 'actuated':
        raise RobotError(
            f'{spec.path}: joint {name!r} has no torque limit in {spec.mjcf} '
            f'({drive.kind} drives it); add it to effort_limit_nm'
        )
    return math.nan, math.nan


# -- what is changed -----------------------------------------------------------------------


def _lock(
    spec: RobotSpec,
    tree: mujoco.MjSpec,
    facts: tuple[JointFacts, ...],
    angles: dict[str, float],
    model: mujoco.MjModel,
) -> None:
    """Turn each locked joint's body to its angle and take the joint out."""
    locked = {joint.name for joint in facts if joint.role == 'locked'}
    for equality in tree.equalities:
        for name in (equality.name1, equality.name2):
            if equality.type == mujoco.mjtEq.mjEQ_JOINT and name in locked:
                raise RobotError(
                    f'{spec.path}: joints.locked: {name!r} is coupled to another joint by the '
                    f'equality {equality.name!r} in {spec.mjcf}'
                )
    for key in list(tree.keys):
        tree.delete(key)
    for sensor in list(tree.sensors):
        tree.delete(sensor)
    for index, joint in enumerate(facts):
        if joint.role != 'locked':
            continue
        if joint.kind == 'ball':
            tree.delete(tree.joint(joint.name))
            continue
        element = tree.joint(joint.name)
        turn = angles[joint.name] - float(model.qpos0[model.jnt_qposadr[index]])
        if turn:
            _turn_body(element.parent, model, index, turn)
        tree.delete(element)


def _turn_body(body: Any, model: mujoco.MjModel, joint: int, turn: float) -> None:
    """Move a body as its joint would."""
    axis, anchor = model.jnt_axis[joint], model.jnt_pos[joint]
    index = int(model.jnt_bodyid[joint])
    pos, quat = model.body_pos[index].copy(), model.body_quat[index].copy()
    moved = np.zeros(3)
    if model.jnt_type[joint] == _SLIDE:
        mujoco.mju_rotVecQuat(moved, turn * axis, quat)
        body.pos = pos + moved
        return
    by, turned, offset = np.zeros(4), np.zeros(4), np.zeros(3)
    mujoco.mju_axisAngle2Quat(by, axis, turn)
    mujoco.mju_rotVecQuat(offset, anchor, by)
    mujoco.mju_rotVecQuat(moved, anchor - offset, quat)
    mujoco.mju_mulQuat(turned, quat, by)
    body.pos, body.quat = pos + moved, turned


def _drive(
    spec: RobotSpec,
    tree: mujoco.MjSpec,
    facts: tuple[JointFacts, ...],
    nominal: dict[str, float],
    action: str,
) -> None:
    """
    Replace all actuators: one for each driven joint, in their order.

    For PD targets a control is an angle, and MuJoCo closes the loop at each physics step.
    """
    for actuator in list(tree.actuators):
        tree.delete(actuator)
    for joint in facts:
        if joint.role != 'actuated':
            continue
        limits = (joint.effort_low_nm, joint.effort_high_nm)
        common: dict[str, Any] = {
            'name': joint.name,
            'target': joint.name,
            'trntype': mujoco.mjtTrn.mjTRN_JOINT,
        }
        if action == 'torque':
            tree.add_actuator(**common, ctrlrange=limits, ctrllimited=True)
            continue
        # Beyond the joint's range, so that a soft spring gives half of the torque at its ends.
        low_slack, high_slack = (0.5 * limit / joint.stiffness for limit in limits)
        reach, centre = _target_range(spec, max(-low_slack, high_slack)), nominal[joint.name]
        targets = (
            max(centre - reach, joint.position_low + low_slack),
            min(centre + reach, joint.position_high + high_slack),
        )
        if not targets[0] <= centre <= targets[1] or targets[0] == targets[1]:
            raise RobotError(
                f'{spec.path}: reset.pose_rad: {joint.name!r} stands at {centre:g}, outside '
                f'of its range {[joint.position_low, joint.position_high]}'
            )
        motor = tree.add_actuator(
            **common, forcerange=limits, forcelimited=True, ctrlrange=targets, ctrllimited=True
        )
        motor.biastype = mujoco.mjtBias.mjBIAS_AFFINE
        gain, bias = np.zeros(10), np.zeros(10)
        gain[0], bias[1], bias[2] = joint.stiffness, -joint.stiffness, -joint.damping
        motor.gainprm, motor.biasprm = gain, bias


def _target_range(spec: RobotSpec, slack: float) -> float:
    """
    Return how far from the nominal pose a PD target may lie.

    :param slack: rad by which a target must be off to give half of the torque.
    """
    given = spec.control.target_range_rad
    if given is not None:
        return given
    posed = spec.reset.keyframe is not None or bool(spec.reset.pose_rad)
    # Legs at zero are straight; no motion is around that.
    return max(_TARGET_RANGE_RAD, slack) + (0.0 if posed else _TARGET_RANGE_RAD)


def _add_floor(tree: mujoco.MjSpec) -> bool:
    """Name the floor; add one where the world has no plane. Return whether one was added."""
    planes = [g for g in tree.worldbody.geoms if g.type == mujoco.mjtGeom.mjGEOM_PLANE]
    if planes:
        planes[0].name = planes[0].name or FLOOR
        return False
    tree.add_texture(
        name='lsiq_checker',
        type=mujoco.mjtTexture.mjTEXTURE_2D,
        builtin=mujoco.mjtBuiltin.mjBUILTIN_CHECKER,
        rgb1=(0.60, 0.64, 0.69),
        rgb2=(0.68, 0.72, 0.76),
        width=512,
        height=512,
    )
    material = tree.add_material(name='lsiq_floor', texrepeat=(1, 1), texuniform=True)
    textures = list(material.textures)
    textures[int(mujoco.mjtTextureRole.mjTEXROLE_RGB)] = 'lsiq_checker'
    material.textures = textures
    taken = {geom.name for geom in tree.geoms}  # a height field may be called floor
    floor = tree.worldbody.add_geom(
        name=FLOOR if FLOOR not in taken else f'lsiq_{FLOOR}',
        type=mujoco.mjtGeom.mjGEOM_PLANE,
        size=(0, 0, 1),
        material='lsiq_floor',
    )
    # It carries all that collides with anything.
    for geom in tree.geoms:
        floor.contype, floor.conaffinity = (
            floor.contype | geom.conaffinity,
            floor.conaffinity | geom.contype,
        )
    return True


def _measure(spec: RobotSpec, tree: mujoco.MjSpec, forces: bool) -> None:
    """Add the task's sensors: the velocity that counts, then the force on each sole."""
    site = spec.task.speed_of_site
    if site is not None and tree.site(site) is None:
        sites = [element.name for element in tree.sites]
        raise RobotError(
            f'{spec.path}: task.speed_of_site: no site {site!r} in {spec.mjcf}, it has '
            f'{_some(sites)}'
        )
    tree.add_sensor(
        name=SPEED_SENSOR,
        type=mujoco.mjtSensor.mjSENS_FRAMELINVEL,
        objtype=mujoco.mjtObj.mjOBJ_XBODY if site is None else mujoco.mjtObj.mjOBJ_SITE,
        objname=site or spec.base.body,
    )
    floor = next(g for g in tree.worldbody.geoms if g.type == mujoco.mjtGeom.mjGEOM_PLANE)
    bodies = {body.name for body in tree.bodies}
    geoms = {geom.name for geom in tree.geoms}
    for name, foot in spec.feet.items():
        if foot.body not in bodies:
            raise RobotError(
                f'{spec.path}: feet.{name}: no body {foot.body!r} in {spec.mjcf}, it has '
                f'{_some(sorted(bodies))}'
            )
        for sole in foot.soles:
            if sole not in geoms:
                raise RobotError(
                    f'{spec.path}: feet.{name}.soles: no geom {sole!r} in {spec.mjcf}, it has '
                    f'{_some(sorted(filter(None, geoms)))}'
                )
        if not forces:
            continue
        for sole in foot.soles or (name,):
            sensor = tree.add_sensor(
                name=sole,
                type=mujoco.mjtSensor.mjSENS_CONTACT,
                objtype=mujoco.mjtObj.mjOBJ_GEOM,
                objname=floor.name,
                reftype=mujoco.mjtObj.mjOBJ_GEOM if foot.soles else mujoco.mjtObj.mjOBJ_BODY,
                refname=sole if foot.soles else foot.body,
            )
            # What to report (bit 1: the force), how to reduce (3: net force), how many slots.
            sensor.intprm[:3] = (1 << int(mujoco.mjtConDataField.mjCONDATA_FORCE), 3, 1)


def _look(spec: RobotSpec, tree: mujoco.MjSpec, model: mujoco.MjModel) -> None:
    """Add the two cameras that films are taken from, and room for large pictures."""
    view = tree.visual.global_
    view.offwidth, view.offheight = max(view.offwidth, 1920), max(view.offheight, 1080)
    if not tree.lights:
        tree.worldbody.add_light(
            type=mujoco.mjtLightType.mjLIGHT_DIRECTIONAL,
            pos=(0, 0, 3),
            dir=(0.3, 0.5, -1),
            diffuse=(0.7, 0.7, 0.7),
        )
        tree.visual.headlight.ambient = (0.35, 0.35, 0.35)
        sky = mujoco.mjtTexture.mjTEXTURE_SKYBOX
        if all(texture.type != sky for texture in tree.textures):
            tree.add_texture(
                name='lsiq_sky',
                type=sky,
                builtin=mujoco.mjtBuiltin.mjBUILTIN_GRADIENT,
                rgb1=(0.90, 0.93, 0.96),
                rgb2=(0.42, 0.54, 0.68),
                width=64,
                height=384,
            )
    base = tree.body(spec.base.body)
    names = {camera.name for camera in tree.cameras}
    size = 1.4 * max(float(model.stat.extent), 0.3)
    for name, place, axes in (
        ('side', (0.1, -1.5, 0.1), (1, 0, 0, 0, 0.1, 1)),
        ('corner', (1.1, -0.95, 0.2), (0.65, 0.76, 0, -0.1, 0.09, 1)),
    ):
        if name not in names:
            x, y = np.array(axes[:3], float), np.array(axes[3:], float)
            x /= np.linalg.norm(x)
            y -= x * (x @ y)
            y /= np.linalg.norm(y)
            quat = np.zeros(4)
            mujoco.mju_mat2Quat(quat, np.stack((x, y, np.cross(x, y)), axis=1).ravel())
            base.add_camera(
                name=name,
                mode=mujoco.mjtCamLight.mjCAMLIGHT_TRACKCOM,
                pos=np.array(place) * size,
                quat=quat,
            )


def floor_geom(model: mujoco.MjModel) -> int:
    """Return the floor of a compiled robot: the first plane of the world, whatever its name."""
    planes = (model.geom_type == int(mujoco.mjtGeom.mjGEOM_PLANE)) & (model.geom_bodyid == 0)
    return int(np.flatnonzero(planes)[0])


def lowest_points(model: mujoco.MjModel, data: mujoco.MjData) -> dict[int, float]:
    """Return how low each body that moves reaches with what collides."""
    found: dict[int, float] = {}
    for i in range(model.ngeom):
        body = int(model.geom_bodyid[i])
        collides = model.geom_contype[i] or model.geom_conaffinity[i]
        if collides and model.body_weldid[body] != 0:
            low = float(data.geom_xpos[i][2]) - _reach_down(model, data, i)
            found[body] = min(found.get(body, math.inf), low)
    return found


def _reach_down(model: mujoco.MjModel, data: mujoco.MjData, geom: int) -> float:
    """Return how far a geom reaches below its centre."""
    kind = mujoco.mjtGeom(int(model.geom_type[geom]))
    down = data.geom_xmat[geom].reshape(3, 3)[2]
    radius, half = float(model.geom_size[geom][0]), float(model.geom_size[geom][1])
    if kind == mujoco.mjtGeom.mjGEOM_SPHERE:
        return radius
    if kind == mujoco.mjtGeom.mjGEOM_CAPSULE:
        return radius + half * abs(down[2])
    if kind == mujoco.mjtGeom.mjGEOM_CYLINDER:
        return radius * math.hypot(down[0], down[1]) + half * abs(down[2])
    if kind == mujoco.mjtGeom.mjGEOM_ELLIPSOID:
        return float(np.linalg.norm(down * model.geom_size[geom]))
    if kind == mujoco.mjtGeom.mjGEOM_MESH:
        mesh = int(model.geom_dataid[geom])
        first, count = int(model.mesh_vertadr[mesh]), int(model.mesh_vertnum[mesh])
        return float(-(model.mesh_vert[first : first + count] @ down).min())
    box = model.geom_aabb[geom]
    return float(np.abs(down) @ box[3:] - down @ box[:3])


def _joint_name(model: mujoco.MjModel, index: int) -> str:
    return str(model.joint(index).name) or f'unnamed_{index}'


def _some(names: list[str]) -> str:
    shown = ', '.join(repr(name) for name in names[:40])
    return f'[{shown}{", ..." if len(names) > 40 else ""}]'
