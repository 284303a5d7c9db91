# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
Orientations as three turns: roll, pitch and yaw of REP-103, and hinges in a chain.

Each formula stands once and serves single numbers (``math``) and arrays (``ARRAYS``). Those of
each control step stand as text: compiled for one order of the turns, without looking up what
stands where, they take half the time.
"""

from collections.abc import Callable, Sequence
import math
from types import SimpleNamespace
from typing import Any

import numpy as np

# numpy's functions under the names that math gives them.
ARRAYS = SimpleNamespace(
    sin=np.sin,
    cos=np.cos,
    sqrt=np.sqrt,
    atan2=np.arctan2,
    asin=lambda x: np.arcsin(np.clip(x, -1.0, 1.0)),
)
_SMALLEST_COSINE = 1e-6  # keeps rates finite where two of the axes become one
_SMALLEST_SQUARE = 1e-18  # the same, lost in rounding everywhere else
# R = Rx(a) Ry(b) Rz(c) by rows, and the angular velocity of its turns in the turned frame.
_ROWS = (
    ('cb * cc', '-cb * sc', 'sb'),
    ('ca * sc + sa * sb * cc', 'ca * cc - sa * sb * sc', '-sa * cb'),
    ('sa * sc - ca * sb * cc', 'sa * cc + ca * sb * sc', 'ca * cb'),
)
_VELOCITY = ('da * cb * cc + db * sc', 'db * cc - da * cb * sc', 'da * sb + dc')
_QUATERNION = {  # the entries of R that roll, pitch and yaw are read from
    'r00': '1 - 2 * (y * y + z * z)',
    'r10': '2 * (x * y + z * w)',
    'r20': '2 * (x * z - y * w)',
    'r21': '2 * (y * z + x * w)',
    'r22': '1 - 2 * (x * x + y * y)',
}
_RPY = f"""
cosine = m.sqrt(r21 * r21 + r22 * r22 + {_SMALLEST_SQUARE})  # of the pitch
sine_roll, cosine_roll = r21 / cosine, r22 / cosine
yaw_rate = (wy * sine_roll + wz * cosine_roll) / cosine
roll_rate, pitch_rate = wx - yaw_rate * r20, wy * cosine_roll - wz * sine_roll
atan2 = m.atan2
roll, pitch, yaw = atan2(r21, r22), atan2(-r20, cosine), atan2(r10, r00)
return roll, pitch, yaw, roll_rate, pitch_rate, yaw_rate
"""
Triple = tuple[Any, Any, Any]
Sextuple = tuple[Any, Any, Any, Any, Any, Any]
Matrix = tuple[Triple, Triple, Triple]  # by rows; turns a vector of the turned frame back


def _compiled(arguments: str, first: str, entries: dict[str, str], last: str) -> Any:
    """Compile a function: its first lines, the entries that its last lines need, these."""
    needed = [f'{name} = {text}' for name, text in entries.items() if name in last]
    body = [*first.strip().splitlines(), *needed, *last.strip().splitlines()]
    scope: dict[str, Any] = {'math': math}
    exec('\n '.join([f'def compiled({arguments}, m=math):', *body]), scope)
    return scope['compiled']


class Turns:
    """
    Three turns about different axes, each axis turned by the turns before it.

    A mirror makes x, y, z of any such order: the formulas are those of R = Rx(a) Ry(b) Rz(c).
    """

    def __init__(self, axes: Sequence[int], signs: Sequence[int] = (1, 1, 1)) -> None:
        """
        Name the axes.

        :param axes: 0 for x, 1 for y, 2 for z, in the order of the turns.
        :param signs: -1 where a turn goes about the negative axis.
        """
        if sorted(axes) != [0, 1, 2]:
            raise ValueError(f'turns about the axes {list(axes)}, expected each of 0, 1, 2 once')
        self._parity = 1 if tuple(axes) in ((0, 1, 2), (1, 2, 0), (2, 0, 1)) else -1
        self._signs = tuple(self._parity * sign for sign in signs)
        self._axes = tuple(axes)
        place = [self._axes.index(axis) for axis in range(3)]
        flip = '-' if self._parity < 0 else ''
        entries = {f'r{i}{j}': _ROWS[place[i]][place[j]] for i in range(3) for j in range(3)}
        entries |= {f'w{x}': f'{flip}({_VELOCITY[place[i]]})' for i, x in enumerate('xyz')}
        a, b, c = ('-' if sign < 0 else '' for sign in self._signs)
        turns = f"""
