# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Topics to observation and back, against MuJoCo's own kinematics."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from lsiq_ros.wire.base import (
    BaseOdometry,
    BaseReadings,
    cosine_from_upright,
    odometry_from_readings,
    readings_from_odometry,
)
from lsiq_ros.wire.observation import (
    BASE_FIELDS,
    ObservationError,
    ObservationSpec,
    observe_raw,
    raw_from_observation,
    Readings,
)
import mujoco
import numpy as np
import pytest

ANGLE = st.floats(-1.4, 1.4)
SPEED = st.floats(-20, 20)
TURN = st.floats(-3.1, 3.1)
BASES = st.builds(BaseReadings, *[SPEED] * 3, TURN, ANGLE, TURN, *[SPEED] * 6)
MODEL = """
<mujoco><option gravity="0 0 0"/><worldbody><body name="pelvis"><inertial pos="0 0 0" mass="1"
 diaginertia="1 1 1"/>
 <joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 1 0"/>
 <joint type="slide" axis="0 0 1"/><joint axis="0 0 1"/><joint axis="0 1 0"/>
 <joint axis="1 0 0"/></body></worldbody></mujoco>"""


@settings(deadline=None, max_examples=100)
@given(BASES)
def test_mujoco_agrees(base: BaseReadings) -> None:
    """Pose and twist are those that MuJoCo computes for hinges about z, y and x (REP-103)."""
    model = mujoco.MjModel.from_xml_string(MODEL)
    data = mujoco.MjData(model)
    data.qpos[:3], data.qvel[:3] = base[:3], base[6:9]
    data.qpos[3:], data.qvel[3:] = base[5:2:-1], base[:8:-1]
    mujoco.mj_forward(model, data)
    odometry = odometry_from_readings(base)
    twist = np.zeros(6)
    mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_XBODY, 1, twist, 1)
    assert np.allclose(odometry.position_m, data.xpos[1])
    w, x, y, z = data.xquat[1]
    assert abs(abs(np.dot(odometry.orientation_xyzw, (x, y, z, w))) - 1) < 1e-9
    assert np.allclose(odometry.angular_rad_s, twist[:3], atol=1e-9)
    assert np.allclose(odometry.linear_m_s, twist[3:], atol=1e-9)
    assert cosine_from_upright(odometry.orientation_xyzw) == pytest.approx(data.xmat[1][8])


@settings(deadline=None)
@given(BASES)
def test_there_and_back(base: BaseReadings) -> None:
    """Nothing is lost on the way."""
    assert np.allclose(readings_from_odometry(odometry_from_readings(base)), base, atol=1e-7)


def test_an_empty_orientation_is_not_upright() -> None:
    """A message of zeros gives NaN, which the gate stops."""
    zeros = (0.0, 0.0, 0.0)
    base = readings_from_odometry(BaseOdometry(zeros, (0.0,) * 4, zeros, zeros))
    assert np.isnan(base.pitch_rad)


def test_terms_come_from_their_topics_by_name() -> None:
    """The robot's own order of joints plays no part."""
    spec = ObservationSpec(['b/position', 'a/velocity', 'base/height', 'sole/force_z'])
    readings = Readings(
        positions_rad={'a': 1.0, 'b': 2.0},
        velocities_rad_s={'a': 3.0, 'b': 4.0},
        base=odometry_from_readings(BaseReadings(0, 0, 0.9, *[0.0] * 9)),
        forces_n={'sole': (5.0, 6.0, 7.0)},
    )
    assert spec.observe(readings).tolist() == [2.0, 3.0, 0.9, 7.0]
    assert (spec.joints, spec.soles, spec.needs_base) == ({'a', 'b'}, ['sole'], True)


def test_what_is_missing_is_named() -> None:
    """An unknown term at once, a missing reading when it is needed."""
    with pytest.raises(ObservationError, match='base/colour'):
        ObservationSpec(['base/colour'])
    with pytest.raises(ObservationError, match="'knee'"):
        ObservationSpec(['knee/position']).observe(Readings({}, {}))
    with pytest.raises(ObservationError, match='odometry'):
        ObservationSpec(['base/pitch']).observe(Readings({}, {}))


def test_raw_readings_give_the_observation_back() -> None:
    """As a golden trace stores them."""
    terms = [*BASE_FIELDS, 'knee/position', 'knee/velocity', 'sole/force_x', 'sole/force_z']
    observation = np.random.default_rng(0).uniform(-1, 1, len(terms))
    raw = raw_from_observation(terms, observation)
    assert np.allclose(observe_raw(terms, raw), observation, atol=1e-12)
    with pytest.raises(ObservationError, match='raw readings'):
        observe_raw(terms, {'positions_rad': 3})
