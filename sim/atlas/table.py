# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
The robot as a table: masses, inertias, joints and torque limits of Atlas.

The numbers are those of the public Atlas model of loco-mujoco 0.4.1 (MIT), cross-checked
there against RobotLocomotion/models (BSD-3). Units are m, kg, kg m^2, rad and N m;
x points forward, y left, z up; quaternions are w x y z.
"""

from __future__ import annotations

from typing import NamedTuple

Vector = tuple[float, ...]


class Hinge(NamedTuple):
    """A torque-driven hinge and what its motor can do."""

    name: str
    axis: Vector
    range_rad: Vector
    gear_nm: float  # the usable torque is 0.95 of it
    damping: float = 0
    stiffness: float = 0  # a spring around zero


class Link(NamedTuple):
    """A rigid body in its parent's frame; inertia about its own centre of mass."""

    name: str
    parent: str
    pos: Vector
    quat: Vector
    mass: float
    com: Vector
    inertia: Vector  # ixx iyy izz ixy ixz iyz, in body axes
    hinge: Hinge | None = None


class Sole(NamedTuple):
    """One of the four boxes that touch the floor, in its foot's frame."""

    name: str
    link: str
    half_size: Vector
    pos: Vector


PELVIS_HEIGHT_M = 0.94  # of the pelvis at the zero pose, soles 3.9 mm above the floor
JOINT_ARMATURE = 0.01
CONTROL_FRACTION = 0.95  # of the gear, the share of torque that a command may use
FLOOR_FRICTION = (1, 0.1, 0.1)
CONTACT_MARGIN_M = 0.001

