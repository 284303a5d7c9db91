# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Robots that are simulated by the hundred carry nothing that is only looked at."""

from lsiq_core.robot import load_robot
import mujoco
import numpy as np
import pytest
from sim.batch import WalkingBatch
from sim.mjcf import compile_robot
from sim.walking import make_walking, Walking, WalkingConfig
from two_legs import write_two_legs


def ball(points=400):
    """Return points on a ball and many in it: only those on it are of its hull."""
    rng = np.random.default_rng(0)
    on = rng.standard_normal((points, 3))
    on /= np.linalg.norm(on, axis=1, keepdims=True)
    return 0.03 * np.concatenate((on, 0.5 * on, 0.2 * on))


LEG = """<body name="SIDE_foot" pos="0 Y -0.3">
  <inertial pos="0 0 0" mass="0.5" diaginertia="0.001 0.001 0.001"/>
  <joint name="SIDE_hip" axis="0 1 0" range="-80 80" armature="0.01" damping="0.1"/>
  <geom type="mesh" mesh="ball" density="900"/>
  <geom type="mesh" mesh="looks" contype="0" conaffinity="0" density="0"/>
</body>"""
ASSETS = """<asset>
  <mesh name="ball" vertex="BALL" scale="1 1 1.2"/>
  <mesh name="looks" vertex="BALL"/>
  <texture name="sky" type="skybox" builtin="flat" width="512" height="3072"/>
</asset>"""


@pytest.fixture(params=[True, False], ids=['mass given', 'mass of the mesh'])
def spec(tmp_path, request):
    leg = LEG
    if not request.param:
        leg = '\n'.join(line for line in LEG.splitlines() if '<inertial' not in line)
    points = ' '.join(f'{x:.5f}' for x in ball().ravel())
    write_two_legs(
        tmp_path,
        leg,
        more=ASSETS.replace('BALL', points),
        control='{rate_hz: 50}',
        height_m=0.4,
        torque_nm=5.0,
    )
    return load_robot(tmp_path)


def test_a_stripped_robot_is_small_and_moves_as_the_whole_one(spec):
    whole, lean = (compile_robot(spec, drawn=drawn).model for drawn in (True, False))
    assert lean.nbuffer < whole.nbuffer / 5
    assert lean.nmesh == 1 and lean.ntex == 0 and lean.ngeom == 3  # two balls and the floor
    np.testing.assert_array_equal(lean.body_mass, whole.body_mass)
    np.testing.assert_array_equal(lean.body_inertia, whole.body_inertia)
    np.testing.assert_array_equal(lean.dof_M0, whole.dof_M0)
    first, second = mujoco.MjData(whole), mujoco.MjData(lean)
    for data, model in ((first, whole), (second, lean)):
        data.qpos[2], data.ctrl[:] = 0.35, (0.3, -0.2)
        mujoco.mj_step(model, data, 150)
        assert data.ncon >= 2  # it stands on its meshes
    np.testing.assert_allclose(second.qpos, first.qpos, atol=1e-5)


def test_of_a_mesh_that_only_collides_the_hull_is_kept(spec):
    lean = compile_robot(spec, drawn=False).model
    given = lean.body_mass[lean.body('left_foot').id] == 0.5
    assert lean.nmeshvert == (400 if given else 1200)


def test_a_mesh_without_a_name_has_that_of_its_file(tmp_path, spec):
    if 'inertial' not in spec.mjcf_path.read_text():
        pytest.skip('only a mesh without mass becomes its hull')
    points = ball()
    corners = np.stack((np.arange(len(points)), np.roll(np.arange(len(points)), 1)), 1) % 400
    lines = [f'v {x:.5f} {y:.5f} {z:.5f}' for x, y, z in points]
    lines += [f'f {a + 1} {b + 1} {(a + 7) % 400 + 1}' for a, b in corners]
    (tmp_path / 'ball.obj').write_text('\n'.join(lines))
    text = spec.mjcf_path.read_text()
    first, last = text.index('<mesh name="ball"'), text.index('<mesh name="looks"')
    named = text[:first] + '<mesh file="ball.obj" inertia="shell"/>\n' + text[last:]
    spec.mjcf_path.write_text(named)
    lean = compile_robot(spec, drawn=False).model
    assert lean.nmesh == 1 and lean.nmeshvert == 400


def test_what_is_trained_in_is_stripped_and_what_is_looked_at_is_not(spec):
    batch = WalkingBatch(2, spec, WalkingConfig(start='stand'))
    assert batch.robot.model.ntex == 0
    batch.close()
    assert make_walking(spec, start='stand').model.ntex == 0
    assert Walking(spec, WalkingConfig(start='stand')).model.ntex > 0