a, b, c = angles
a, b, c, sin, cos = {a}a, {b}b, {c}c, m.sin, m.cos
sa, ca, sb, cb, sc, cc = sin(a), cos(a), sin(b), cos(b), sin(c), cos(c)
"""
        rates = f'da, db, dc = rates\nda, db, dc = {a}da, {b}db, {c}dc\n'
        rows = ', '.join(f'(r{i}0, r{i}1, r{i}2)' for i in range(3))
        # The orientation after the turns.
        self.matrix: Callable[..., Matrix] = _compiled('angles', turns, entries, f'return {rows}')
        # The angular velocity, in the turned frame, of turns at these rates.
        self.velocity: Callable[..., Triple] = _compiled(
            'angles, rates', turns + rates, entries, 'return wx, wy, wz'
        )
        # Roll, pitch, yaw and their rates.
        self.to_rpy: Callable[..., Sextuple] = _compiled(
            'angles, rates', turns + rates, entries, _RPY
        )

    def angles(self, matrix: Matrix, m: Any = math) -> Triple:
        """Return the turns that lead to an orientation."""
        i, j, k = self._axes
        a = m.atan2(-matrix[j][k], matrix[k][k])
        b = m.asin(_within_one(matrix[i][k]) if m is math else matrix[i][k])
        c = m.atan2(-matrix[i][j], matrix[i][i])
        one, two, three = self._signs
        return one * a, two * b, three * c

    def rates(self, angles: Sequence[Any], velocity: Sequence[Any], m: Any = math) -> Triple:
        """Return the rates of the turns at an angular velocity in the turned frame."""
        one, two, three = self._signs
        b, c = two * angles[1], three * angles[2]
        i, j, k = self._axes
        wa, wb, wc = (self._parity * velocity[axis] for axis in (i, j, k))
        cb, sc, cc = m.cos(b), m.sin(c), m.cos(c)
        da = (wa * cc - wb * sc) / (max(cb, _SMALLEST_COSINE) if m is math else cb)
        db = wa * sc + wb * cc
        return one * da, two * db, three * (wc - da * m.sin(b))


# Roll, pitch, yaw and their rates of w, x, y, z and the angular velocity in the turned frame.
quaternion_to_rpy: Callable[..., Sextuple] = _compiled(
    'quaternion, velocity', 'w, x, y, z = quaternion\nwx, wy, wz = velocity', _QUATERNION, _RPY
)


def _within_one(sine: float) -> float:
    """Take off what rounding added; what is not a number stays so."""
    return 1.0 if sine > 1.0 else -1.0 if sine < -1.0 else sine


YAW_PITCH_ROLL = Turns((2, 1, 0))  # REP-103: about fixed x, y, z is about turned z, y, x


def matrix_from_quaternion(w: Any, x: Any, y: Any, z: Any) -> Matrix:
    """Return the orientation of a quaternion of length one."""
    return (
        (1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)),
        (2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)),
        (2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)),
    )


def quaternion_from_rpy(roll: Any, pitch: Any, yaw: Any, m: Any = math) -> tuple[Any, ...]:
    """Return w, x, y, z."""
    sr, cr = m.sin(roll / 2), m.cos(roll / 2)
    sp, cp = m.sin(pitch / 2), m.cos(pitch / 2)
    sy, cy = m.sin(yaw / 2), m.cos(yaw / 2)
    return (
        cr * cp * cy + sr * sp * sy,
        sr * cp * cy - cr * sp * sy,
        cr * sp * cy + sr * cp * sy,
        cr * cp * sy - sr * sp * cy,
    )
