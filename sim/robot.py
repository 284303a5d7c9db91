# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
A simulated robot: what can be read off it by name, and how it is put where it was observed.

====================  ===================================================================
term group            terms
====================  ===================================================================
``base_pose``         ``base/height``, ``base/roll``, ``base/pitch``, ``base/yaw`` (REP-103)
``base_twist``        ``base/world_velocity_x`` (y, z): along the axes of odom, that is the
                      world; ``base/roll_rate`` (pitch, yaw): the rates of the angles
``joint_positions``   ``<joint>/position`` of each actuated joint
``joint_velocities``  ``<joint>/velocity`` of each actuated joint
``foot_forces``       ``<sole>/force_x`` (y, z): the floor's force, along the axes of odom
====================  ===================================================================

Positions and velocities are those of this instant; forces and the speed that the task counts
are those of the last physics step. The frame of the base, ``base_link``, is that of its body,
turned so that x points forward (``base.forward`` of the robot's file).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
import math
from typing import Any, NamedTuple

from lsiq_core.robot import RobotError, RobotSpec
from lsiq_core.rotations import (
    ARRAYS,
    quaternion_from_rpy,
    quaternion_to_rpy,
    Turns,
    YAW_PITCH_ROLL,
)
from lsiq_core.types import Array, BASE_POSE, BASE_TWIST, BaseOdometry, Term
import mujoco
import numpy as np
from sim.chains import Chains
from sim.mjcf import compile_robot, JointFacts, lowest_points
from sim.springs import Springs

# What an action is called, and its unit by the kind of joint.
ACTIONS = {
    'torque': ('effort', {'hinge': 'N m', 'slide': 'N'}),
    'pd_target': ('position', {'hinge': 'rad', 'slide': 'm'}),
}
# Quarter turns about z from the body's frame to base_link.
FORWARD_TURNS = {'x': 0, 'y': 1, '-x': 2, '-y': 3}
SPEED = 0  # the first sensor: forward velocity
FIRST_FORCE = 3


class KinematicColumns(NamedTuple):
    """Where the groups of a kinematic observation stand."""

    pose: slice
    positions: slice
    twist: slice
    velocities: slice


def kinematic_columns(size: int) -> KinematicColumns:
    """Return the columns of a kinematic observation with so many values."""
    joints = (size - len(BASE_POSE) - len(BASE_TWIST)) // 2
    ends = np.cumsum([0, len(BASE_POSE), joints, len(BASE_TWIST), joints]).tolist()
    return KinematicColumns(*(slice(first, last) for first, last in zip(ends, ends[1:])))


def forward_speed_mps(frames: Array) -> float:
    """Return how fast kinematic frames, [F, D], go forward in the mean."""
    return float(frames[:, kinematic_columns(frames.shape[1]).twist.start].mean())


def terms_of(
    spec: RobotSpec, observation: str, joints: tuple[JointFacts, ...]
) -> tuple[Term, ...]:
    """Describe a named observation, in order."""
    groups = {
        'base_pose': BASE_POSE,
        'base_twist': BASE_TWIST,
        'joint_positions': tuple(
            Term(f'{joint.name}/position', 'm' if joint.kind == 'slide' else 'rad')
            for joint in joints
        ),
        'joint_velocities': tuple(
            Term(f'{joint.name}/velocity', 'm/s' if joint.kind == 'slide' else 'rad/s')
            for joint in joints
        ),
        'foot_forces': tuple(
            Term(f'{sole}/force_{axis}', 'N', 'odom') for sole in spec.soles for axis in 'xyz'
        ),
    }
    return tuple(term for group in spec.groups(observation) for term in groups[group])


def observation_terms(spec: RobotSpec, observation: str) -> tuple[Term, ...]:
    """Describe a named observation of a robot that is not simulated yet."""
    return terms_of(spec, observation, compile_robot(spec, forces=False).actuated)


class MujocoRobot:
    """A compiled robot: names, places in MuJoCo's vectors, limits."""

    def __init__(
        self,
        spec: RobotSpec,
        *,
        forces: bool = True,
        action: str | None = None,
        drawn: bool = True,
    ) -> None:
        """
        Compile it.

        :param forces: measure the floor's force on each sole.
        :param action: ``torque`` or ``pd_target``; None for what the file says.
        :param drawn: it can be looked at; one that is only simulated needs far less memory.
        """
        self.spec = spec
        self.action = action or spec.control.action
        self.compiled = compile_robot(spec, forces=forces, action=self.action, drawn=drawn)
        self.model = self.compiled.model
        self.facts = self.compiled.actuated
        self.joints = tuple(joint.name for joint in self.facts)
        self.soles = spec.soles if forces else ()
        self.substeps = self._physics_steps()
        model = self.model
        first = model.joint(self.compiled.base_joints[0])
        self.base_qpos, self.base_qvel = int(first.qposadr[0]), int(first.dofadr[0])
        self.free = len(self.compiled.base_joints) == 1
        self.angles = 4 if self.free else 3  # values of the base's orientation in qpos
        self._turns = None if self.free else self._chain_turns()
        self._forward_turns = FORWARD_TURNS[spec.base.forward]
        self.joint_qpos = np.array([int(model.joint(j).qposadr[0]) for j in self.joints])
        self.joint_qvel = np.array([int(model.joint(j).dofadr[0]) for j in self.joints])
        self.pushed_body = self._pushed_body()
        quantity, units = ACTIONS[self.action]
        self.action_terms = tuple(
            Term(f'{joint.name}/{quantity}', units[joint.kind]) for joint in self.facts
        )
        self.action_low = model.actuator_ctrlrange[:, 0].copy()
        self.action_high = model.actuator_ctrlrange[:, 1].copy()
        base_dofs = np.arange(self.base_qvel, self.base_qvel + 6)
        observed = np.concatenate((base_dofs, self.joint_qvel))
        self.chains, self.springs = Chains(model, observed), Springs(model, observed)
        self.nominal_qpos = self._nominal_qpos()
        # What PD targets mean, for whoever closes the loop elsewhere; nothing for torques.
        self.pd_targets: list[dict[str, float]] = []
        if self.action == 'pd_target':
            self.pd_targets = [
                {
                    'nominal': float(self.nominal_qpos[at]),
                    'stiffness': joint.stiffness,
                    'damping': joint.damping,
                    'effort_low': joint.effort_low_nm,
                    'effort_high': joint.effort_high_nm,
                }
                for joint, at in zip(self.facts, self.joint_qpos)
            ]
        # What is commanded before the first command comes: no torque, or the nominal pose.
        torque = self.action == 'torque'
        self.rest = np.zeros(model.nu) if torque else self.nominal_qpos[self.joint_qpos]

    # -- names -----------------------------------------------------------------------------

    def terms(self, observation: str) -> tuple[Term, ...]:
        """Describe a named observation, in order."""
        return terms_of(self.spec, observation, self.facts)

    @property
    def kinematic_size(self) -> int:
        """Return how many values a kinematic observation has."""
        return len(BASE_POSE) + len(BASE_TWIST) + 2 * len(self.joints)

    # -- readings --------------------------------------------------------------------------

    def reader(self, observation: str, qpos: Array, qvel: Array, sensors: Array) -> Reader:
        """Return what reads an observation out of MuJoCo's vectors, [...] of one or of many."""
        return Reader(self, self.spec.groups(observation), qpos, qvel, sensors)

    def split(self, frames: Array) -> tuple[Array, Array]:
        """
        Take kinematic observations, or any that hold one first, apart into qpos and qvel.

        :param frames: [..., D]; where the robot stands on the floor is not in it and becomes
            zero; joints that are not observed are at the nominal pose, at rest, or where closed
            chains and the load on their springs put them.
        """
        frames = self.kinematic_part(np.asarray(frames, np.float64))
        lead = frames.shape[:-1]
        qpos = np.broadcast_to(self.nominal_qpos, (*lead, self.model.nq)).copy()
        qvel = np.zeros((*lead, self.model.nv))
        columns = kinematic_columns(self.kinematic_size)
        self._set_base(qpos, qvel, frames[..., columns.pose], frames[..., columns.twist])
        qpos[..., self.joint_qpos] = frames[..., columns.positions]
        qvel[..., self.joint_qvel] = frames[..., columns.velocities]
        self.chains.close_all(qpos, qvel, self.springs.settle if self.springs.any else None)
        return qpos, qvel

    def _set_base(self, qpos: Array, qvel: Array, pose: Array, twist: Array) -> None:
        """Write pose and twist of the base, [..., 4] and [..., 6], into MuJoCo's vectors."""
        at, dof = self.base_qpos, self.base_qvel
        height, roll, pitch, yaw = (pose[..., i] for i in range(4))
        rates = tuple(twist[..., i] for i in (5, 4, 3))
        angular = YAW_PITCH_ROLL.velocity((yaw, pitch, roll), rates, ARRAYS)
        qpos[..., at : at + 2] = 0.0
        qpos[..., at + 2] = height
        qvel[..., dof : dof + 3] = twist[..., :3]
        if self._turns is None:
            half = self._forward_turns * math.pi / 4
            w, x, y, z = quaternion_from_rpy(roll, pitch, yaw, ARRAYS)
            c, s = math.cos(half), -math.sin(half)  # back from base_link to the body
            body = (w * c - z * s, x * c + y * s, y * c - x * s, z * c + w * s)
            qpos[..., at + 3 : at + 7] = np.stack(body, axis=-1)
            back = _turned_about_z(angular, -self._forward_turns)
            qvel[..., dof + 3 : dof + 6] = np.stack(back, axis=-1)
            return
        matrix = YAW_PITCH_ROLL.matrix((yaw, pitch, roll), ARRAYS)
        angles = self._turns.angles(matrix, ARRAYS)
        qpos[..., at + 3 : at + 6] = np.stack(angles, axis=-1)
        turning = self._turns.rates(angles, angular, ARRAYS)
        qvel[..., dof + 3 : dof + 6] = np.stack(turning, axis=-1)

    def conversion(self) -> Callable[..., Any]:
        """
        Return what computes roll, pitch and yaw of base_link and their rates.

        It takes the angles of the base's hinges and their rates, or its quaternion and the
        angular velocity of the body in its own frame; and math or ARRAYS.
        """
        if self._turns is not None:
            return self._turns.to_rpy
        return self._turned_to_rpy if self._forward_turns else quaternion_to_rpy

    def _turned_to_rpy(self, quaternion: Sequence[Any], velocity: Sequence[Any], m: Any) -> Any:
        w, x, y, z = quaternion
        half = self._forward_turns * math.pi / 4
        c, s = math.cos(half), math.sin(half)
        quaternion = w * c - z * s, x * c + y * s, y * c - x * s, z * c + w * s
        return quaternion_to_rpy(quaternion, _turned_about_z(velocity, self._forward_turns), m)

    def base_state(self, data: mujoco.MjData) -> BaseOdometry:
        """Return where the base is and how it moves."""
        at, dof = self.base_qpos, self.base_qvel
        x, y, z = data.qpos[at : at + 3].tolist()
        roll, pitch, yaw, *rates = self.conversion()(
            data.qpos[at + 3 : at + 3 + self.angles].tolist(),
            data.qvel[dof + 3 : dof + 6].tolist(),
            math,
        )
        matrix = YAW_PITCH_ROLL.matrix((yaw, pitch, roll))
        wx, wy, wz = YAW_PITCH_ROLL.velocity((yaw, pitch, roll), rates[::-1])
        qw, qx, qy, qz = quaternion_from_rpy(roll, pitch, yaw)
        linear = np.array(matrix).T @ data.qvel[dof : dof + 3]
        vx, vy, vz = linear.tolist()
        return BaseOdometry((x, y, z), (qx, qy, qz, qw), (vx, vy, vz), (wx, wy, wz))

    def frames(self, data: mujoco.MjData) -> dict[str, tuple[Array, Array]]:
        """Return the frames of the robot's file below the base: position and x, y, z, w."""
        mujoco.mj_kinematics(self.model, data)  # a step leaves the poses one integration behind
        base = data.body(self.spec.base.body)
        rows = base.xmat.reshape(3, 3).tolist()
        upright = np.array([_turned_about_z(row, self._forward_turns) for row in rows]).T
        found = {}
        for name, frame in self.spec.frames.items():
            part = data.site(frame.site) if frame.site else data.body(frame.body)
            turned = part.xmat.reshape(3, 3)
            place = part.xpos + turned @ np.array(frame.pos_m)
            quaternion = np.empty(4)
            mujoco.mju_mat2Quat(quaternion, (upright @ turned).ravel())
            found[name] = (upright @ (place - base.xpos), np.roll(quaternion, -1))
        return found

    def kinematic_part(self, frames: Array) -> Array:
        """Return the kinematic values of kinematic or full observations; refuse all others."""
        wanted = self.kinematic_size
        if frames.shape[-1] == wanted + 3 * len(self.spec.soles):
            return frames[..., :wanted]
        if frames.shape[-1] != wanted:
            raise RobotError(
                f'{self.spec.name}: a kinematic frame of {len(self.joints)} joints has {wanted} '
                f'values, found {frames.shape[-1]}'
            )
        return frames

    def nominal_frame(self) -> Array:
        """Return the kinematic observation of the nominal pose, upright and at rest."""
        frame = np.zeros(self.kinematic_size)
        frame[0] = self.nominal_qpos[self.base_qpos + 2]
        frame[kinematic_columns(len(frame)).positions] = self.nominal_qpos[self.joint_qpos]
        return frame

    # -- underneath ------------------------------------------------------------------------

    def _physics_steps(self) -> int:
        timestep, rate = float(self.model.opt.timestep), self.spec.control.rate_hz
        steps = round(1 / (rate * timestep))
        if steps < 1 or abs(steps * timestep * rate - 1) > 1e-6:
            raise RobotError(
                f'{self.spec.path}: control.rate_hz: {rate:g} Hz is no whole number of physics '
                f'steps of {timestep:g} s; set control.timestep_s'
            )
        return steps

    def _chain_turns(self) -> Turns:
        """Return how the three hinges of the base turn it."""
        axes: list[int] = []
        signs = []
        for name in self.compiled.base_joints[3:]:
            axis = self.model.joint(name).axis
            index = int(np.argmax(np.abs(axis)))
            if abs(abs(axis[index]) - 1) > 1e-9:
                raise RobotError(f'{self.spec.mjcf_path}: the axis of {name!r} is {axis.tolist()}')
            axes.append(index)
            signs.append(1 if axis[index] > 0 else -1)
        return Turns(axes, signs)

    def _pushed_body(self) -> int:
        site = self.spec.task.speed_of_site
        if site is not None:
            return int(self.model.site(site).bodyid[0])
        return int(self.model.body(self.spec.base.body).id)

    def _nominal_qpos(self) -> Array:
        """Return the nominal pose, upright, so high that the lowest foot touches the floor."""
        model = self.model
        qpos = np.array(model.qpos0)
        for name, angle in self.compiled.nominal_rad.items():
            if name not in self.compiled.base_joints and _has_joint(model, name):
                qpos[model.joint(name).qposadr[0]] = angle
        for name, quaternion in self.compiled.nominal_ball.items():
            if _has_joint(model, name):
                at = int(model.joint(name).qposadr[0])
                qpos[at : at + 4] = quaternion
        at, height = self.base_qpos + 2, self.spec.reset.height_m
        self._set_base(qpos, np.zeros(model.nv), np.zeros(4), np.zeros(6))
        self.chains.close(qpos)
        qpos[at] = _floor_clearance(model, qpos) if height is None else height
        return qpos


class Reader:
    """
    Reads one observation; the views are taken once, which keeps a step cheap.

    What MuJoCo has in the order of the observation is joined as it lies; roll, pitch, yaw and
    their rates are then written over the orientation and the angular velocity.
    """

    def __init__(
        self, robot: MujocoRobot, groups: tuple[str, ...], qpos: Array, qvel: Array, sensors: Array
    ) -> None:
        lead = qpos.shape[:-1]
        at, dof = robot.base_qpos, robot.base_qvel
        self._height = qpos[..., at + 2]
        self._orientation = qpos[..., at + 3 : at + 3 + robot.angles]
        self._rates = qvel[..., dof + 3 : dof + 6]
        self.pose = np.zeros((*lead, len(BASE_POSE)))  # of many robots, as it was last read
        self.one: tuple[float, ...] = (math.nan,) * 4  # the same of a single robot, as numbers
        self._convert = robot.conversion()
        self.read: Callable[[], Array] = self._read_many if lead else self._read_one
        self._gathered: list[tuple[Array, Array, Array]] = []
        sources: dict[str, tuple[Array, int, int]] = {
            'base_pose': (qpos, at + 2, at + 2 + len(BASE_POSE)),
            'base_twist': (qvel, dof, dof + len(BASE_TWIST)),
            'foot_forces': (sensors, FIRST_FORCE, sensors.shape[-1]),
        }
        for group, source, index in (
            ('joint_positions', qpos, robot.joint_qpos),
            ('joint_velocities', qvel, robot.joint_qvel),
        ):
            first, last = int(index[0]), int(index[-1])
            if last - first + 1 == len(index):
                sources[group] = source, first, last + 1
            else:  # passive joints lie between: no view, so they are copied at each reading
                target = np.zeros((*lead, len(index)))
                self._gathered.append((target, source, index))
                sources[group] = target, 0, len(index)
        columns: dict[str, int] = {}
        joined: list[tuple[Array, int, int]] = []
        size = 0
        for group in groups:
            source, first, last = sources[group]
            columns[group], size = size, size + last - first
            if joined and joined[-1][0] is source and joined[-1][2] == first:
                first = joined.pop()[1]
            joined.append((source, first, last))
        self._parts = tuple(source[..., first:last] for source, first, last in joined)
        self._pose_at, self._twist_at = columns.get('base_pose'), columns.get('base_twist')

    def _read_one(self) -> Array:
        """Return the observation as the simulation stands, [D]."""
        for target, source, index in self._gathered:
            np.take(source, index, out=target)
        obs = np.concatenate(self._parts)
        height = self._height.item()
        try:
            roll, pitch, yaw, droll, dpitch, dyaw = self._convert(
                self._orientation.tolist(), self._rates.tolist(), math
            )
        except ValueError:  # infinite: a diverged simulation
            height = roll = pitch = yaw = droll = dpitch = dyaw = math.nan
        self.one = (height, roll, pitch, yaw)
        at = self._pose_at
        if at is not None:
            obs[at + 1], obs[at + 2], obs[at + 3] = roll, pitch, yaw
        at = self._twist_at
        if at is not None:
            obs[at + 3], obs[at + 4], obs[at + 5] = droll, dpitch, dyaw
        return obs

    def _read_many(self) -> Array:
        """Return the observations as the simulation stands, [..., D]."""
        for target, source, index in self._gathered:
            np.take(source, index, axis=-1, out=target)
        obs = np.concatenate(self._parts, axis=-1)
        orientation, rates = self._orientation, self._rates
        with np.errstate(invalid='ignore', over='ignore'):  # one that diverged has fallen
            turned = self._convert(
                [orientation[..., i] for i in range(orientation.shape[-1])],
                [rates[..., i] for i in range(3)],
                ARRAYS,
            )
        self.pose[..., 0] = self._height
        for i, values in enumerate(turned[:3]):
            self.pose[..., 1 + i] = values
        if self._pose_at is not None:
            first = self._pose_at
            obs[..., first : first + 4] = self.pose
        if self._twist_at is not None:
            for i, values in enumerate(turned[3:]):
                obs[..., self._twist_at + 3 + i] = values
        return obs


def _turned_about_z(vector: Sequence[Any], quarters: int) -> tuple[Any, Any, Any]:
    """Return a vector's components in a frame that is turned by so many quarters about z."""
    x, y, z = vector
    for _ in range(quarters % 4):
        x, y = y, -x
    return x, y, z


def _floor_clearance(model: mujoco.MjModel, qpos: Array) -> float:
    """Return how high a base must be, that was put at height zero, for the robot to stand."""
    data = mujoco.MjData(model)
    data.qpos[:] = qpos
    mujoco.mj_kinematics(model, data)
    found = lowest_points(model, data)
    return -min(found.values()) if found else float(qpos[2])


def _has_joint(model: mujoco.MjModel, name: str) -> bool:
    return mujoco.mj_name2id(model, int(mujoco.mjtObj.mjOBJ_JOINT), name) >= 0
