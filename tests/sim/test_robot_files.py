# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""A robot's file: what is read from it, and that a mistake is named with its place."""

from lsiq_core.errors import LsiqError
from lsiq_core.robot import load_robot
from lsiq_ros.cli import robot_commands
import numpy as np
import pytest
from sim.check import check_robot
from sim.describe import describe
from sim.mjcf import compile_robot
from sim.walking import Walking, WalkingConfig

MJCF = """<mujoco model="hopper">
  <worldbody>
    <body name="trunk" pos="0 0 0.6">
      FREE
      <geom type="box" size="0.1 0.1 0.1" mass="MASS"/>
      <body name="left_leg" pos="0 0.1 -0.1">
        <joint name="left_hip" axis="0 1 0" range="RANGE" armature="0.01"/>
        <geom type="capsule" fromto="0 0 0 0 0 -0.4" size="0.03" mass="0.5"/>
      </body>
      <body name="right_leg" pos="0 -0.1 -0.1">
        <joint name="right_hip" axis="0 1 0" range="-60 60" armature="0.01"/>
        <geom type="capsule" fromto="0 0 0 0 0 -0.4" size="0.03" mass="0.5"/>
      </body>
    </body>
    MORE
  </worldbody>
  <actuator>
    <position name="left" joint="left_hip" kp="20" forcerange="-30 30"/>
    <motor name="right" joint="right_hip" gear="5" ctrlrange="-6 6"/>
  </actuator>
</mujoco>"""
YAML = """mjcf: robot.xml
base: {body: trunk, forward: x}
joints: {actuated: ['.*_hip']}
feet: {left_foot: left_leg, right_foot: right_leg}
velocity_limit_rad_s: {'.*': 10}
control: {rate_hz: 50}
task: {speed_mps: 0.3, fall: {height_m: 0.3, tilt_rad: 0.8}}
"""


def write(folder, mjcf=MJCF, text=YAML, **parts):
    """Write a robot; parts replace words of the MJCF."""
    parts = {'FREE': '<freejoint/>', 'MASS': '3', 'RANGE': '-60 60', 'MORE': '', **parts}
    for word, value in parts.items():
        mjcf = mjcf.replace(word, value)
    (folder / 'robot.xml').write_text(mjcf)
    (folder / 'robot.yaml').write_text(text)
    return folder


BROKEN = {
    'missing mesh': (
        {'MORE': '</worldbody><asset><mesh name="m" file="m.stl"/></asset><worldbody>'},
        YAML,
        r'robot.xml: <mesh file="m.stl">: there is no such file',
    ),
    'outside': (
        {'MORE': '</worldbody><asset><mesh name="m" file="../m.stl"/></asset><worldbody>'},
        YAML,
        r'lies outside of the folder',
    ),
    'no free joint': (
        {'FREE': ''},
        YAML,
        r"base.body: 'trunk' has the joints \[\]; expected a free",
    ),
    'no free joint, but a keyframe for one': (
        {
            'FREE': '',
            'MORE': '</worldbody><keyframe><key name="home" qpos="0 0 1 1 0 0 0 0 0"/></keyframe>'
            '<worldbody>',
        },
        YAML,
        r"refuses it: keyframe 'home': .*\); no body has a free joint: put <freejoint/> into",
    ),
    'misspelled joint': (
        {},
        YAML.replace("'.*_hip'", 'left_hipp'),
        r"joints.actuated: 'left_hipp' matches no joint, robot.xml has \['left_hip', ",
    ),
    'two bases': (
        {'MORE': '<body name="ball"><freejoint name="rolls"/><geom size=".1"/></body>'},
        YAML,
        r"several free bodies.*'rolls'",
    ),
    'limits reversed': (
        {'RANGE': '60 -60'},
        YAML,
        r"'left_hip': its range goes from 60 to",
    ),
    'zero mass': (
        {'MASS': '0'},
        YAML,
        r"MuJoCo refuses it: mass and inertia .*'trunk', id 1.*; a body that moves needs mass and",
    ),
    'unknown key': ({}, YAML + 'jionts: 1\n', r'jionts: unknown key, allowed are .*joints'),
    'regex that matches nothing': (
        {},
        YAML.replace("{'.*': 10}", "{'.*wheel': 10}"),
        r"velocity_limit_rad_s: '\.\*wheel' matches no joint",
    ),
    'include loop': (
        {'MORE': '</worldbody><include file="robot.xml"/><worldbody>'},
        YAML,
        r'includes itself: robot.xml -> robot.xml',
    ),
    'tendon actuator': (
        {
            'MORE': '</worldbody><tendon><fixed name="t"><joint joint="left_hip" coef="1"/>'
            '</fixed></tendon><actuator><motor name="pull" tendon="t"/></actuator><worldbody>'
        },
        YAML,
        r"actuator 'pull' drives a tendon",
    ),
    'no foot': ({}, YAML.replace('left_leg', 'left_toe'), r"feet.left_foot: no body 'left_toe'"),
    'not yaml': ({}, 'a: [', r'robot.yaml: is no YAML'),
}


