# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
What Atlas looks like: shapes without mass that touch nothing.

The shapes of a link stand in the link's own frame. Names without a side serve both sides:
the arms of the table are rotated copies of each other, the legs mirror in y.
"""

from __future__ import annotations

from typing import NamedTuple
import xml.etree.ElementTree as ElementTree

Vector = tuple[float, ...]


class Shape(NamedTuple):
    """A primitive: its MuJoCo type, material, size, and where it lies."""

    kind: str
    material: str
    size: Vector
    pos: Vector = ()
    ends: Vector = ()  # of a capsule or cylinder, instead of a position
    euler: Vector = ()


def _capsule(material: str, radius: float, ends: Vector) -> Shape:
    return Shape('capsule', material, (radius,), ends=ends)


def _cylinder(material: str, radius: float, ends: Vector) -> Shape:
    return Shape('cylinder', material, (radius,), ends=ends)


def _box(material: str, size: Vector, pos: Vector, euler: Vector = ()) -> Shape:
    return Shape('box', material, size, pos=pos, euler=euler)


def _ellipsoid(material: str, size: Vector, pos: Vector) -> Shape:
    return Shape('ellipsoid', material, size, pos=pos)


SHAPES: dict[str, tuple[Shape, ...]] = {
    'pelvis': (
        _ellipsoid('shell', (0.105, 0.125, 0.075), (-0.005, 0, 0.045)),
        _capsule('dark', 0.052, (0, -0.085, 0, 0, 0.085, 0)),
        _box('accent', (0.012, 0.045, 0.016), (0.096, 0, 0.05)),
    ),
    'ltorso': (_cylinder('dark', 0.062, (0, 0, 0.06, 0, 0, 0.15)),),
    'mtorso': (_capsule('steel', 0.05, (0, -0.06, 0.02, 0, 0.06, 0.02)),),
    'utorso': (
        _box('shell', (0.115, 0.165, 0.15), (0.02, 0, 0.32)),
        _ellipsoid('shell', (0.155, 0.2, 0.2), (0.025, 0, 0.33)),
        _ellipsoid('dark', (0.09, 0.12, 0.1), (0, 0, 0.12)),
        _box('dark', (0.085, 0.15, 0.2), (-0.16, 0, 0.35)),
        _box('steel', (0.012, 0.11, 0.15), (-0.25, 0, 0.35)),
        _ellipsoid('glow', (0.02, 0.042, 0.042), (0.168, 0, 0.37)),
        _box('accent', (0.008, 0.1, 0.012), (0.164, 0, 0.27)),
        _capsule('steel', 0.05, (0.1, -0.21, 0.45, 0.1, 0.21, 0.45)),
        _cylinder('dark', 0.045, (0.06, 0, 0.5, 0.08, 0, 0.58)),
        _ellipsoid('shell', (0.105, 0.088, 0.09), (0.095, 0, 0.655)),
        _ellipsoid('dark', (0.07, 0.07, 0.055), (0.145, 0, 0.655)),
        _capsule('glow', 0.011, (0.208, -0.028, 0.665, 0.208, 0.028, 0.665)),
        # A roll cage around the head, as the real robot has.
        _capsule('steel', 0.011, (0.02, -0.13, 0.5, 0.1, -0.125, 0.78)),
        _capsule('steel', 0.011, (0.02, 0.13, 0.5, 0.1, 0.125, 0.78)),
        _capsule('steel', 0.011, (0.1, -0.125, 0.78, 0.1, 0.125, 0.78)),
        _capsule('steel', 0.011, (0.1, -0.125, 0.78, -0.13, -0.1, 0.56)),
        _capsule('steel', 0.011, (0.1, 0.125, 0.78, -0.13, 0.1, 0.56)),
    ),
    'camera': (_box('dark', (0.022, 0.018, 0.018), (0, 0, 0)),),
    'clav': (
        _capsule('dark', 0.058, (0, 0, -0.02, 0, -0.04, -0.16)),
        _ellipsoid('shell', (0.085, 0.075, 0.095), (0, -0.075, -0.215)),
    ),
    'scap': (
        _capsule('dark', 0.056, (-0.045, 0, 0, 0.045, 0, 0)),
        _capsule('shell', 0.052, (0, -0.03, 0, 0, -0.15, -0.012)),
    ),
    'uarm': (
        _capsule('steel', 0.05, (0, 0, 0, 0, -0.07, 0)),
        _capsule('accent', 0.052, (0, -0.045, 0, 0, -0.052, 0)),
    ),
    'larm': (
        _capsule('dark', 0.052, (-0.05, 0, 0, 0.05, 0, 0)),
        _capsule('shell', 0.044, (0, -0.03, 0, 0, -0.15, -0.009)),
    ),
    'ufarm': (
        _capsule('steel', 0.04, (0, 0.15, 0, 0, 0.04, 0)),
        _cylinder('dark', 0.043, (0, 0.03, 0, 0, 0, 0)),
    ),
    'lfarm': (_capsule('dark', 0.036, (-0.02, -0.01, 0, 0.02, -0.01, 0)),),
    'hand': (
        _ellipsoid('shell', (0.04, 0.055, 0.034), (0, -0.06, 0)),
        _capsule('dark', 0.013, (0.025, -0.09, 0, 0.03, -0.135, 0)),
        _capsule('dark', 0.013, (0, -0.1, 0, 0, -0.145, 0)),
        _capsule('dark', 0.013, (-0.025, -0.09, 0, -0.03, -0.135, 0)),
    ),
    'uglut': (_ellipsoid('steel', (0.07, 0.05, 0.07), (0, 0, 0)),),
    'lglut': (_capsule('dark', 0.05, (0.005, 0, -0.01, 0.045, 0, -0.06)),),
    'uleg': (
        _capsule('shell', 0.075, (0, 0, -0.05, -0.015, 0, -0.2)),
        _capsule('shell', 0.062, (-0.015, 0, -0.18, -0.04, 0, -0.31)),
        _capsule('steel', 0.02, (0.055, 0, -0.08, 0.02, 0, -0.31)),
        _box('accent', (0.006, 0.035, 0.05), (0.062, 0, -0.13), (0, 6, 0)),
    ),
    'lleg': (
        _capsule('dark', 0.062, (0, -0.055, 0, 0, 0.055, 0)),
        _cylinder('accent', 0.034, (0, -0.119, 0, 0, 0.119, 0)),
        _capsule('shell', 0.058, (0.004, 0, -0.09, 0.008, 0, -0.21)),
        _capsule('shell', 0.045, (0.006, 0, -0.2, 0, 0, -0.33)),
        _capsule('steel', 0.016, (-0.05, 0, -0.06, -0.03, 0, -0.36)),
    ),
    'talus': (_capsule('dark', 0.036, (0, -0.04, 0, 0, 0.04, 0)),),
    'foot': (
        _ellipsoid('dark', (0.062, 0.05, 0.045), (-0.005, 0, -0.025)),
        _box('shell', (0.085, 0.045, 0.014), (0.06, 0, -0.032), (0, 9, 0)),
        _capsule('steel', 0.02, (-0.06, 0, -0.045, 0.02, 0, -0.01)),
    ),
}

MATERIALS = {
    'shell': {'rgba': '.86 .87 .89 1', 'specular': '.5', 'shininess': '.6'},
    'dark': {'rgba': '.13 .14 .16 1', 'specular': '.4', 'shininess': '.4'},
    'steel': {'rgba': '.42 .45 .49 1', 'specular': '.8', 'shininess': '.7'},
    'accent': {'rgba': '.96 .45 .10 1', 'specular': '.4', 'shininess': '.5'},
    'glow': {'rgba': '.25 .75 1 1', 'emission': '.9'},
    'sole': {'rgba': '.09 .09 .10 1', 'specular': '.1', 'shininess': '.1'},
}


def add_shapes(body: ElementTree.Element, link: str) -> None:
    """Hang the shapes of a link onto its body."""
    for shape in SHAPES.get(link.removeprefix('l_').removeprefix('r_'), ()):
        attributes = {'class': 'look', 'type': shape.kind, 'material': shape.material}
        for name, values in (
            ('size', shape.size),
            ('pos', shape.pos),
            ('fromto', shape.ends),
            ('euler', shape.euler),
        ):
            if values:
                attributes[name] = ' '.join(map(str, values))
        ElementTree.SubElement(body, 'geom', attributes)


def add_scene(root: ElementTree.Element, world: ElementTree.Element) -> None:
    """Add sky, floor texture, materials and light."""
    visual = ElementTree.SubElement(root, 'visual')
    ElementTree.SubElement(
        visual, 'headlight', ambient='.35 .35 .37', diffuse='.35 .35 .35', specular='.1 .1 .1'
    )
    ElementTree.SubElement(
        visual, 'quality', shadowsize='2048', offsamples='4', numslices='20', numstacks='10'
    )
    ElementTree.SubElement(visual, 'global', offwidth='1920', offheight='1080', fovy='40')
    ElementTree.SubElement(visual, 'map', znear='.02', shadowclip='.6', shadowscale='.5')
    ElementTree.SubElement(visual, 'rgba', fog='.83 .87 .92 1', haze='.83 .87 .92 1')
    asset = ElementTree.SubElement(root, 'asset')
    ElementTree.SubElement(
        asset,
        'texture',
        {
            'type': 'skybox',
            'builtin': 'gradient',
            'rgb1': '.90 .93 .96',
            'rgb2': '.42 .54 .68',
            'width': '256',
            'height': '1536',
        },
    )
    ElementTree.SubElement(
        asset,
        'texture',
        {
            'name': 'checker',
            'type': '2d',
            'builtin': 'checker',
            'rgb1': '.60 .64 .69',
            'rgb2': '.68 .72 .76',
            'mark': 'edge',
            'markrgb': '.78 .81 .84',
            'width': '512',
            'height': '512',
        },
    )
    ElementTree.SubElement(
        asset,
        'material',
        {
            'name': 'floor',
            'texture': 'checker',
            'texrepeat': '1 1',
            'texuniform': 'true',
        },
    )
    for name, attributes in MATERIALS.items():
        ElementTree.SubElement(asset, 'material', {'name': name, **attributes})
    for pos, direction, diffuse, shadow in (
        ('0 -2.5 5', '0 .45 -1', '.62 .60 .56', 'true'),
        ('2 4 4', '-.3 -.8 -1', '.22 .24 .28', 'false'),
    ):
        ElementTree.SubElement(
            world,
            'light',
            {
                'mode': 'trackcom' if shadow == 'true' else 'fixed',
                'directional': 'true',
                'pos': pos,
                'dir': direction,
                'diffuse': diffuse,
                'specular': '.25 .25 .25',
                'castshadow': shadow,
            },
        )
