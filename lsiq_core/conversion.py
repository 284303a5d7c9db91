# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
Files of version 0.1, whose base was read as pelvis/tilt, list and rotation.

These were the hinges that carry Atlas: R = Ry(-tilt) Rx(list) Rz(rotation). Since 0.2 the base is
read by REP-103: R = Rz(yaw) Ry(pitch) Rx(roll). States are converted exactly. Networks stay as
they are: a policy file gets nodes in front that compute the old readings from the new ones, a
checkpoint a mark that its policy does so. Both hold while the robot is upright (lean and heading
below 90 degrees).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lsiq_core.errors import DemonstrationError
from lsiq_core.rotations import ARRAYS, Turns, YAW_PITCH_ROLL
from lsiq_core.types import BASE_POSE, BASE_TWIST, names
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
OLD_ANGLES = ('pelvis/tilt', 'pelvis/list', 'pelvis/rotation')
OLD_POSE = ('pelvis/height', *OLD_ANGLES)
OLD_TWIST = (
    *(f'pelvis/velocity_{axis}' for axis in 'xyz'),
    *(f'{angle}_rate' for angle in OLD_ANGLES),
)
OLD_TERMS = (*OLD_POSE, *OLD_TWIST)
NEW_TERMS = names((*BASE_POSE, *BASE_TWIST))
# To first order, which is enough for bounds: the old reading, and its sign.
NEAREST_OLD = {
    'base/roll': ('pelvis/list', 1.0),
    'base/pitch': ('pelvis/tilt', -1.0),
    'base/yaw': ('pelvis/rotation', 1.0),
    'base/roll_rate': ('pelvis/list_rate', 1.0),
    'base/pitch_rate': ('pelvis/tilt_rate', -1.0),
    'base/yaw_rate': ('pelvis/rotation_rate', 1.0),
}
_CHAIN = Turns((1, 0, 2), (-1, 1, 1))  # tilt, list, rotation


def is_old(terms: Sequence[str]) -> bool:
    """Return whether terms name the base as version 0.1 did."""
    return any(term in OLD_TERMS for term in terms)


def new_terms(terms: Sequence[str]) -> tuple[str, ...]:
    """Return the names of today, each where the old one stood."""
    turning = (*OLD_ANGLES, *OLD_TWIST[3:])
    missing = [term for term in turning if term not in terms]
    if missing and len(missing) < len(turning):
        raise DemonstrationError(
            f'cannot convert terms without {missing}: all of {list(turning)} are needed, or none'
        )
    order = dict(zip(OLD_TERMS, NEW_TERMS))
    return tuple(order.get(term, term) for term in terms)


def new_states(states: Array, terms: Sequence[str]) -> Array:
    """Return states [N, D] of 0.1 with the base by REP-103; columns as :func:`new_terms`."""
    return _converted(states, terms, _CHAIN, YAW_PITCH_ROLL, (2, 1, 0), backwards=False)


def old_states(states: Array, terms: Sequence[str]) -> Array:
    """
    Return what networks of 0.1 read, from states of today.

    :param states: [N, D] by REP-103.
    :param terms: as version 0.1 named these columns.
    """
    return _converted(states, terms, YAW_PITCH_ROLL, _CHAIN, (2, 1, 0), backwards=True)


def _converted(
    states: Array,
    terms: Sequence[str],
    before: Turns,
    after: Turns,
    reverse: tuple[int, int, int],
    *,
    backwards: bool,
) -> Array:
    new_terms(terms)  # refuses what is not complete
    if OLD_ANGLES[0] not in terms:
        return states
    at = {name: terms.index(name) for name in (*OLD_ANGLES, *OLD_TWIST[3:])}
    angle_columns = [at[name] for name in OLD_POSE[1:]]
    rate_columns = [at[name] for name in OLD_TWIST[3:]]
    exact = states.astype(np.float64)
    angles = [exact[:, column] for column in angle_columns]
    rates = [exact[:, column] for column in rate_columns]
    if backwards:  # roll, pitch, yaw stand in these columns; the turns begin with yaw
        angles, rates = [angles[i] for i in reverse], [rates[i] for i in reverse]
    velocity = before.velocity(angles, rates, ARRAYS)
    turned = after.angles(before.matrix(angles, ARRAYS), ARRAYS)
    turning = after.rates(turned, velocity, ARRAYS)
    if not backwards:
        turned = tuple(turned[i] for i in reverse)  # type: ignore[assignment]
        turning = tuple(turning[i] for i in reverse)  # type: ignore[assignment]
    for columns, values in ((angle_columns, turned), (rate_columns, turning)):
        for column, value in zip(columns, values):
            exact[:, column] = value
    return exact.astype(states.dtype)


