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

from collections.abc import Sequence
import itertools
from typing import Any

from lsiq_core.errors import DemonstrationError
from lsiq_core.rotations import ARRAYS, Turns, YAW_PITCH_ROLL
from lsiq_core.types import Array, BASE_POSE, BASE_TWIST, names
import numpy as np

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
    return _converted(states, terms, _CHAIN, YAW_PITCH_ROLL)


def old_states(states: Array, terms: Sequence[str]) -> Array:
    """
    Return what networks of 0.1 read, from states of today.

    :param states: [N, D] by REP-103.
    :param terms: as version 0.1 named these columns.
    """
    return _converted(states, terms, YAW_PITCH_ROLL, _CHAIN)


def _converted(states: Array, terms: Sequence[str], before: Turns, after: Turns) -> Array:
    new_terms(terms)  # refuses what is not complete
    if OLD_ANGLES[0] not in terms:
        return states
    at = {name: terms.index(name) for name in (*OLD_ANGLES, *OLD_TWIST[3:])}
    angle_columns = [at[name] for name in OLD_POSE[1:]]
    rate_columns = [at[name] for name in OLD_TWIST[3:]]
    exact = states.astype(np.float64)
    angles = [exact[:, column] for column in angle_columns]
    rates = [exact[:, column] for column in rate_columns]
    # Roll, pitch, yaw stand in these columns; the turns begin with yaw.
    if before is YAW_PITCH_ROLL:
        angles, rates = angles[::-1], rates[::-1]
    velocity = before.velocity(angles, rates, ARRAYS)
    turned = after.angles(before.matrix(angles, ARRAYS), ARRAYS)
    turning = after.rates(turned, velocity, ARRAYS)
    if after is YAW_PITCH_ROLL:
        turned, turning = turned[::-1], turning[::-1]
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
    from onnx import helper, numpy_helper

    inner = f'{name}_of_0_1'
    for node in model.graph.node:
        for i, used in enumerate(node.input):
            if used == name:
                node.input[i] = inner
    nodes: list[Any] = []

    def op(kind: str, *inputs: str | Array, out: str = '') -> str:
        made, given = out or f'base_{len(nodes)}', []
        for i, value in enumerate(inputs):
            if not isinstance(value, str):
                tensor = numpy_helper.from_array(value.astype(np.float32), f'{made}_constant_{i}')
                model.graph.initializer.append(tensor)
                value = tensor.name
            given.append(value)
        nodes.append(helper.make_node(kind, given, [made]))
        return made

    new_terms(terms)
    columns = np.eye(len(terms))
    angles = columns[[terms.index(term) for term in OLD_POSE[1:]]]  # today's stand there
    rates = columns[[terms.index(term) for term in OLD_TWIST[3:]]]
    frequencies, phases, over, under = _waves()
    waves = op('Sin', op('Gemm', name, angles.T @ frequencies, phases))
    ones, none = np.array([1.0] * 3 + [0.0] * 9), np.zeros((3, len(terms)))
    factors = op('Gemm', name, np.concatenate((none, *[rates] * 3)).T, ones)
    sums = np.eye(6).repeat([1, 1, 1, 3, 3, 3], axis=0)
    numerators = op('MatMul', op('Mul', op('MatMul', waves, over), factors), sums)
    powers = np.array([1.0, 0.5, 1.0, 1.0, 0.5, 1.0])
    shares = op('Div', numerators, op('Pow', op('MatMul', waves, under), powers))
    kept = columns - angles.T @ angles - rates.T @ rates
    turning = op('MatMul', shares, np.concatenate((none, rates)))
    turned = op('Gemm', op('Atan', shares), np.concatenate((angles, none)), turning)
    op('Gemm', name, kept, turned, out=inner)
    for node in reversed(nodes):
        model.graph.node.insert(0, node)


def _waves() -> tuple[Array, Array, Array, Array]:
    """
    Return tilt, list, rotation and their rates as quotients of sums of waves.

    Each node of a graph costs a microsecond. What the old readings are computed from are sums
    of sin(k . (roll, pitch, yaw) + phase) with whole numbers k: one product, one sine and one
    product give them all, where formulas took fifty nodes. The weights are solved for.

    :return: k [3, W], phases [W], weights [W, 12] of the numerators: of the tangents of the
        three angles, then three for each rate, one per rate of today; weights [W, 6] of the
        denominators; the second and the fifth are squared.
    """
    roll, pitch, yaw = angles = np.random.default_rng(0).uniform(-3, 3, (3, 1000))
    sr, cr, sp, cp = np.sin(roll), np.cos(roll), np.sin(pitch), np.cos(pitch)
    sy, cy, none, one = np.sin(yaw), np.cos(yaw), np.zeros(1000), np.ones(1000)
    # Entries of Rz(yaw) Ry(pitch) Rx(roll), and the angular velocity for each rate of today.
    r02, r22, r12 = cy * sp * cr + sy * sr, cp * cr, sy * sp * cr - cy * sr
    r10, r11 = sy * cp, sy * sp * sr + cy * cr
    wx, wy = np.stack((one, none, -sp)), np.stack((none, cr, cp * sr))
    wz = np.stack((none, -sr, cp * cr))
    square = r10 * r10 + r11 * r11  # of the cosine of list
    across = r10 * wx + r11 * wy
    values = np.stack(
        (
            *(-r02, -r12, r10, *-across, *(r11 * wx - r10 * wy), *(square * wz - r12 * across)),
            *(r22, square, r11, square, square, square),
        )
    )
    whole = np.array([k for k in itertools.product(range(-2, 3), repeat=3) if k >= (0, 0, 0)]).T
    frequencies = np.concatenate((whole, whole), axis=1)
    phases = np.repeat([0.0, np.pi / 2], whole.shape[1])
    waves = np.sin(angles.T @ frequencies + phases)
    weights = np.linalg.lstsq(waves, values.T, rcond=None)[0]
    used = np.abs(weights).max(axis=1) > 1e-9
    return frequencies[:, used], phases[used], weights[used, :12], weights[used, 12:]
