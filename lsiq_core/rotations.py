# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
Orientations as three turns: roll, pitch and yaw of REP-103, and hinges in a chain.

Each formula stands once and serves single numbers (``math``) and arrays (``ARRAYS``).
"""

from __future__ import annotations

from collections.abc import Sequence
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
Triple = tuple[Any, Any, Any]
Sextuple = tuple[Any, Any, Any, Any, Any, Any]
Matrix = tuple[Triple, Triple, Triple]  # by rows; turns a vector of the turned frame back


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
        self._place = tuple(self._axes.index(axis) for axis in range(3))

    def matrix(self, angles: Sequence[Any], m: Any = math) -> Matrix:
        """Return the orientation after the turns."""
        a, b, c = (sign * angle for sign, angle in zip(self._signs, angles))
        sa, ca, sb, cb, sc, cc = m.sin(a), m.cos(a), m.sin(b), m.cos(b), m.sin(c), m.cos(c)
        rows = (
            (cb * cc, -cb * sc, sb),
            (ca * sc + sa * sb * cc, ca * cc - sa * sb * sc, -sa * cb),
            (sa * sc - ca * sb * cc, sa * cc + ca * sb * sc, ca * cb),
        )
        i, j, k = self._place
        first, second, third = rows[i], rows[j], rows[k]
        return (
            (first[i], first[j], first[k]),
            (second[i], second[j], second[k]),
            (third[i], third[j], third[k]),
        )

    def angles(self, matrix: Matrix, m: Any = math) -> Triple:
        """Return the turns that lead to an orientation."""
        i, j, k = self._axes
        a = m.atan2(-matrix[j][k], matrix[k][k])
        b = m.asin(_within_one(matrix[i][k]) if m is math else matrix[i][k])
        c = m.atan2(-matrix[i][j], matrix[i][i])
        one, two, three = self._signs
        return one * a, two * b, three * c

    def velocity(self, angles: Sequence[Any], rates: Sequence[Any], m: Any = math) -> Triple:
        """Return the angular velocity, in the turned frame, of turns at these rates."""
        one, two, three = self._signs
        b, c = two * angles[1], three * angles[2]
        da, db, dc = one * rates[0], two * rates[1], three * rates[2]
        cb, sc, cc = m.cos(b), m.sin(c), m.cos(c)
        turning = (da * cb * cc + db * sc, db * cc - da * cb * sc, da * m.sin(b) + dc)
        i, j, k = self._place
        parity = self._parity
        return parity * turning[i], parity * turning[j], parity * turning[k]

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

    def to_rpy(
        self, one: Any, two: Any, three: Any, d_one: Any, d_two: Any, d_three: Any, m: Any = math
    ) -> Sextuple:
        """
        Return roll, pitch, yaw and their rates from three angles and their rates.

        The same as :meth:`matrix`, :meth:`velocity` and YAW_PITCH_ROLL, in a third of the time:
        each control step asks for it.
        """
        first, second, third = self._signs
        a, b, c, da = first * one, second * two, third * three, first * d_one
        db, dc = second * d_two, third * d_three
        sin, cos = m.sin, m.cos
        sa, ca, sb, cb, sc, cc = sin(a), cos(a), sin(b), cos(b), sin(c), cos(c)
        sasb, casb, turn = sa * sb, ca * sb, da * cb
        rows = (
            (cb * cc, -cb * sc, sb),
            (ca * sc + sasb * cc, ca * cc - sasb * sc, -sa * cb),
            (sa * sc - casb * cc, sa * cc + casb * sc, ca * cb),
        )
        w = (turn * cc + db * sc, db * cc - turn * sc, da * sb + dc)
        i, j, k = self._place
        up, parity = rows[k], self._parity
        wx, wy, wz = parity * w[i], parity * w[j], parity * w[k]
        return _to_rpy(up[i], up[j], up[k], rows[j][i], rows[i][i], wx, wy, wz, m)


def _to_rpy(
    r20: Any, r21: Any, r22: Any, r10: Any, r00: Any, wx: Any, wy: Any, wz: Any, m: Any
) -> Sextuple:
    """Return roll, pitch, yaw and rates of entries of a matrix and an angular velocity."""
    cosine = m.sqrt(r21 * r21 + r22 * r22 + _SMALLEST_SQUARE)  # of the pitch
    sine_roll, cosine_roll = r21 / cosine, r22 / cosine
    yaw_rate = (wy * sine_roll + wz * cosine_roll) / cosine
    atan2 = m.atan2
    return (
        atan2(r21, r22),
        atan2(-r20, cosine),
        atan2(r10, r00),
        wx - yaw_rate * r20,
        wy * cosine_roll - wz * sine_roll,
        yaw_rate,
    )


def quaternion_to_rpy(
    w: Any, x: Any, y: Any, z: Any, wx: Any, wy: Any, wz: Any, m: Any = math
) -> Sextuple:
    """Return roll, pitch, yaw and their rates; the velocity is that in the turned frame."""
    r20, r21, r22 = 2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)
    r10, r00 = 2 * (x * y + z * w), 1 - 2 * (y * y + z * z)
    return _to_rpy(r20, r21, r22, r10, r00, wx, wy, wz, m)


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