def old_columns(terms: Sequence[str]) -> list[int]:
    """Return where the readings of the base stand, in the order of OLD_TERMS."""
    new_terms(terms)
    return [terms.index(term) for term in OLD_TERMS]


def as_read_by_0_1(obs: Array, columns: Sequence[int]) -> Array:
    """Return today's observation [D] as a policy of 0.1 reads it; from :func:`old_columns`."""
    terms = [''] * len(obs)
    for term, column in zip(OLD_TERMS, columns):
        terms[column] = term
    return old_states(np.asarray(obs)[None], terms)[0]


def put_in_front(model: Any, terms: Sequence[str], name: str) -> None:
    """
    Let an ONNX graph of 0.1 take today's readings.

    :param model: changed in place.
    :param terms: as version 0.1 named the columns of the input.
    :param name: of the input [B, D], which keeps its name.
    """
    from onnx import helper

    inner = f'{name}_of_0_1'
    for node in model.graph.node:
        for i, used in enumerate(node.input):
            if used == name:
                node.input[i] = inner
    nodes: list[Any] = []

    def op(kind: str, *inputs: str) -> str:
        made = f'base_{len(nodes)}'
        nodes.append(helper.make_node(kind, inputs, [made]))
        return made

    new_terms(terms)
    columns = [f'base_column_{i}' for i in range(len(terms))]
    nodes.append(helper.make_node('Split', [name], columns, axis=1))
    at = {term: columns[terms.index(term)] for term in OLD_TERMS if term in terms}
    roll, pitch, yaw = (at[term] for term in OLD_POSE[1:])  # today's readings stand there
    roll_rate, pitch_rate, yaw_rate = (at[term] for term in OLD_TWIST[3:])
    sr, cr = op('Sin', roll), op('Cos', roll)
    sp, cp = op('Sin', pitch), op('Cos', pitch)
    sy, cy = op('Sin', yaw), op('Cos', yaw)
    sp_cr, sp_sr = op('Mul', sp, cr), op('Mul', sp, sr)
    # The entries of Rz(yaw) Ry(pitch) Rx(roll) that the old angles are read from.
    r02 = op('Add', op('Mul', cy, sp_cr), op('Mul', sy, sr))
    r22 = op('Mul', cp, cr)
    r12 = op('Sub', op('Mul', sy, sp_cr), op('Mul', cy, sr))
    r10 = op('Mul', sy, cp)
    r11 = op('Add', op('Mul', sy, sp_sr), op('Mul', cy, cr))
    tilt = op('Neg', op('Atan', op('Div', r02, r22)))
    listing = op('Neg', op('Asin', r12))
    rotation = op('Atan', op('Div', r10, r11))
    # The angular velocity in the frame of the base, then before the last hinge.
    wx = op('Sub', roll_rate, op('Mul', yaw_rate, sp))
    wy = op('Add', op('Mul', pitch_rate, cr), op('Mul', op('Mul', yaw_rate, cp), sr))
    wz = op('Sub', op('Mul', op('Mul', yaw_rate, cp), cr), op('Mul', pitch_rate, sr))
    s, c = op('Sin', rotation), op('Cos', rotation)
    list_rate = op('Sub', op('Mul', c, wx), op('Mul', s, wy))
    across = op('Add', op('Mul', s, wx), op('Mul', c, wy))
    tilt_rate = op('Neg', op('Div', across, op('Cos', listing)))
    rotation_rate = op('Sub', wz, op('Mul', op('Sin', listing), tilt_rate))
    computed = dict(
        zip(
            (*OLD_POSE[1:], *OLD_TWIST[3:]),
            (tilt, listing, rotation, tilt_rate, list_rate, rotation_rate),
        )
    )
    parts = [computed.get(term, column) for term, column in zip(terms, columns)]
    nodes.append(helper.make_node('Concat', parts, [inner], axis=1))
    for node in reversed(nodes):
        model.graph.node.insert(0, node)
