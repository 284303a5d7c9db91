# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Write a robot's file from its MJCF: what can be derived, and what must be asked."""

from __future__ import annotations

import json
from pathlib import Path
import re

from lsiq_core.robot import FILE, RobotError, spec_from
import mujoco
import numpy as np
from sim.late_loop import LateLoop
from sim.mjcf import lowest_points, parse_mjcf
from sim.robot import MujocoRobot
import yaml

_TOUCHES_M = 0.03  # bodies that reach so near to the lowest point are feet
_RATE_HZ = 50.0
_SPEED_LIMIT_RAD_S = 20.0
_MOST_DAMPING_PER_S = 250.0  # times inertia
_LATE_S = 0.016  # a state's way over topics to the control node, its torque's way back, and some
_GAINS = '  # gains'  # where they are filled in
# Late worlds are hard and end early; drawn from 0 on there would be few of them to learn from.
_RANGES = """\
# How worlds differ in training, drawn once an episode; sizes as in public stacks of legged robots.
randomisation:
  mass_scale: [0.9, 1.1]
  com_offset_m: [0.0, 0.02]
  friction: [0.4, 1.2]
  joint_friction: [0.0, 0.01]  # of the largest torque
  joint_damping: [0.0, 0.001]  # of the largest torque, per rad/s
  armature: [0.0, 0.2]  # of the joint's own inertia
  torque_scale: [0.9, 1.05]
  delay_ms: [4.0, 12.0]
  delay_jitter_ms: [0.0, 2.0]
  observation_delay_ms: [0.0, 2.0]
  push_n: [0.0, {push_n:.0f}]  # a third of the weight
  push_every_s: [2.0, 4.0]
  push_duration_s: 0.1
  position_noise: [0.0, 0.01]
  velocity_noise: [0.0, 0.5]
  base_velocity_noise: [0.0, 0.2]
  force_noise_n: [0.0, 10.0]
  encoder_offset_rad: [0.0, 0.01]
  base_position_bias: [0.0, 0.01]
  base_velocity_bias: [0.0, 0.03]
"""
_STANDING = ('home', 'stand', 'standing', 'nominal')  # keyframes that are taken before others
# What a name says of its side, as a word in it: left_foot, FL_calf, LF_FOOT, leftFoot.
_LEFT = re.compile(r'^(left|l|[frhb]l|l[fhb])$|^left', re.IGNORECASE)
_RIGHT = re.compile(r'^(right|r|[frhb]r|r[fhb])$|^right', re.IGNORECASE)


def describe(mjcf: Path, forward: str | None = None) -> str:
    """
    Return the text of a robot.yaml for an MJCF.

    :param mjcf: the model.
    :param forward: the axis of the base that points forward; None derives it from left and right.
    """
    model = parse_mjcf(mjcf)[0]
    data = mujoco.MjData(model)
    key = _keyframe(model)
    if key is not None:
        data.qpos[:] = model.key_qpos[key]
    mujoco.mj_kinematics(model, data)
    base = _base(mjcf, model)
    feet = _feet(mjcf, model, data)
    axis = forward or _forward(mjcf, model, data, feet)
    driven = _driven(mjcf, model)
    lowest = min(lowest_points(model, data).values())
    height = float(data.xpos[model.body(base).id][2]) - lowest
    weight_n = 9.81 * float(mujoco.mj_getTotalmass(model))
    lines = [
        f'# {mjcf.stem}, described by lsiq robot new. Check it: lsiq robot check {mjcf.parent}',
        f'mjcf: {_word(mjcf.name)}',
        f'base: {{body: {_word(base)}, forward: {axis}}}  # forward: x, -x, y or -y of that body',
        'joints:',
        '  # Whole names or regular expressions. What is in neither list is passive.',
        f'  actuated: [{", ".join(map(_expression, driven))}]',
        "  # locked: {'.*arm.*': 0.0}  # held rigidly at this angle, rad",
        "feet:  # what stands on the floor; the floor's force is read on each",
        *(f'  {_plain(name)}: {_word(name)}' for name in feet),
        *_limits(model, driven, 0.3 * weight_n * max(height, 0.1)),
        *_ranges(model, data, driven),
        f"velocity_limit_rad_s: {{'.*': {_SPEED_LIMIT_RAD_S}}}  # a guess; the motors' data sheet "
        'knows',
        'control:',
        f'  rate_hz: {_rate(float(model.opt.timestep))!r}',
        '  action: pd_target  # or torque: harder to learn, needs a higher rate',
        _GAINS,
        '# What ends an episode, and what trips the gate.',
        f'task: {{fall: {{height_m: {0.6 * height:.2f}, tilt_rad: 0.8}}}}',
        f'gate: {{min_height_m: {0.5 * height:.2f}, max_tilt_rad: 0.8, '
        f'power_w: {max(100.0, round(10 * weight_n, -2)):.0f}}}',
        _reset(model, key),
        *_RANGES.format(push_n=0.3 * weight_n).splitlines(),
    ]
    text = '\n'.join(lines) + '\n'
    spec = spec_from(yaml.safe_load(text), mjcf.parent / FILE)
    return text.replace(_GAINS, '\n'.join(_gains(MujocoRobot(spec, forces=False))))


