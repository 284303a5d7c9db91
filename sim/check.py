# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Try a robot in simulation and say what was found: dropped, held, wiggled, shaken."""

from collections.abc import Iterator
import math
import time
from typing import NamedTuple

from lsiq_core.robot import RobotSpec
import mujoco
import numpy as np
from sim.late_loop import LateLoop
from sim.mjcf import JointFacts
from sim.robot import MujocoRobot
from sim.walking import Walking, WalkingConfig

ERROR, WARNING, NOTE = 'error', 'warning', 'note'
_WIGGLE_S, _WIGGLE_SHARE = 0.05, 0.1
_LATE_MS = 8.0  # torque over topics is hardly younger


class Finding(NamedTuple):
    """One thing that a person should know; an error means that it cannot be trained on."""

    severity: str
    text: str


def check_robot(spec: RobotSpec, *, seconds: float = 5.0, seed: int = 0) -> list[Finding]:
    """Return the findings about a robot, the worst first."""
    env = Walking(
        spec, WalkingConfig('full', action='torque', start='stand', max_episode_steps=10**9)
    )
    held = Walking(spec, WalkingConfig(action='pd_target', start='stand', max_episode_steps=10**9))
    found = [
        *_static(env),
        *_drop(env, seconds),
        *_hold(held, seconds),
        *_wiggle(env),
        *_shake(env, seconds, seed),
        *(
            []
            if spec.control.action == 'torque'
            else [_late(held.robot), *_shake(held, seconds, seed)]
        ),
    ]
    order = (ERROR, WARNING, NOTE)
    return sorted(found, key=lambda finding: order.index(finding.severity))


def _static(env: Walking) -> list[Finding]:
    found, robot, compiled = [], env.robot, env.robot.compiled
    if compiled.floor_added:
        found.append(Finding(NOTE, 'the MJCF has no floor, a plane is added'))
    said: dict[Finding, list[str]] = {}
    for joint in robot.facts:
        for finding in _about(joint):
            said.setdefault(finding, []).append(joint.name)
    for (severity, text), joints in said.items():
        who = 'all driven joints' if len(joints) == len(robot.facts) else ', '.join(joints)
        found.append(Finding(severity, f'{who}: {text}'))
    passive = [joint.name for joint in compiled.joints if joint.role == 'passive']
    if passive:
        found.append(Finding(NOTE, f'passive, neither driven nor observed: {", ".join(passive)}'))
    touching = _touching(env)
    missing = [sole for sole in robot.soles if sole not in touching]
    if missing:
        found.append(
            Finding(
                WARNING,
                f'at the nominal pose the floor does not carry {", ".join(missing)}: are feet and '
                'reset.pose_rad right?',
            )
        )
    return found


def _about(joint: JointFacts) -> Iterator[Finding]:
    if joint.driver in ('position', 'velocity'):
        yield Finding(
            NOTE,
            f'a {joint.driver} actuator in the MJCF, driven here as a motor of '
            f'{joint.effort_low_nm:g} to {joint.effort_high_nm:g} N m',
        )
    elif joint.driver == 'nothing':
        yield Finding(NOTE, 'no actuator in the MJCF, driven here')
    if joint.gear != 1:
        yield Finding(
            NOTE,
            f'gear {joint.gear:g}; topics carry joint torque, the motor gives '
            f'torque / {joint.gear:g}',
        )
    if math.isnan(joint.velocity_rad_s):
        yield Finding(WARNING, 'no velocity limit; the gate needs velocity_limit_rad_s')
    if not math.isfinite(joint.position_high - joint.position_low):
        yield Finding(WARNING, 'no position limits in the MJCF; the gate needs position_limit_rad')


def _late(robot: MujocoRobot) -> Finding:
    """Say how late the torque of PD targets may come."""
    stiffness, damping = np.array([(j.stiffness, j.damping) for j in robot.facts]).T
    late_ms = 1000 * LateLoop(robot).longest_delay_s(stiffness, damping)
    if late_ms < 0:
        text = 'at its nominal pose the loop of PD targets shakes; see control.damping'
        return Finding(WARNING, text)
    return Finding(
        NOTE if late_ms >= _LATE_MS else WARNING,
        f'the loop of PD targets is stable with torque that comes up to {late_ms:.0f} ms late',
    )