@pytest.mark.parametrize('case', BROKEN)
def test_a_broken_file_is_a_clear_sentence(tmp_path, case):
    parts, text, says = BROKEN[case]
    write(tmp_path, text=text, **parts)
    with pytest.raises(LsiqError, match=says):
        compile_robot(load_robot(tmp_path))


def test_a_broken_file_that_another_extends_is_named(tmp_path):
    write(tmp_path, text='joints: [')
    (tmp_path / 'robot_arm.yaml').write_text('extends: robot.yaml\n')
    with pytest.raises(LsiqError, match=r'robot.yaml: is no YAML'):
        load_robot(tmp_path / 'robot_arm.yaml')


def test_a_huge_file_is_not_parsed(tmp_path):
    write(tmp_path)
    with (tmp_path / 'robot.xml').open('a') as stream:
        stream.write(' ' * 50_000_000)
    with pytest.raises(LsiqError, match=r'has 5\d+ bytes, a model has at most'):
        compile_robot(load_robot(tmp_path))


def test_actuators_become_motors_of_joint_torque(tmp_path):
    compiled = compile_robot(load_robot(write(tmp_path)))
    left, right = compiled.actuated
    assert (left.driver, left.effort_high_nm, left.stiffness) == ('position', 30.0, 20.0)
    assert (right.driver, right.gear, right.effort_high_nm) == ('motor', 5.0, 30.0)
    assert compiled.floor_added and compiled.model.nu == 2
    assert (compiled.model.actuator_gear[:, 0] == 1).all()


def test_a_locked_joint_holds_its_angle(tmp_path):
    text = YAML.replace("['.*_hip']}", '[left_hip], locked: {right_hip: 0.5}}')
    free = compile_robot(load_robot(write(tmp_path)))
    held = compile_robot(load_robot(write(tmp_path, text=text)))
    assert held.model.nv == free.model.nv - 1
    turned = np.zeros(4)
    import mujoco

    mujoco.mju_axisAngle2Quat(turned, np.array([0.0, 1.0, 0.0]), 0.5)
    np.testing.assert_allclose(held.model.body('right_leg').quat, turned, atol=1e-12)


