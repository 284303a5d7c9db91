# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""The commands around a simulated robot, without the program around them."""

import json
from pathlib import Path

from lsiq_core.data import demonstrations
from lsiq_core.errors import LsiqError
from lsiq_ros.cli import bench_commands, expert_commands
from lsiq_ros.view.robot import motion
import numpy as np
import pytest

EXPERT = Path('models/atlas/expert/expert.onnx')


def test_collected_files_keep_the_schema_and_the_actions_apart(tmp_path):
    out = tmp_path / 'walk.npz'
    expert_commands.demos_collect(episodes=2, seconds=0.4, out=out, observation='paper')
    states = demonstrations.load(out, with_actions=False)
    assert states.states.shape == (82, 32) and states.actions is None
    assert states.metadata['noise'] == [0.02, 0.16]
    with np.load(out, allow_pickle=False) as archive:
        assert 'actions' not in archive.files
    assert demonstrations.load(out).actions.shape == (80, 10)


def test_what_a_user_can_get_wrong_is_a_user_error(tmp_path):
    with pytest.raises(LsiqError, match='no robot'):
        expert_commands.demos_collect(robot='Hopper-v5')
    with pytest.raises(LsiqError, match=r'nobody\.onnx'):
        expert_commands.demos_collect(expert=tmp_path / 'nobody.onnx', out=tmp_path / 'x.npz')
    with pytest.raises(LsiqError, match=r'nothing\.npz'):
        motion(tmp_path / 'nothing.npz', seed=0, seconds=1)


def test_the_expert_and_its_states_can_be_watched(tmp_path):
    env, steps = motion(EXPERT, seed=0, seconds=0.5)
    assert sum(1 for _ in steps) == 50
    assert env.data.qpos[0] > 0.4
    out = tmp_path / 'walk.npz'
    expert_commands.demos_collect(episodes=1, seconds=0.3, out=out)
    states = demonstrations.load(out).states
    env, steps = motion(out, seed=0, seconds=10)
    shown = [env.kinematic() for _ in steps]
    np.testing.assert_allclose(shown, states[:, :30], atol=1e-6)
    assert env.data.qpos[0] == pytest.approx(states[:-1, 14].sum() / 100, abs=1e-6)


def test_the_bench_prints_one_json_object(capsys):
    bench_commands.sim(json_=True)
    found = json.loads(capsys.readouterr().out.strip().splitlines()[-1])
    assert {'control_steps_per_s', 'bare_mj_step_per_s', 'ratio'} <= set(found)
    assert 0.5 < found['ratio'] < 1.2  # the real bar needs a quiet machine
