# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""What a policy survives: the shipped one, for a moment."""

from dataclasses import replace
import json
import shutil

from lsiq_core.errors import LsiqError
from lsiq_core.policy import stress
from lsiq_core.policy.artifact import read_artifact
from lsiq_core.robot import Randomisation
from lsiq_core.shipped_files import shipped
from lsiq_ros.cli.main import app
from lsiq_ros.stress.disturbances import disturbances, together
from lsiq_ros.stress.measure import _search, measure
from lsiq_ros.stress.walks import load, robot_of, Subject, walk
import numpy as np
import pytest
from typer.testing import CliRunner

POLICY = shipped('models/atlas/walk/policy.onnx')
ATLAS_N = 171.6626 * 9.81


def test_the_sizes_are_those_of_the_table():
    rows = {
        kind.text(size): kind.ranges(size) for kind in disturbances(ATLAS_N) for size in kind.sizes
    }
    assert rows['command delay 12 ms'] == {'delay_ms': 12}
    assert rows['push 400 N for 0.1 s'] == {'push_n': 400}
    assert rows['push 600 N for 0.1 s'] == {'push_n': 600}
    assert rows['mass 0.9 x']['mass_scale'] == pytest.approx(0.9)
    assert rows['friction 0.4']['friction'] == pytest.approx(0.4)
    half = Randomisation(**together(disturbances(ATLAS_N), 0.5))
    assert half.delay_ms == (6, 6) and half.push_n == (300, 300) and half.friction == (0.7, 0.7)
    assert half.mass_scale == pytest.approx((0.95, 1.05)) and half.velocity_noise == (0.25, 0.25)
    assert disturbances(ATLAS_N / 4)[3].sizes == (100, 150)


def test_a_walk_counts_what_stands_and_stops_what_fell():
    late = Randomisation(delay_ms=30)
    walks = walk(Subject(POLICY), late, episodes=3, seconds=2.0, seed=1)
    assert walks.survived == [False] * 3 and max(walks.metric) < 0.6
    again = walk(Subject(POLICY), late, episodes=3, seconds=2.0, seed=1)
    assert again == walks
    plain = walk(Subject(POLICY), Randomisation(), episodes=2, seconds=0.5, seed=1)
    assert plain.survived == [True, True] and min(plain.metric) > 0.8


def test_the_breaking_point_lies_between_what_stood_and_what_fell():
    kind = next(kind for kind in disturbances(ATLAS_N) if kind.name == 'command delay')
    found = _search(Subject(POLICY), kind, 0.6, 3)
    stood = [size for size, share in found.tried if share >= stress.SURVIVE]
    fell = [size for size, share in found.tried if share < stress.SURVIVE]
    assert found.largest == max(stood) and not found.unbroken
    assert min(fell) - max(stood) == pytest.approx(2.0)  # ms, a physics step


def test_the_command_writes_table_and_page_and_verify_shows_them(tmp_path):
    policy = tmp_path / 'policy.onnx'
    shutil.copy(POLICY, policy)
    options = ['--quick', '--episodes', '1', '--seconds', '0.2', '--json']
    done = CliRunner().invoke(app, ['stress', str(policy), *options], catch_exceptions=False)
    printed = json.loads(done.stdout.splitlines()[-1])
    table = stress.read(tmp_path / 'stress.json')
    assert [row['name'] for row in printed['rows']] == [row.name for row in table.rows]
    assert table.sha256 == read_artifact(policy).sha256 and len(table.rows) == 11
    page = (tmp_path / 'stress.html').read_text()
    assert 'command delay 12 ms' in page and page.count('<img') == 1
    shown = stress.beside(str(policy), table.sha256)
    assert any(line.startswith('push 400 N') for line in shown)
    assert 'another policy' in stress.beside(str(policy), '0' * 64)[0]
    assert 'lsiq stress' in stress.beside(str(tmp_path / 'a' / 'policy.onnx'), '')[0]
    verified = CliRunner().invoke(app, ['verify', str(policy)], catch_exceptions=False)
    assert 'push 400 N for 0.1 s' in verified.stdout


def test_what_cannot_be_measured_is_said(tmp_path):
    with pytest.raises(LsiqError, match='name the run or its checkpoint'):
        measure(Subject(POLICY, stochastic=True))
    with pytest.raises(LsiqError, match='made for 50 Hz, atlas is commanded at 100 Hz'):
        walk(Subject(POLICY, 'atlas'), Randomisation(), episodes=1, seconds=0.1, seed=0)
    stranger = replace(load(Subject(POLICY)), robot='go1')
    with pytest.raises(LsiqError, match="made for the robot 'go1', which is not .* --robot"):
        robot_of(Subject(POLICY), stranger)
    (tmp_path / 'stress.json').write_text('{"rows": 3}')
    with pytest.raises(LsiqError, match='no table of lsiq stress'):
        stress.read(tmp_path / 'stress.json')


def test_sampled_actions_of_a_checkpoint():
    checkpoint = shipped('models/atlas/walk/best.safetensors')
    walks = [
        walk(
            Subject(checkpoint, stochastic=sampled),
            Randomisation(),
            episodes=2,
            seconds=0.3,
            seed=1,
        )
        for sampled in (False, True)
    ]
    assert walks[0].survived == [True, True]
    assert not np.allclose(walks[0].metric, walks[1].metric)