def _touching(env: Walking) -> set[str]:
    """Return the soles that the floor carries when the robot is put down at its nominal pose."""
    env.reset_to(env.robot.nominal_frame())
    env.data.qpos[env.robot.base_qpos + 2] -= 1e-3
    mujoco.mj_forward(env.model, env.data)
    forces = env.data.sensordata[3:].reshape(-1, 3)
    return {sole for sole, force in zip(env.robot.soles, forces) if force[2] > 0}


def _drop(env: Walking, seconds: float) -> list[Finding]:
    """Let go of it: without torque it must fall down and lie still somewhere finite."""
    env.reset_to(env.robot.nominal_frame())
    for _ in range(round(seconds * env.rate_hz)):
        env.step(np.zeros(len(env.joints)))
    if not np.isfinite(env.data.qpos).all():
        return [Finding(ERROR, 'dropped without torque: the simulation diverges')]
    height = float(env.data.qpos[env.robot.base_qpos + 2])
    if height < -0.05:
        if _touching(env):  # a fall ends an episode before that
            text = f'it sinks to {height:.2f} m: the floor carries its feet, not its body'
            return [Finding(WARNING, f'dropped without torque: {text}')]
        return [Finding(ERROR, f'dropped without torque: it sinks to {height:.2f} m')]
    speed = float(np.abs(env.data.qvel).max())
    if speed > 5.0:
        return [Finding(WARNING, f'dropped without torque: it still moves at {speed:.1f} rad/s')]
    return [Finding(NOTE, f'dropped without torque: it comes to rest at {height:.2f} m')]


def _hold(env: Walking, seconds: float) -> list[Finding]:
    """Hold the nominal pose by PD targets."""
    env.reset_to(env.robot.nominal_frame())
    for step in range(round(seconds * env.rate_hz)):
        if env.step(env.robot.rest).terminated:
            return [
                Finding(
                    WARNING,
                    f'held by PD at its nominal pose it falls after {step / env.rate_hz:.2f} s; '
                    'a walker may; else see control.stiffness and reset.pose_rad',
                )
            ]
    return [Finding(NOTE, f'held by PD at its nominal pose it stands for {seconds:g} s')]


def _wiggle(env: Walking) -> list[Finding]:
    """Push each joint in the air: a positive torque must turn it the positive way."""
    found = []
    for index, joint in enumerate(env.robot.facts):
        moved = []
        for sign in (0.0, 1.0):
            qpos, qvel = env.robot.split(env.robot.nominal_frame())
            qpos[env.robot.base_qpos + 2] += 5.0
            env._start_at(qpos, qvel)
            env.data.ctrl[index] = sign * _WIGGLE_SHARE * joint.effort_high_nm
            mujoco.mj_step(env.model, env.data, max(1, round(_WIGGLE_S / env.model.opt.timestep)))
            moved.append(float(env.data.qpos[env.robot.joint_qpos[index]]))
        if not moved[1] > moved[0]:
            found.append(
                Finding(
                    WARNING,
                    f'{joint.name}: {_WIGGLE_SHARE:.0%} of its torque moves it by '
                    f'{moved[1] - moved[0]:.2g}: is it blocked, or are its limits wrong?',
                )
            )
    if not found:
        found.append(Finding(NOTE, 'wiggled: a positive torque turns every joint positively'))
    return found


def _shake(env: Walking, seconds: float, seed: int) -> list[Finding]:
    """Command anything at all and time it; how bad it is to diverge depends on what is trained."""
    what = {'torque': 'random torque', 'pd_target': 'random PD targets'}[env.robot.action]
    rng, steps = np.random.default_rng(seed), round(seconds * env.rate_hz)
    env.reset_to(env.robot.nominal_frame())
    began = time.perf_counter()
    for _ in range(steps):
        env.step(rng.uniform(env.action_low, env.action_high))
    factor = seconds / (time.perf_counter() - began)
    if not np.isfinite(env.data.qpos).all():
        trained = env.robot.action == env.spec.control.action
        return [
            Finding(
                ERROR if trained else WARNING,
                f'{what}: the simulation diverges; try a smaller control.timestep_s, more '
                'armature or smaller effort limits',
            )
        ]
    text = f'{what}: stays finite; {factor:.1f} times real time here'
    if factor >= 2:
        return [Finding(NOTE, text)]
    timestep_s = float(env.model.opt.timestep)
    return [
        Finding(
            WARNING,
            f'{text}, so training is slow; a larger control.timestep_s (now {timestep_s:g} s) '
            'and simpler collision geoms help',
        )
    ]