def _gains(robot: MujocoRobot) -> list[str]:
    """
    Write the gains of PD targets.

    Stiff as the joint's inertia allows, but such that the torque limit is reached somewhere
    between half a radian and two: a softer joint sags, a stiffer one knows only full torque.
    Then softer until torque may come late.
    """
    stiffness, damping = np.zeros((2, len(robot.facts)))
    for index, joint in enumerate(robot.facts):
        dof = int(robot.model.joint(joint.name).dofadr[0])
        inertia = max(joint.armature, float(robot.model.dof_M0[dof]), 1e-4)
        gain = joint.stiffness
        if joint.driver != 'position':
            gain = float(np.clip(gain, joint.effort_high_nm / 2, joint.effort_high_nm / 0.5))
        # No more damping than a loop of some hundred hertz closes without ringing.
        most = min(joint.damping * gain / joint.stiffness, _MOST_DAMPING_PER_S * inertia)
        stiffness[index], damping[index] = gain, most
    stiffness, damping = LateLoop(robot).softened(stiffness, damping, _LATE_S)
    return [
        '  # Derived from inertia and torque limits: N m/rad and N m s/rad. The loop is stable',
        f'  # with torque that comes {1000 * _LATE_S:g} ms late.',
        *_table('stiffness', dict(zip(robot.joints, stiffness.tolist()))),
        *_table('damping', dict(zip(robot.joints, damping.tolist()))),
    ]


def _table(key: str, values: dict[str, float]) -> list[str]:
    """Write numbers by joint; joints with the same number share a line."""
    shared: dict[str, list[str]] = {}
    for name, value in values.items():
        shared.setdefault(f'{value:.3g}', []).append(re.escape(name).replace(r'\-', '-'))
    if len(shared) == 1:
        return [f"  {key}: {{'.*': {float(next(iter(shared))):g}}}"]
    lines = [f"    '{'|'.join(names)}': {float(value):g}" for value, names in shared.items()]
    return [f'  {key}:', *lines]


def _keyframe(model: mujoco.MjModel) -> int | None:
    """Return the keyframe whose pose is nominal: one that is called so, else the first."""
    names = [str(model.key(i).name) for i in range(model.nkey)]
    standing = [i for i, name in enumerate(names) if name.lower() in _STANDING]
    return next(iter((*standing, *range(len(names)))), None)


def _reset(model: mujoco.MjModel, key: int | None) -> str:
    if key is None:
        return "# reset: {pose_rad: {'.*knee.*': 0.3}}  # the nominal pose, else all zero"
    name = str(model.key(key).name)
    if name:
        return f'reset: {{keyframe: {_word(name)}}}  # its joint angles'
    angles = [
        f'{_expression(str(model.joint(i).name))}: '
        f'{float(model.key_qpos[key][model.jnt_qposadr[i]]):.6g}'
        for i in range(model.njnt)
        if model.jnt_type[i] >= 2 and model.jnt_bodyid[i] != _base_body(model)
    ]
    return f'reset: {{pose_rad: {{{", ".join(angles)}}}}}  # of the first keyframe'


def _limits(model: mujoco.MjModel, driven: list[str], guess_nm: float) -> list[str]:
    """Write torque limits where the MJCF has none."""
    unlimited = [name for name in driven if not _has_limit(model, name)]
    if not unlimited:
        return ["# effort_limit_nm: {'.*': 100.0}  # else the MJCF's"]
    values = ', '.join(f'{_expression(name)}: {guess_nm:.3g}' for name in unlimited)
    return [
        '# The MJCF has no torque limit for these. The numbers are guessed from the weight, N m.',
        f'effort_limit_nm: {{{values}}}',
    ]


def _ranges(model: mujoco.MjModel, data: mujoco.MjData, driven: list[str]) -> list[str]:
    """Write position limits where the MJCF has none."""
    free = [name for name in driven if not model.jnt_limited[model.joint(name).id]]
    if not free:
        return []
    places = {name: float(data.qpos[model.joint(name).qposadr[0]]) for name in free}
    values = (f'{_expression(n)}: [{at - 3.14:.3g}, {at + 3.14:.3g}]' for n, at in places.items())
    return [
        '# The MJCF has no range for these. The gate needs one; this is half a turn each way.',
        f'position_limit_rad: {{{", ".join(values)}}}',
    ]


def _base_body(model: mujoco.MjModel) -> int:
    """Return the body that floats, or 0."""
    free = [int(model.jnt_bodyid[i]) for i in range(model.njnt) if model.jnt_type[i] == 0]
    chains = [
        i
        for i in range(1, model.nbody)
        if model.body_parentid[i] == 0 and model.body_jntnum[i] == 6
    ]
    return (free + chains + [0])[0]