LINKS = (
    Link(
        'pelvis',
        'world',
        pos=(0, 0, 0.94),
        quat=(1, 0, 0, 0),
        mass=9.509,
        com=(0.0111, 0, 0.0271),
        inertia=(0.1244, 0.0958, 0.1167, 0.000800004, -0.000699973, -0.000500034),
    ),
    Link(
        'l_uglut',
        'pelvis',
        pos=(0, 0.089, 0),
        quat=(1, 0, 0, 0),
        mass=1.959,
        com=(0.00529262, -0.00344732, 0.00313046),
        inertia=(0.000742761, 0.00068818, 0.000412421, -3.79608e-08, -2.79549e-05, -3.2735e-08),
        hinge=Hinge('hip_flexion_l', (0, -1, 0), (-0.786794, 0.786794), gear_nm=840),
    ),
    Link(
        'l_lglut',
        'l_uglut',
        pos=(0, 0, 0),
        quat=(1, 0, 0, 0),
        mass=0.898,
        com=(0.0133341, 0.0170484, -0.0312052),
        inertia=(0.000691326, 0.00126856, 0.00106487, -2.24347e-05, 2.50508e-06, 0.000137863),
        hinge=Hinge('hip_adduction_l', (-1, 0, 0), (-0.523599, 0.523599), gear_nm=530),
    ),
    Link(
        'l_uleg',
        'l_lglut',
        pos=(0.05, 0.0225, -0.066),
        quat=(1, 0, 0, 0),
        mass=8.204,
        com=(0, 0, -0.21),
        inertia=(0.09, 0.09, 0.02, 0, 0, 0),
        hinge=Hinge('hip_rotation_l', (0, 0, -1), (-1.61234, 1.61234), gear_nm=275),
    ),
    Link(
        'l_lleg',
        'l_uleg',
        pos=(-0.05, 0, -0.374),
        quat=(1, 0, 0, 0),
        mass=4.515,
        com=(0.001, 0, -0.187),
        inertia=(0.0770001, 0.0760001, 0.01, 0, -0.003, 0),
        hinge=Hinge('knee_angle_l', (0, -1, 0), (-2.35637, 0.174), gear_nm=890),
    ),
    Link(
        'l_talus',
        'l_lleg',
        pos=(0, 0, -0.422),
        quat=(1, 0, 0, 0),
        mass=0.125,
        com=(0, 0, 0),
        inertia=(1.01674e-05, 8.42775e-06, 1.30101e-05, 0, 0, 0),
        hinge=Hinge('ankle_angle_l', (0, -1, 0), (-1, 1), gear_nm=740),
    ),
    Link(
        'l_foot',
        'l_talus',
        pos=(0, 0, 0),
        quat=(1, 0, 0, 0),
        mass=2.41,
        com=(0.027, 0, -0.067),
        inertia=(0.002, 0.00700001, 0.00800001, 0, 0, 0),
    ),
    Link(
        'r_uglut',
        'pelvis',
        pos=(0, -0.089, 0),
        quat=(1, 0, 0, 0),
        mass=1.959,
        com=(0.00529262, 0.00344732, 0.00313046),
        inertia=(0.000742761, 0.00068818, 0.000412421, 3.79608e-08, -2.79549e-05, 3.2735e-08),
        hinge=Hinge('hip_flexion_r', (0, -1, 0), (-0.786794, 0.786794), gear_nm=840),
    ),
    Link(
        'r_lglut',
        'r_uglut',
        pos=(0, 0, 0),
        quat=(1, 0, 0, 0),
        mass=0.898,
        com=(0.0133341, -0.0170484, -0.0312052),
        inertia=(0.000691326, 0.00126856, 0.00106487, 2.24347e-05, 2.50508e-06, -0.000137863),
        hinge=Hinge('hip_adduction_r', (1, 0, 0), (-0.523599, 0.523599), gear_nm=530),
    ),
    Link(
        'r_uleg',
        'r_lglut',
        pos=(0.05, -0.0225, -0.066),
        quat=(1, 0, 0, 0),
        mass=8.204,
        com=(0, 0, -0.21),
        inertia=(0.09, 0.09, 0.02, 0, 0, 0),
        hinge=Hinge('hip_rotation_r', (0, 0, 1), (-1.61234, 1.61234), gear_nm=275),
    ),
    Link(
        'r_lleg',
        'r_uleg',
        pos=(-0.05, 0, -0.374),
        quat=(1, 0, 0, 0),
        mass=4.515,
        com=(0.001, 0, -0.187),
        inertia=(0.0770001, 0.0760001, 0.01, 0, -0.003, 0),
        hinge=Hinge('knee_angle_r', (0, -1, 0), (-2.35637, 0.174), gear_nm=890),
    ),
    Link(
        'r_talus',
        'r_lleg',
        pos=(0, 0, -0.422),
        quat=(1, 0, 0, 0),
        mass=0.125,
        com=(0, 0, 0),
        inertia=(1.01674e-05, 8.42775e-06, 1.30101e-05, 0, 0, 0),
        hinge=Hinge('ankle_angle_r', (0, -1, 0), (-1, 1), gear_nm=740),
    ),
    Link(
        'r_foot',
        'r_talus',
        pos=(0, 0, 0),
        quat=(1, 0, 0, 0),
        mass=2.41,
        com=(0.027, 0, -0.067),
        inertia=(0.002, 0.00700001, 0.00800001, 0, 0, 0),
    ),
    Link(
        'ltorso',
        'pelvis',
        pos=(-0.0125, 0, 0),
        quat=(1, 0, 0, 0),
        mass=2.27,
        com=(-0.0112984, -3.15366e-06, 0.0746835),
        inertia=(0.0039092, 0.00341694, 0.00174493, -5.04485e-08, -0.000342156, 4.87116e-07),
        hinge=Hinge(
            'back_bkz', (0, 0, 1), (-0.663225, 0.663225), gear_nm=106, damping=10, stiffness=20
        ),
    ),
    Link(
        'mtorso',
        'ltorso',
        pos=(0, 0, 0.162),
        quat=(1, 0, 0, 0),
        mass=0.799,
        com=(-0.00816266, -0.0131245, 0.0305974),
        inertia=(0.00045418, 0.000483282, 0.000444214, -6.10764e-05, 3.94006e-05, 5.27462e-05),
        hinge=Hinge(
            'back_bky', (0, 1, 0), (-0.219388, 0.538783), gear_nm=445, damping=10, stiffness=20
        ),
    ),
    Link(
        'utorso',
        'mtorso',
        pos=(0, 0, 0.05),
        quat=(1, 0, 0, 0),
        mass=84.409,
        com=(-0.0622, 0.0023, 0.3157),
        inertia=(1.577, 1.602, 0.565001, -0.0320013, 0.102, 0.0469997),
        hinge=Hinge(
            'back_bkx', (1, 0, 0), (-0.523599, 0.523599), gear_nm=300, damping=10, stiffness=30
        ),
    ),
    Link(
        'l_clav',
        'utorso',
        pos=(0.1406, 0.2256, 0.4776),
        quat=(0, 0, 0, 1),
        mass=4.466,
        com=(0, 0, -0.084),
        inertia=(0.011, 0.00900001, 0.004, 0, 0, 0.004),
        hinge=Hinge('l_arm_shz', (0, 0, 1), (-1.5708, 0.785398), gear_nm=87),
    ),
    Link(
        'l_scap',
        'l_clav',
        pos=(0, -0.11, -0.245),
        quat=(0.707105, 0.707108, 0, 0),
        mass=3.899,
        com=(0, 0, 0),
        inertia=(0.00319, 0.00583, 0.00583, 0, 0, 0),
        hinge=Hinge('l_arm_shx', (-1, 0, 0), (-1.5708, 1.5708), gear_nm=99),
    ),
    Link(
        'l_uarm',
        'l_scap',
        pos=(0, -0.187, -0.016),
        quat=(1, 0, 0, 0),
        mass=4.386,
        com=(0, 0.065, 0),
        inertia=(0.00656001, 0.00358, 0.00656001, 0, 0, 0),
        hinge=Hinge('l_arm_ely', (0, -1, 0), (0, 3.14159), gear_nm=63),
    ),
    Link(
        'l_larm',
        'l_uarm',
        pos=(0, -0.119, 0.0092),
        quat=(1, 0, 0, 0),
        mass=3.248,
        com=(0, 0, 0),
        inertia=(0.00265, 0.00446, 0.00446, 0, 0, 0),
        hinge=Hinge('l_arm_elx', (-1, 0, 0), (0, 2.35619), gear_nm=112),
    ),
    Link(
        'l_ufarm',
        'l_larm',
        pos=(0, -0.29955, -0.00921),
        quat=(0, 0, 1, 0),
        mass=2.4798,
        com=(0.00015, 0.08296, 0.00037),
        inertia=(0.012731, 0.002857, 0.011948, 0, 0, 0),
        hinge=Hinge('l_arm_wry', (0, -1, 0), (-3.011, 3.011), gear_nm=25),
    ),
    Link(
        'l_lfarm',
        'l_ufarm',
        pos=(0, 0, 0),
        quat=(1, 0, 0, 0),
        mass=0.324,
        com=(0.00017, -0.02515, 0.00163),
        inertia=(0.000382, 0.0002145, 0.0004125, 0, 0, 0),
        hinge=Hinge('l_arm_wrx', (1, 0, 0), (-1.7628, 1.7628), gear_nm=25),
    ),
    # The table has no hand: half of the forearm turns with the last wrist joint of the
    # paper's 27, so that mass and inertia at rest stay those of the table.
    Link(
        'l_hand',
        'l_lfarm',
        pos=(0, 0, 0),
        quat=(1, 0, 0, 0),
        mass=0.324,
        com=(0.00017, -0.02515, 0.00163),
        inertia=(0.000382, 0.0002145, 0.0004125, 0, 0, 0),
        hinge=Hinge('l_arm_wry2', (0, 1, 0), (-2.9671, 2.9671), gear_nm=25),
    ),
    Link(
        'r_clav',
        'utorso',
        pos=(0.1406, -0.2256, 0.4776),
        quat=(1, 0, 0, 0),
        mass=4.466,
        com=(0, 0, -0.084),
        inertia=(0.011, 0.00900001, 0.004, 0, 0, 0.004),
        hinge=Hinge('r_arm_shz', (0, 0, 1), (-0.785398, 1.5708), gear_nm=87),
    ),
    Link(
        'r_scap',
        'r_clav',
        pos=(0, -0.11, -0.245),
        quat=(0.707105, 0.707108, 0, 0),
        mass=3.899,
        com=(0, 0, 0),
        inertia=(0.00319, 0.00583, 0.00583, 0, 0, 0),
        hinge=Hinge('r_arm_shx', (1, 0, 0), (-1.5708, 1.5708), gear_nm=99),
    ),
    Link(
        'r_uarm',
        'r_scap',
        pos=(0, -0.187, -0.016),
        quat=(1, 0, 0, 0),
        mass=4.386,
        com=(0, 0.065, 0),
        inertia=(0.00656001, 0.00358, 0.00656001, 0, 0, 0),
        hinge=Hinge('r_arm_ely', (0, 1, 0), (0, 3.14159), gear_nm=63),
    ),
    Link(
        'r_larm',
        'r_uarm',
        pos=(0, -0.119, 0.0092),
        quat=(1, 0, 0, 0),
        mass=3.248,
        com=(0, 0, 0),
        inertia=(0.00265, 0.00446, 0.00446, 0, 0, 0),
        hinge=Hinge('r_arm_elx', (1, 0, 0), (-2.35619, 0), gear_nm=112),
    ),
    Link(
        'r_ufarm',
        'r_larm',
        pos=(0, -0.29955, -0.00921),
        quat=(1, 0, 0, 0),
        mass=2.4798,
        com=(0.00015, 0.08296, 0.00037),
        inertia=(0.012731, 0.002857, 0.011948, 0, 0, 0),
        hinge=Hinge('r_arm_wry', (0, 1, 0), (-3.011, 3.011), gear_nm=25),
    ),
    Link(
        'r_lfarm',
        'r_ufarm',
        pos=(0, 0, 0),
        quat=(1, 0, 0, 0),
        mass=0.324,
        com=(0.00017, -0.02515, 0.00163),
        inertia=(0.000382, 0.0002145, 0.0004125, 0, 0, 0),
        hinge=Hinge('r_arm_wrx', (1, 0, 0), (-1.7628, 1.7628), gear_nm=25),
    ),
    # The table has no hand: half of the forearm turns with the last wrist joint of the
    # paper's 27, so that mass and inertia at rest stay those of the table.
    Link(
        'r_hand',
        'r_lfarm',
        pos=(0, 0, 0),
        quat=(1, 0, 0, 0),
        mass=0.324,
        com=(0.00017, -0.02515, 0.00163),
        inertia=(0.000382, 0.0002145, 0.0004125, 0, 0, 0),
        hinge=Hinge('r_arm_wry2', (0, 1, 0), (-2.9671, 2.9671), gear_nm=25),
    ),
    Link(
        'r_camera',
        'utorso',
        pos=(0.155, -0.121, 0.785),
        quat=(0.793352, 0, 0, -0.608763),
        mass=0.1,
        com=(0, 0, 0),
        inertia=(1e-05, 1e-05, 1e-05, 0, 0, 0),
    ),
    Link(
        'l_camera',
        'utorso',
        pos=(0.155, 0.121, 0.785),
        quat=(0.793352, 0, 0, 0.608763),
        mass=0.1,
        com=(0, 0, 0),
        inertia=(1e-05, 1e-05, 1e-05, 0, 0, 0),
    ),
)

SOLES = (
    Sole('left_foot_front', 'l_foot', (0.05, 0.04, 0.01), (0.1225, 0, -0.0641)),
    Sole('left_foot_back', 'l_foot', (0.1135, 0.0669435, 0.025), (0.023, 0, -0.049119)),
    Sole('right_foot_front', 'r_foot', (0.05, 0.04, 0.01), (0.1225, 0, -0.0641)),
    Sole('right_foot_back', 'r_foot', (0.1135, 0.0669435, 0.025), (0.023, 0, -0.049119)),
)

LEG_JOINTS = tuple(
    link.hinge.name
    for link in LINKS
    if link.hinge and link.hinge.name.startswith(('hip', 'knee', 'ankle'))
)
UPPER_JOINTS = tuple(
    link.hinge.name
    for link in LINKS
    if link.hinge and link.hinge.name.startswith(('back', 'l_arm', 'r_arm'))
)
