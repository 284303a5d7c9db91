# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Write a robot's file from its MJCF: what can be derived, and what must be asked."""

from __future__ import annotations

from pathlib import Path
import re

from lsiq_core.robot import RobotError
import mujoco
import numpy as np
from sim.mjcf import check_files

_TOUCHES_M = 0.03  # bodies that reach so near to the lowest point are feet
_LEFT = re.compile(r'(^|_)(left|l|[fr]l|[fhr]l)(_|$)', re.IGNORECASE)
_RIGHT = re.compile(r'(^|_)(right|r|[fr]r|[fhr]r)(_|$)', re.IGNORECASE)


def describe(mjcf: Path, forward: str | None = None) -> str:
    """
    Return the text of a robot.yaml for an MJCF.

    :param mjcf: the model.
    :param forward: the axis of the base that points forward; None derives it from left and right.
    """
    check_files(mjcf)
    try:
        model = mujoco.MjModel.from_xml_path(str(mjcf))
    except ValueError as error:
        raise RobotError(f'{mjcf}: MuJoCo refuses it: {error}') from error
    data = mujoco.MjData(model)
    if model.nkey:
        data.qpos[:] = model.key_qpos[0]
    mujoco.mj_kinematics(model, data)
    base = _base(mjcf, model)
    feet = _feet(mjcf, model, data)
    axis = forward or _forward(mjcf, model, data, feet)
    driven = _driven(model)
    names = [model.joint(i).name for i in range(model.njnt)]
    hinges = [name for i, name in enumerate(names) if int(model.jnt_type[i]) >= 2]
    unlimited = [name for name in driven if not _has_limit(model, name)]
    height = float(data.xpos[model.body(base).id][2]) - _lowest(model, data)[0]
    rate = _rate(float(model.opt.timestep))
    lines = [
        f'# {mjcf.stem}, described by lsiq robot new. Check it: lsiq robot check {mjcf.parent}',
        f'mjcf: {mjcf.name}',
        f'base: {{body: {base}, forward: {axis}}}  # forward: x, -x, y or -y of that body',
        'joints:',
        '  # Whole names or regular expressions. What is in neither list is passive.',
        f'  actuated: [{", ".join(driven or hinges)}]',
        "  # locked: {'.*arm.*': 0.0}  # held rigidly at this angle, rad",
        "feet:  # what stands on the floor; the floor's force is read on each",
        *(f'  {_plain(name)}: {name}' for name in feet),
        *(
            ['# No torque limit in the MJCF: a number for each of these is needed, N m.']
            + [f'effort_limit_nm: {{{", ".join(f"{name}: 100.0" for name in unlimited)}}}']
            if unlimited
            else ["# effort_limit_nm: {'.*': 100.0}  # else the MJCF's"]
        ),
        "velocity_limit_rad_s: {'.*': 20.0}  # of the motors; no MJCF has it, the gate needs it",
        f'control: {{rate_hz: {rate:g}, action: torque}}  # or pd_target',
        'task:',
        '  speed_mps: 0.5',
        f'  fall: {{height_m: {0.6 * height:.2f}, tilt_rad: 0.8}}',
    ]
    if model.nkey and model.key(0).name:
        lines.append(f'reset: {{keyframe: {model.key(0).name}}}  # its joint angles')
    else:
        lines.append("# reset: {pose_rad: {'.*knee.*': 0.3}}  # the nominal pose, else all zero")
    return '\n'.join(lines) + '\n'


def _base(mjcf: Path, model: mujoco.MjModel) -> str:
    """Return the body that floats."""
    free = [int(model.jnt_bodyid[i]) for i in range(model.njnt) if model.jnt_type[i] == 0]
    if len(free) > 1:
        bodies = [model.body(i).name for i in free]
        raise RobotError(f'{mjcf}: several bodies float: {bodies}; only the base may')
    if free:
        return str(model.body(free[0]).name)
    for i in range(1, model.nbody):
        if model.body_parentid[i] == 0 and model.body_jntnum[i] == 6:
            return str(model.body(i).name)
    tops = [model.body(i).name for i in range(1, model.nbody) if model.body_parentid[i] == 0]
    raise RobotError(
        f'{mjcf}: no body floats; add <freejoint/> to the base, which is one of {tops}'
    )


def _lowest(model: mujoco.MjModel, data: mujoco.MjData) -> tuple[float, dict[int, float]]:
    """Return the lowest point of all that collides, and of each body."""
    found: dict[int, float] = {}
    for i in range(model.ngeom):
        body = int(model.geom_bodyid[i])
        if body == 0 or not (model.geom_contype[i] or model.geom_conaffinity[i]):
            continue
        box, turn = model.geom_aabb[i], data.geom_xmat[i].reshape(3, 3)
        centre = data.geom_xpos[i] + turn @ box[:3]
        low = float(centre[2] - np.abs(turn[2]) @ box[3:])
        found[body] = min(found.get(body, low), low)
    return min(found.values(), default=0.0), found


def _feet(mjcf: Path, model: mujoco.MjModel, data: mujoco.MjData) -> list[str]:
    lowest, bodies = _lowest(model, data)
    feet = [str(model.body(i).name) for i, low in bodies.items() if low < lowest + _TOUCHES_M]
    if not feet:
        raise RobotError(f'{mjcf}: nothing collides, so nothing can stand; give the feet geoms')
    return feet


def _forward(mjcf: Path, model: mujoco.MjModel, data: mujoco.MjData, feet: list[str]) -> str:
    """Derive the forward axis from which feet are left and which are right."""
    places = {name: data.body(name).xpos for name in feet}
    left = [place for name, place in places.items() if _LEFT.search(name)]
    right = [place for name, place in places.items() if _RIGHT.search(name)]
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


def _driven(model: mujoco.MjModel) -> list[str]:
    on_joints = [i for i in range(model.nu) if model.actuator_trntype[i] <= 1]
    joints = sorted({int(model.actuator_trnid[i, 0]) for i in on_joints})
    return [str(model.joint(i).name) for i in joints]


def _has_limit(model: mujoco.MjModel, name: str) -> bool:
    joint = model.joint(name).id
    if model.jnt_actfrclimited[joint]:
        return True
    for i in range(model.nu):
        if model.actuator_trnid[i, 0] == joint:
            motor = not model.actuator_biasprm[i, 1:3].any()
            by_control = motor and model.actuator_ctrllimited[i]
            return bool(model.actuator_forcelimited[i] or by_control)
    return False


def _rate(timestep_s: float) -> float:
    """Return the rate nearest to 50 Hz that is a whole number of physics steps."""
    return 1 / (max(1, round(0.02 / timestep_s)) * timestep_s)


def _plain(name: str) -> str:
    plain = re.sub(r'[^A-Za-z0-9_]', '_', name)
    return plain if plain[:1].isalpha() else f'foot_{plain}'