def _base(mjcf: Path, model: mujoco.MjModel) -> str:
    """Return the name of the body that floats."""
    free = [i for i in range(model.njnt) if model.jnt_type[i] == 0]
    if len(free) > 1:
        bodies = [model.body(int(model.jnt_bodyid[i])).name for i in free]
        raise RobotError(f'{mjcf}: several bodies float: {bodies}; only the base may')
    base = _base_body(model)
    if base:
        name = str(model.body(base).name)
        if not name:
            raise RobotError(f'{mjcf}: the body that floats has no name; give it one')
        return name
    tops = [model.body(i).name for i in range(1, model.nbody) if model.body_parentid[i] == 0]
    raise RobotError(
        f'{mjcf}: no body floats; add <freejoint/> to the base, which is one of {tops}'
    )


def _feet(mjcf: Path, model: mujoco.MjModel, data: mujoco.MjData) -> list[str]:
    """Return the bodies that reach the floor; of those that carry each other the lowest."""
    bodies = lowest_points(model, data)
    if not bodies:
        raise RobotError(
            f'{mjcf}: nothing collides, so nothing can stand; give the feet geoms with contype or '
            'conaffinity (contact pairs alone know no floor)'
        )
    near = {i: low for i, low in bodies.items() if low < min(bodies.values()) + _TOUCHES_M}
    chains = {i: _ancestors(model, i) for i in near}
    feet = [
        i
        for i, low in near.items()
        if not any(
            (i in chains[j] and near[j] <= low) or (j in chains[i] and near[j] < low)
            for j in near
            if j != i
        )
    ]
    unnamed = [i for i in feet if not model.body(i).name]
    if unnamed:
        parents = [model.body(int(model.body_parentid[i])).name for i in unnamed]
        raise RobotError(f'{mjcf}: the feet below {parents} have no names; give their bodies some')
    return [str(model.body(i).name) for i in feet]


def _ancestors(model: mujoco.MjModel, body: int) -> set[int]:
    found = set()
    while body:
        body = int(model.body_parentid[body])
        found.add(body)
    return found


def _forward(mjcf: Path, model: mujoco.MjModel, data: mujoco.MjData, feet: list[str]) -> str:
    """Derive the forward axis from which feet are left and which are right."""
    body = _base_body(model)
    turn = data.xmat[body].reshape(3, 3)
    places = {name: (data.body(name).xpos - data.xpos[body]) @ turn for name in feet}
    left = [place for name, place in places.items() if _says(_LEFT, name)]
    right = [place for name, place in places.items() if _says(_RIGHT, name)]
    if left and right:
        x, y, _ = np.mean(left, axis=0) - np.mean(right, axis=0)
        if abs(y) > 2 * abs(x):
            return 'x' if y > 0 else '-x'
        if abs(x) > 2 * abs(y):
            return '-y' if x > 0 else 'y'
    raise RobotError(
        f'{mjcf}: cannot tell which way is forward from the feet {feet}; say it with --forward '
        'x, -x, y or -y'
    )


def _says(side: re.Pattern[str], name: str) -> bool:
    return any(side.search(word) for word in re.split(r'[^A-Za-z]+', name))


def _driven(mjcf: Path, model: mujoco.MjModel) -> list[str]:
    """Return the joints with actuators; where there are none at all, every hinge and slide."""
    base = _base_body(model)
    movable = [
        i for i in range(model.njnt) if model.jnt_type[i] >= 2 and model.jnt_bodyid[i] != base
    ]
    acting = {
        int(model.actuator_trnid[i, 0]) for i in range(model.nu) if model.actuator_trntype[i] <= 1
    }
    driven = [i for i in movable if i in acting] or movable
    if not driven:
        raise RobotError(f'{mjcf}: has no hinge and no slide, so nothing can be driven')
    return [str(model.joint(i).name) for i in driven]


def _has_limit(model: mujoco.MjModel, name: str) -> bool:
    joint = model.joint(name).id
    if model.jnt_actfrclimited[joint]:
        return True
    for i in range(model.nu):
        if model.actuator_trntype[i] <= 1 and model.actuator_trnid[i, 0] == joint:
            motor = not model.actuator_biasprm[i, 1:3].any()
            by_control = motor and model.actuator_ctrllimited[i]
            return bool(model.actuator_forcelimited[i] or by_control)
    return False


def _rate(timestep_s: float) -> float:
    """Return the rate nearest to 50 Hz that is a whole number of physics steps."""
    rate = 1 / (max(1, round(1 / (_RATE_HZ * timestep_s))) * timestep_s)
    return round(rate, 9)


def _word(name: str) -> str:
    """Return a name as YAML takes it for a text."""
    plain = re.fullmatch(r'[A-Za-z_][A-Za-z0-9_./-]*', name)
    reserved = name.lower() in ('y', 'n', 'yes', 'no', 'on', 'off', 'true', 'false', 'null')
    return name if plain and not reserved else json.dumps(name)


def _expression(name: str) -> str:
    """Return a joint's name as an expression that matches it alone."""
    return _word(name if re.fullmatch(r'[\w-]+', name) else re.escape(name))


def _plain(name: str) -> str:
    plain = re.sub(r'[^A-Za-z0-9_]', '_', name)
    return plain if plain[:1].isalpha() else f'foot_{plain}'
