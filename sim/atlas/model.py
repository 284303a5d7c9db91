# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Build the MuJoCo model of Atlas from the table: no meshes, only the soles touch the floor."""

from __future__ import annotations

from dataclasses import dataclass
import xml.etree.ElementTree as ElementTree

import mujoco
from sim.atlas.looks import add_scene, add_shapes
from sim.atlas.table import (
    CONTACT_MARGIN_M,
    CONTROL_FRACTION,
    FLOOR_FRICTION,
    Hinge,
    JOINT_ARMATURE,
    LEG_JOINTS,
    Link,
    LINKS,
    PELVIS_HEIGHT_M,
    SOLES,
    UPPER_JOINTS,
)

# The pelvis hangs on six joints. Their names are those of the public model, in which
# ty is the height and tz the sideways position; the height is measured from the floor.
PELVIS_JOINTS = (
    ('pelvis_tx', 'slide', '1 0 0'),
    ('pelvis_tz', 'slide', '0 1 0'),
    ('pelvis_ty', 'slide', '0 0 1'),
    ('pelvis_tilt', 'hinge', '0 -1 0'),
    ('pelvis_list', 'hinge', '1 0 0'),
    ('pelvis_rotation', 'hinge', '0 0 1'),
)


@dataclass(frozen=True)
class ModelConfig:
    """What of the robot is built."""

    upper_body: bool = False  # back and arms driven too, 27 joints in all
    force_sensors: bool = False  # net floor force on each of the four soles
    timestep_s: float = 0.002

    @property
    def joints(self) -> tuple[str, ...]:
        """Return the driven joints, in the order of positions, velocities and torques."""
        return LEG_JOINTS + UPPER_JOINTS if self.upper_body else LEG_JOINTS


def build_model(config: ModelConfig | None = None) -> mujoco.MjModel:
    """Compile the model."""
    return mujoco.MjModel.from_xml_string(build_xml(config or ModelConfig()))


def build_xml(config: ModelConfig) -> str:
    """Return the model as MJCF."""
    root = ElementTree.Element('mujoco', model='atlas')
    # Links without a joint become one body with their parent: 15 % faster.
    ElementTree.SubElement(root, 'compiler', angle='degree', autolimits='true', fusestatic='true')
    option = ElementTree.SubElement(
        root, 'option', timestep=str(config.timestep_s), integrator='implicitfast'
    )
    # A diverged simulation must end the episode; MuJoCo would silently start it anew.
    # Without warm starts a step depends on position and velocity alone, so that single and
    # batched stepping agree to the bit; it is no slower here.
    ElementTree.SubElement(option, 'flag', autoreset='disable', warmstart='disable')
    _add_defaults(root)
    world = ElementTree.Element('worldbody')
    add_scene(root, world)
    root.append(world)
    ElementTree.SubElement(
        world, 'geom', {'name': 'floor', 'class': 'touch', 'type': 'plane', 'size': '0 0 1'}
    ).set('material', 'floor')
    _add_robot(world, config)
    _add_motors(root, config)
    _add_sensors(root, config)
    return ElementTree.tostring(root, encoding='unicode')


def _add_defaults(root: ElementTree.Element) -> None:
    default = ElementTree.SubElement(root, 'default')
    touch = ElementTree.SubElement(default, 'default', {'class': 'touch'})
    # Type 0 / affinity 1 against the floor's 1 / 1: the feet meet the floor, not each other.
    ElementTree.SubElement(
        touch,
        'geom',
        {
            'condim': '3',
            'friction': _text(FLOOR_FRICTION),
            'contype': '1',
            'conaffinity': '1',
            'margin': str(CONTACT_MARGIN_M),
        },
    )
    look = ElementTree.SubElement(default, 'default', {'class': 'look'})
    ElementTree.SubElement(
        look, 'geom', {'contype': '0', 'conaffinity': '0', 'group': '1', 'mass': '0'}
    )


def _add_robot(world: ElementTree.Element, config: ModelConfig) -> None:
    bodies = {'world': world}
    for link in LINKS:
        body = ElementTree.SubElement(
            bodies[link.parent],
            'body',
            {'name': link.name, 'pos': _text(link.pos), 'quat': _text(link.quat)},
        )
        bodies[link.name] = body
        if link.name == 'pelvis':
            _add_pelvis(body)
        elif link.hinge and link.hinge.name in config.joints:
            _add_hinge(body, link.hinge)
        _add_inertia(body, link)
        add_shapes(body, link.name)
        if link.name == 'utorso':
            ElementTree.SubElement(
                body, 'site', name='torso', pos=_text(link.com), size='0.01', group='5'
            )
    for sole in SOLES:
        ElementTree.SubElement(
            bodies[sole.link],
            'geom',
            {
                'name': sole.name,
                'class': 'touch',
                'type': 'box',
                'size': _text(sole.half_size),
                'pos': _text(sole.pos),
                'contype': '0',
                'mass': '0',
                'material': 'sole',
            },
        )


def _add_pelvis(body: ElementTree.Element) -> None:
    for name, kind, axis in PELVIS_JOINTS:
        joint = ElementTree.SubElement(body, 'joint', name=name, type=kind, axis=axis)
        if name == 'pelvis_ty':
            joint.set('ref', str(PELVIS_HEIGHT_M))  # so that the position is the height
    for name, pos, look_from in (
        ('side', '0.3 -3.4 0.25', '1 0 0 0 0.1 1'),
        ('corner', '2.5 -2.1 0.45', '.65 .76 0 -.1 .09 1'),
    ):
        ElementTree.SubElement(
            body, 'camera', name=name, mode='trackcom', pos=pos, xyaxes=look_from
        )


def _add_hinge(body: ElementTree.Element, hinge: Hinge) -> None:
    low, high = (angle * 57.29577951308232 for angle in hinge.range_rad)
    ElementTree.SubElement(
        body,
        'joint',
        {
            'name': hinge.name,
            'type': 'hinge',
            'axis': _text(hinge.axis),
            'range': f'{low!r} {high!r}',
            'armature': str(JOINT_ARMATURE),
            'damping': str(hinge.damping),
            'stiffness': str(hinge.stiffness),
        },
    )


def _add_inertia(body: ElementTree.Element, link: Link) -> None:
    ElementTree.SubElement(
        body,
        'inertial',
        {'pos': _text(link.com), 'mass': str(link.mass), 'fullinertia': _text(link.inertia)},
    )


def _add_motors(root: ElementTree.Element, config: ModelConfig) -> None:
    """Add motors of gear one, so that a control is a torque in N m."""
    hinges = {link.hinge.name: link.hinge for link in LINKS if link.hinge}
    actuator = ElementTree.SubElement(root, 'actuator')
    for name in config.joints:
        limit = CONTROL_FRACTION * hinges[name].gear_nm
        ElementTree.SubElement(
            actuator, 'motor', name=name, joint=name, ctrlrange=f'{-limit!r} {limit!r}'
        )


def _add_sensors(root: ElementTree.Element, config: ModelConfig) -> None:
    sensor = ElementTree.SubElement(root, 'sensor')
    ElementTree.SubElement(
        sensor, 'framelinvel', name='torso_velocity', objtype='site', objname='torso'
    )
    if not config.force_sensors:
        return
    for sole in SOLES:
        ElementTree.SubElement(
            sensor,
            'contact',
            name=sole.name,
            geom1='floor',
            geom2=sole.name,
            data='force',
            reduce='netforce',
        )


def _text(values: tuple[float, ...]) -> str:
    return ' '.join(repr(value) for value in values)
