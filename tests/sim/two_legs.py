# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""A small robot whose two legs are what a test is about."""

from pathlib import Path

SIDES = (('left', '0.1'), ('right', '-0.1'))
PD = '{rate_hz: 50, action: pd_target, stiffness: {".*": 100}, damping: {".*": 3}}'
_MJCF = """<mujoco model="legs">
  <worldbody>
    <geom name="ground" type="plane" size="0 0 1"/>
    <body name="trunk" pos="0 0 HEIGHT"><freejoint/>
      <geom type="box" size="0.1 0.1 0.05" mass="MASS" contype="0" conaffinity="0"/>
      LEGS
    </body>
  </worldbody>
  <actuator>
    <motor joint="left_hip" ctrlrange="-TORQUE TORQUE"/>
    <motor joint="right_hip" ctrlrange="-TORQUE TORQUE"/>
  </actuator>
  MORE
</mujoco>"""
_YAML = """mjcf: robot.xml
base: {body: trunk, forward: x}
joints: {actuated: ['.*_hip']}
feet: {left_foot: left_foot, right_foot: right_foot}
velocity_limit_rad_s: {'.*': 10}
control: CONTROL
task: {fall: {height_m: 0.1, tilt_rad: 0.8}}
"""


def write_two_legs(
    folder: Path,
    leg: str,
    *,
    more: str = '',
    control: str = PD,
    height_m: float = 0.32,
    mass_kg: float = 3.0,
    torque_nm: float = 40.0,
) -> None:
    """
    Write the robot's files.

    :param leg: a body with SIDE for left or right and Y for its place; it has a joint SIDE_hip
        and a body SIDE_foot.
    :param more: what else stands in the model.
    :param control: of the robot's file.
    """
    legs = ''.join(leg.replace('SIDE', side).replace('Y', y) for side, y in SIDES)
    words = {'HEIGHT': height_m, 'MASS': mass_kg, 'TORQUE': torque_nm, 'LEGS': legs, 'MORE': more}
    mjcf = _MJCF
    for word, value in words.items():
        mjcf = mjcf.replace(word, str(value))
    (folder / 'robot.xml').write_text(mjcf)
    (folder / 'robot.yaml').write_text(_YAML.replace('CONTROL', control))
