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
``base_pose``         height above the floor and the angles of the base
``base_twist``        velocity along the axes of odom (the world), rates of the angles
``joint_positions``   ``<joint>/position`` of each actuated joint
``joint_velocities``  ``<joint>/velocity`` of each actuated joint
``foot_forces``       ``<sole>/force_x`` (y, z): the floor's force, along the axes of odom
====================  ===================================================================

Positions and velocities are those of this instant; forces and the speed that the task counts
are those of the last physics step.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from lsiq_core.robot import RobotError, RobotSpec
from lsiq_core.rotations import matrix_from_quaternion, Turns
from lsiq_core.types import Term
import mujoco
import numpy as np
import numpy.typing as npt
from sim.mjcf import compile_robot, JointFacts

Array = npt.NDArray[Any]
Triple = tuple[float, float, float]

BASE_POSE = (
    Term('pelvis/height', 'm', 'odom'),
    Term('pelvis/tilt', 'rad', 'odom'),
    Term('pelvis/list', 'rad', 'odom'),
    Term('pelvis/rotation', 'rad', 'odom'),
)
BASE_TWIST = (
    Term('pelvis/velocity_x', 'm/s', 'odom'),
    Term('pelvis/velocity_y', 'm/s', 'odom'),
    Term('pelvis/velocity_z', 'm/s', 'odom'),
    Term('pelvis/tilt_rate', 'rad/s', 'odom'),
    Term('pelvis/list_rate', 'rad/s', 'odom'),
    Term('pelvis/rotation_rate', 'rad/s', 'odom'),
)
SPEED = 0  # the first sensor: forward velocity
FIRST_FORCE = 3


class BaseState(NamedTuple):
    """The base as nav_msgs/Odometry has it: pose in odom, twist in the frame of the base."""

    position_m: Triple
    orientation_xyzw: tuple[float, float, float, float]
    linear_m_s: Triple
    angular_rad_s: Triple


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

    def __init__(self, spec: RobotSpec, *, forces: bool = True, action: str | None = None) -> None:
        """
        Compile it.

        :param spec: the robot's file.
        :param forces: measure the floor's force on each sole.
        :param action: ``torque`` or ``pd_target``; None for what the file says.
        """
        self.spec, self.forces = spec, forces
        self.action = action or spec.control.action
        self.compiled = compile_robot(spec, forces=forces, action=self.action)
        self.model = self.compiled.model
        self.facts = self.compiled.actuated
        self.joints = tuple(joint.name for joint in self.facts)
        self.soles = spec.soles if forces else ()
        self.substeps = self._physics_steps()
        model = self.model
        first = model.joint(self.compiled.base_joints[0])
        self.base_qpos, self.base_qvel = int(first.qposadr[0]), int(first.dofadr[0])
        self.free = len(self.compiled.base_joints) == 1
        self.base_axes: tuple[int, ...] = ()  # about which the hinges of the base turn
        self._turns = None if self.free else self._chain_turns()
        self.joint_qpos = np.array([int(model.joint(j).qposadr[0]) for j in self.joints])
        self.joint_qvel = np.array([int(model.joint(j).dofadr[0]) for j in self.joints])
        self.pushed_body = self._pushed_body()
        if self.action == 'torque':
            self.action_terms = tuple(
                Term(f'{joint.name}/effort', 'N' if joint.kind == 'slide' else 'N m')
                for joint in self.facts
            )
            self.action_low = model.actuator_ctrlrange[:, 0].copy()
            self.action_high = model.actuator_ctrlrange[:, 1].copy()
        self.nominal_qpos = self._nominal_qpos()

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
            zero; joints that are not observed are at the nominal pose, at rest.
        """
        frames = self.kinematic_part(np.asarray(frames, np.float64))
        lead = frames.shape[:-1]
        qpos = np.broadcast_to(self.nominal_qpos, (*lead, self.model.nq)).copy()
        qvel = np.zeros((*lead, self.model.nv))
        at, dof = self.base_qpos, self.base_qvel
        qpos[..., at : at + 2] = 0.0
        columns = kinematic_columns(self.kinematic_size)
        qpos[..., at + 2 : at + 6] = frames[..., columns.pose]
        qvel[..., dof : dof + 6] = frames[..., columns.twist]
        qpos[..., self.joint_qpos] = frames[..., columns.positions]
        qvel[..., self.joint_qvel] = frames[..., columns.velocities]
        return qpos, qvel

    def base_state(self, data: mujoco.MjData) -> BaseState:
        """Return where the base is and how it moves."""
        at, dof = self.base_qpos, self.base_qvel
        x, y, z = data.qpos[at : at + 3].tolist()
        if self.free:
            qw, qx, qy, qz = data.qpos[at + 3 : at + 7].tolist()
            matrix = matrix_from_quaternion(qw, qx, qy, qz)
            wx, wy, wz = data.qvel[dof + 3 : dof + 6].tolist()
        else:
            assert self._turns is not None
            angles, rates = data.qpos[at + 3 : at + 6].tolist(), data.qvel[dof + 3 : dof + 6]
            matrix = self._turns.matrix(angles)
            wx, wy, wz = self._turns.velocity(angles, rates.tolist())
            quaternion = np.empty(4)
            mujoco.mju_mat2Quat(quaternion, np.array(matrix).ravel())
            qw, qx, qy, qz = quaternion.tolist()
        linear = np.array(matrix).T @ data.qvel[dof : dof + 3]
        vx, vy, vz = linear.tolist()
        return BaseState((x, y, z), (qx, qy, qz, qw), (vx, vy, vz), (wx, wy, wz))

    def frames(self, data: mujoco.MjData) -> dict[str, tuple[Array, Array]]:
        """Return the frames of the robot's file below the base: position and x, y, z, w."""
        mujoco.mj_kinematics(self.model, data)  # a step leaves the poses one integration behind
        base = data.body(self.spec.base.body)
        upright = base.xmat.reshape(3, 3).T
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
        self.base_axes = tuple(axes)
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
        return qpos


class Reader:
    """Reads one observation; the views are taken once, which keeps a step cheap."""

    def __init__(
        self, robot: MujocoRobot, groups: tuple[str, ...], qpos: Array, qvel: Array, sensors: Array
    ) -> None:
        at, dof = robot.base_qpos, robot.base_qvel
        self.pose = qpos[..., at + 2 : at + 6]
        views: dict[str, Array] = {
            'base_pose': self.pose,
            'base_twist': qvel[..., dof : dof + 6],
            'foot_forces': sensors[..., FIRST_FORCE:],
        }
        self._gathered: list[tuple[Array, Array, Array]] = []
        for group, source, index in (
            ('joint_positions', qpos, robot.joint_qpos),
            ('joint_velocities', qvel, robot.joint_qvel),
        ):
            first, last = int(index[0]), int(index[-1])
            if last - first + 1 == len(index):
                views[group] = source[..., first : last + 1]
            else:  # passive joints lie between: no view, so they are copied at each reading
                views[group] = np.zeros((*source.shape[:-1], len(index)))
                self._gathered.append((views[group], source, index))
        self._parts = tuple(views[group] for group in groups)

    def read(self) -> Array:
        """Return the observation as the simulation stands, [..., D]."""
        for target, source, index in self._gathered:
            np.take(source, index, axis=-1, out=target)
        return np.concatenate(self._parts, axis=-1)


def _has_joint(model: mujoco.MjModel, name: str) -> bool:
    return mujoco.mj_name2id(model, int(mujoco.mjtObj.mjOBJ_JOINT), name) >= 0