@pytest.mark.parametrize('forward', ['x', '-x', 'y', '-y'])
def test_an_episode_starts_exactly_at_an_observation(tmp_path, forward):
    text = YAML.replace('forward: x', f'forward: {forward}')
    env = Walking(load_robot(write(tmp_path, text=text)), WalkingConfig('full'))
    frame = env.robot.nominal_frame()
    frame[1:4], frame[6:12] = (0.1, 0.2, -0.3), (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
    env.reset_to(frame)
    np.testing.assert_allclose(env.kinematic(), frame, atol=1e-12)


def test_pd_targets_hold_where_torque_does_not(tmp_path):
    env = Walking(load_robot(write(tmp_path)), WalkingConfig(action='pd_target', start='stand'))
    assert [term.name for term in env.action_terms] == ['left_hip/position', 'right_hip/position']
    # 60 degrees, and what gives half of the torque; the file has no nominal pose.
    expected = [np.pi / 3 + 15 / joint.stiffness for joint in env.robot.facts]
    np.testing.assert_allclose(env.action_high, np.minimum(expected, 2.0))
    env.reset_to(env.robot.nominal_frame())
    env.step(np.array([0.3, 0.0]))
    assert env.efforts_nm[0] > 0


def test_a_described_robot_can_be_checked(tmp_path, capsys):
    write(tmp_path)
    (tmp_path / 'robot.yaml').unlink()
    robot_commands.new(tmp_path / 'robot.xml')
    text = (tmp_path / 'robot.yaml').read_text()
    assert 'body: trunk, forward: x' in text and 'left_leg: left_leg' in text
    with pytest.raises(LsiqError, match='is there already'):
        robot_commands.new(tmp_path / 'robot.xml')
    robot_commands.check(str(tmp_path), seconds=0.2, as_json=True)
    shown = capsys.readouterr().out
    assert 'can be trained on' in shown and 'driven here as a motor' in shown


def test_a_body_that_does_not_collide_may_sink_where_feet_do_not(tmp_path):
    ghost = {
        '<geom type="box"': '<geom contype="0" conaffinity="0" type="box"',
        '<geom type="capsule" fromto="0 0 0 0 0 -0.4" size="0.03"': (
            '<geom type="sphere" pos="0 0 -0.4" size="0.03"'
        ),
    }
    mjcf = MJCF
    for old, new in ghost.items():
        mjcf = mjcf.replace(old, new)
    lunge = YAML + "reset: {pose_rad: {'.*': 0.6}}"
    mjcf = mjcf.replace('range="RANGE"', '').replace('range="-60 60"', '')
    spec = load_robot(write(tmp_path, mjcf, lunge))
    findings = [f for f in check_robot(spec, seconds=3.0) if f.text.startswith('dropped')]
    assert [f.severity for f in findings] == ['warning'] and 'its feet, not' in findings[0].text


SOFT = "control: {rate_hz: 50, action: pd_target, stiffness: {'.*': 10}, damping: {'.*': 1}MORE}"


@pytest.mark.parametrize(
    ('more', 'reset', 'reach'),
    [
        ('', '', 1.5 + 1.0),  # half of 30 N m by 10 N m/rad, and no nominal pose is known
        ('', "reset: {pose_rad: {'.*': 0.1}}", 1.5),
        (', target_range_rad: 0.4', '', 0.4),
    ],
)
def test_pd_targets_reach_as_far_as_half_of_the_torque_asks(tmp_path, more, reset, reach):
    text = YAML.replace('control: {rate_hz: 50}', SOFT.replace('MORE', more)) + reset
    mjcf = MJCF.replace('range="RANGE"', '').replace('range="-60 60"', '')
    model = compile_robot(load_robot(write(tmp_path, mjcf, text))).model
    middle = 0.1 if reset else 0.0
    assert model.actuator_ctrlrange[0] == pytest.approx([middle - reach, middle + reach])


def test_a_joint_without_range_gets_half_a_turn(tmp_path):
    write(tmp_path, mjcf=MJCF.replace('range="RANGE"', ''))
    assert 'left_hip: [-3.14, 3.14]' in describe(tmp_path / 'robot.xml')


def test_forward_is_asked_for_where_it_cannot_be_known(tmp_path):
    write(tmp_path, mjcf=MJCF.replace('left_leg', 'a').replace('right_leg', 'b'))
    with pytest.raises(LsiqError, match='--forward'):
        describe(tmp_path / 'robot.xml')
    assert 'forward: -y' in describe(tmp_path / 'robot.xml', '-y')


# A biped that has what makes trouble: hyphens in names, a rod that closes a chain over a ball
# joint, springs, gears, a joint without range, a zero pose outside of the range, no limits.
RODS = """<mujoco model="rods">
  <default><geom contype="2" conaffinity="4"/></default>
  <worldbody>
    <body name="pelvis-1" pos="0 0 0.9">
      <freejoint/>
      <geom type="box" size="0.1 0.15 0.1" mass="5"/>
      LEFT
      RIGHT
    </body>
  </worldbody>
  <equality>
    <connect body1="left-rod" body2="left-foot" anchor="0 0 -0.3"/>
    <connect body1="right-rod" body2="right-foot" anchor="0 0 -0.3"/>
  </equality>
  <actuator>
    <motor joint="left-hip.1" gear="20" ctrlrange="-2 2"/>
    <motor joint="right-hip.1" gear="20" ctrlrange="-2 2"/>
    <motor joint="left-knee"/>
    <motor joint="right-knee"/>
  </actuator>
  <keyframe><key qpos="0 0 0.9 1 0 0 0  0.1 -0.6 0 1 0 0 0  0.1 -0.6 0 1 0 0 0"/></keyframe>
</mujoco>"""
LEG = """<body name="SIDE-thigh" pos="0 Y -0.1">
        <joint name="SIDE-hip.1" axis="0 1 0" armature="0.05"/>
        <geom type="capsule" fromto="0 0 0 0 0 -0.35" size="0.04" mass="1"/>
        <body name="SIDE-shank" pos="0 0 -0.35">
          <joint name="SIDE-knee" axis="0 1 0" range="-120 -20" armature="0.05"/>
          <geom type="capsule" fromto="0 0 0 0 0 -0.3" size="0.03" mass="0.5"/>
          <body name="SIDE-foot" pos="0 0 -0.3">
            <joint name="SIDE-ankle" axis="0 1 0" stiffness="50" damping="1" range="-40 40"/>
            <geom type="box" size="0.1 0.04 0.02" mass="0.3"/>
          </body>
          <body name="SIDE-rod">
            <joint name="SIDE-ball" type="ball" damping="0.1"/>
            <geom type="capsule" fromto="0 0 0 0 0 -0.28" size="0.01" mass="0.1"
              contype="0" conaffinity="0"/>
          </body>
        </body>
      </body>"""


def rods(folder, **parts):
    left, right = (LEG.replace('SIDE', s).replace('Y', y) for s, y in zip(SIDES, ('.1', '-.1')))
    text = RODS.replace('LEFT', left).replace('RIGHT', right)
    for word, value in parts.items():
        text = text.replace(word, value)
    (folder / 'robot.xml').write_text(text)
    return folder / 'robot.xml'


SIDES = ('left', 'right')


def test_rods_springs_gears_and_odd_names_are_described(tmp_path):
    mjcf = rods(tmp_path)
    (tmp_path / 'robot.yaml').write_text(describe(mjcf))
    spec = load_robot(tmp_path)
    assert {name: foot.body for name, foot in spec.feet.items()} == {
        f'{side}_foot': f'{side}-foot' for side in SIDES
    }
    assert spec.control.action == 'pd_target' and spec.base.forward == 'x'
    facts = {joint.name: joint for joint in compile_robot(spec).joints}
    assert facts['left-hip.1'].effort_high_nm == 40 and facts['left-hip.1'].gear == 20
    assert facts['left-hip.1'].position_low == pytest.approx(0.1 - 3.14)
    assert facts['left-knee'].effort_high_nm == pytest.approx(0.3 * 8.8 * 9.81 * 0.777, rel=0.01)
    assert (facts['left-ball'].role, facts['left-ankle'].role) == ('passive', 'passive')
    env = Walking(spec, WalkingConfig('full', start='stand'))
    env.reset_to(env.robot.nominal_frame())
    assert env.robot.nominal_qpos[env.robot.joint_qpos] == pytest.approx([0.1, -0.6] * 2)
    rng = np.random.default_rng(0)
    for _ in range(50):
        env.step(rng.uniform(env.action_low, env.action_high))
    assert np.isfinite(env.data.qpos).all()
    assert env.data.qpos[env.robot.base_qpos + 2] > 0.05, 'it lies on the floor, not below'
    findings = ' '.join(finding.text for finding in check_robot(spec, seconds=0.3))
    assert 'left-hip.1, right-hip.1: gear 20; topics carry joint torque' in findings
    assert 'passive, neither driven nor observed: left-ankle, left-ball' in findings


def test_a_zero_pose_outside_of_the_range_is_moved_into_it(tmp_path):
    mjcf = rods(tmp_path, **{'<keyframe>': '<!--', '</keyframe>': '-->'})
    (tmp_path / 'robot.yaml').write_text(describe(mjcf))
    nominal = compile_robot(load_robot(tmp_path)).nominal_rad
    assert nominal['left-knee'] == pytest.approx(np.radians(-20))


@pytest.mark.parametrize(
    ('change', 'says'),
    [
        ({'pelvis-1': ''}, 'the body that floats has no name'),
        (
            {'<freejoint/>': '', '<keyframe>': '<!--', '</keyframe>': '-->'},
            "no body floats; add <freejoint/> to the base, .*'pelvis-1'",
        ),
        ({'contype="2" conaffinity="4"': 'contype="0" conaffinity="0"'}, 'nothing collides'),
        ({'name="left-foot"': '', '<equality>': '<!--', '</equality>': '-->'}, 'have no names'),
    ],
)
def test_what_cannot_be_described_is_said(tmp_path, change, says):
    with pytest.raises(LsiqError, match=says):
        describe(rods(tmp_path, **change))


def test_folders_of_meshes_count_for_included_files(tmp_path):
    write(tmp_path, MORE='</worldbody><include file="parts.xml"/><worldbody>')
    text = (
        (tmp_path / 'robot.xml')
        .read_text()
        .replace('<worldbody>', '<compiler meshdir="meshes"/><worldbody>', 1)
    )
    (tmp_path / 'robot.xml').write_text(text)
    asset = '<mujoco><asset><mesh name="m" file="m.obj"/></asset></mujoco>'
    (tmp_path / 'parts.xml').write_text(asset)
    with pytest.raises(LsiqError, match=r'parts.xml: <mesh file="m.obj">.*meshes/m.obj'):
        compile_robot(load_robot(tmp_path))
    (tmp_path / 'meshes').mkdir()
    corners = 'v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n'
    (tmp_path / 'meshes/m.obj').write_text(corners)
    assert compile_robot(load_robot(tmp_path)).model.nmesh == 1
