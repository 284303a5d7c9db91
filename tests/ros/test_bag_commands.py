# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""The commands around bags, as a user calls them."""

import json
import math
from pathlib import Path
import shutil

from bag_making import JOINTS, Walk, write_rosbag2
from lsiq_core.data.demonstrations import load
from lsiq_core.errors import LsiqError
from lsiq_ros.bags.message_types import JOINT_STATE
from lsiq_ros.bags.writer import BagWriter
from lsiq_ros.cli.bag_commands import import_bags, lint_bags, recover_bag
import pytest
import typer
from typer.testing import CliRunner

SHARED = Path(__file__).resolve().parents[3] / 'shared'
app = typer.Typer()
app.command('import')(import_bags)
app.command('lint')(lint_bags)
app.command('recover')(recover_bag)


def run(*arguments, code=0):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if isinstance(result.exception, LsiqError):
        raise result.exception
    assert result.exit_code == code, result.output
    return result.output.splitlines()


def test_import_writes_demonstrations_with_joints_in_the_order_asked_for(tmp_path):
    bag = write_rosbag2(tmp_path / 'bag', Walk(with_effort=True).messages())
    out = tmp_path / 'walk.npz'
    lines = run('import', bag, '--out', out, '--joints', 'ankle, hip', '--json')
    facts = json.loads(lines[-1])
    assert facts['state_names'] == ['ankle/position', 'hip/position'] + [
        'ankle/velocity',
        'hip/velocity',
    ]
    assert load(out).sha256 == facts['sha256']
    assert load(out).actions is None
    assert not (tmp_path / 'walk.actions.npz').exists()
    with pytest.raises(LsiqError, match='must be a new file'):
        run('import', bag, '--out', out)
    run('import', bag, '--out', tmp_path / 'acting.npz', '--actions')
    assert load(tmp_path / 'acting.npz').action_names == tuple(f'{j}/effort' for j in JOINTS)
    assert (tmp_path / 'acting.actions.npz').exists()


def test_lint_says_plainly_and_by_its_exit_code(tmp_path):
    good = write_rosbag2(tmp_path / 'good', Walk().messages())
    lines = run('lint', good, '--json')
    assert 'This bag is sound' in lines[0]
    assert json.loads(lines[-1])['trainable'] is True
    bad = write_rosbag2(tmp_path / 'bad', Walk(velocity_scale=60 / (2 * math.pi)).messages())
    lines = run('lint', bad, '--json', code=1)
    assert 'can NOT be trained on' in lines[0]
    assert 'rpm' in json.loads(lines[-1])['findings'][0]['message']
    limits = tmp_path / 'limits.yaml'
    limits.write_text('knee: [0.0, 2.0]\n')
    lines = run('lint', good, '--limits', limits, '--json', code=1)
    assert {finding['code'] for finding in json.loads(lines[-1])['findings']} == {'sign'}


def test_recover_repairs_what_was_cut_off(tmp_path):
    writer = BagWriter(tmp_path / 'bag')
    writer.add_topic('/joint_states', JOINT_STATE)
    for message in Walk().messages():
        writer.write(message.topic, message.received_ns, message.data)
        writer.flush_if_due(message.received_ns)
    facts = json.loads(run('recover', tmp_path / 'bag', '--json')[-1])
    assert facts['messages'] > 570
    assert not facts['was_finished']
    assert 'whole already' in run('recover', tmp_path / 'bag')[0]
    run('lint', tmp_path / 'bag')


def test_the_terms_of_atlas_are_asked_for_by_name(tmp_path):
    pytest.importorskip('mujoco')
    bag = write_rosbag2(tmp_path / 'bag', Walk().messages())
    with pytest.raises(LsiqError, match=r'hip_flexion_l.*missing'):
        run('import', bag, '--out', tmp_path / 'x.npz', '--robot', 'atlas')
    with pytest.raises(LsiqError, match='offers'):
        run('lint', bag, '--robot', 'atlas', '--observation', 'everything')
    with pytest.raises(LsiqError, match='is now --robot atlas --observation full'):
        run('lint', bag, '--spec', 'full')


@pytest.mark.parametrize(
    'arguments, words',
    [
        (['--terms', 'hip/position', '--joints', 'hip'], 'leave out'),
        (['--terms', 'hip/colour'], 'comes from no known topic'),
        (['--twist-frame', 'sideways'], 'must be one of'),
        (['--topic', 'nothing'], 'no topic'),
        (['--limits', 'nowhere.yaml'], 'nowhere.yaml'),
        (['--terms', 'base/height'], 'Odometry'),
    ],
)
def test_bad_options_are_the_users_errors(tmp_path, arguments, words):
    bag = write_rosbag2(tmp_path / 'bag', Walk(seconds=1).messages())
    with pytest.raises(LsiqError, match=words):
        run('import', bag, '--out', tmp_path / 'x.npz', *arguments)


def test_no_bag_is_a_users_error(tmp_path):
    for command in ('lint', 'recover'):
        with pytest.raises(LsiqError, match='no '):
            run(command, tmp_path / 'nothing')


H1_FILE = """
mjcf: h1_sole.xml
base: {body: pelvis, forward: x}
joints: {actuated: ['.*hip.*', '.*knee.*', '.*ankle.*'], locked: {'.*': 0.0}}
feet: {left_foot: left_ankle_link, right_foot: right_ankle_link}
control: {rate_hz: 100, timestep_s: 0.001}
"""


def test_a_bag_of_another_robot_and_controller(tmp_path):
    pytest.importorskip('mujoco')
    if not (SHARED / 'recordings').is_dir():
        pytest.skip('../shared/recordings is not here')
    shutil.copy(SHARED / 'robots' / 'h1_sole.xml', tmp_path)
    robot = tmp_path / 'robot.yaml'
    robot.write_text(H1_FILE)
    bag, out = SHARED / 'recordings' / 'h1_sole_walk_bag', tmp_path / 'walk.npz'
    assert 'can be trained on for' in run('lint', bag, '--robot', robot)[0]
    with pytest.raises(LsiqError, match='30 ms earlier than the joints.*--base-shift-s 0'):
        run('import', bag, '--robot', robot, '--out', out, '--base-shift-s', '0.03')
    facts = json.loads(run('import', bag, '--robot', robot, '--out', out, '--json')[-1])
    assert (facts['episodes'], len(facts['state_names'])) == (5, 30)
    assert facts['used_s'] == pytest.approx(49.97, abs=0.05)
    assert facts['discarded_s'][0]['gap'] == pytest.approx(8.02, abs=0.01)
