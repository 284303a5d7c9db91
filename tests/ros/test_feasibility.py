# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Before a run its demonstrations are judged, and retraced where that is asked for."""

from dataclasses import replace
from pathlib import Path
import shutil

from lsiq_core.data.demonstrations import load
from lsiq_core.learning.feasibility import judge
from lsiq_core.robot import load_robot
from lsiq_core.shipped_files import shipped
from lsiq_ros.cli.main import app
from lsiq_ros.runs import feasibility
from lsiq_ros.runs import retrace as retracing
from lsiq_ros.runs.feasibility import judge_recording, ready, shown_falls
from lsiq_ros.runs.recording import open_recording
from lsiq_ros.runs.setup import new_config, read_setup, RunSetup
from lsiq_ros.runs.tasks import built_in_demos
from lsiq_ros.simulator.tasks import make_env
import numpy as np
import pytest
from typer.testing import CliRunner

SHARED = Path(__file__).resolve().parents[3] / 'shared'
WALK = shipped('models/atlas/demos/walk_noisy.npz')
H1 = """
mjcf: h1_sole.xml
base: {body: pelvis, forward: x}
joints:
  actuated: ['.*_hip_.*', '.*_knee', '.*_ankle']
  locked: {'torso|.*shoulder.*|.*elbow': 0.0}
feet: {left_foot: left_ankle_link, right_foot: right_ankle_link}
control: {rate_hz: 50}
task: {speed_mps: 0.5, fall: {height_m: 0.6, tilt_rad: 0.8}}
"""


@pytest.fixture(scope='module')
def walk():
    return load(WALK, with_actions=False).first(2)


def noisy(demos, position, velocity, force, seed=0):
    """Return demonstrations as noisy sensors would have seen them."""
    scale = [
        force
        if 'force' in name
        else velocity
        if 'velocity' in name or 'rate' in name
        else position
        for name in demos.state_names
    ]
    noise = np.random.default_rng(seed).standard_normal(demos.states.shape) * scale
    return replace(demos, states=(demos.states + noise).astype(np.float32))


def test_what_our_own_simulation_made_is_feasible(walk):
    found = judge_recording(walk, load_robot('atlas'))
    assert found.feasibility.explained > 0.9
    assert 'can be trained on as it is' in found.text


def test_a_motion_that_the_robots_file_calls_a_fall_is_named(walk):
    spec = load_robot('atlas')
    assert shown_falls(walk, spec) == []
    crouch = walk.states.copy()
    crouch[:, walk.state_names.index('base/height')] -= 0.6
    (sentence,) = shown_falls(replace(walk, states=crouch), spec)
    assert '100% of the recorded states are falls by task.fall' in sentence


@pytest.mark.parametrize('noise', [(0.002, 0.05, 10.0), (0.01, 0.5, 30.0)])
def test_a_noisy_recording_is_to_be_retraced(walk, noise):
    found = judge_recording(noisy(walk, *noise), load_robot('atlas'))
    assert found.feasibility.explained < 0.1
    assert 'Retrace it' in found.text
    assert f'{1e3 * noise[0]:.0f}'[0] in found.text.partition('noise about')[2]


def test_another_controllers_recording_is_to_be_retraced(tmp_path):
    if not SHARED.exists():
        pytest.skip('the recording is not beside this repository')
    shutil.copy(SHARED / 'robots' / 'h1_sole.xml', tmp_path)
    (tmp_path / 'robot.yaml').write_text(H1)
    spec = load_robot(str(tmp_path / 'robot.yaml'))
    demos = open_recording(SHARED / 'recordings' / 'h1_sole_walk_bag', spec)
    assert demos.num_episodes == 5 and demos.rate_hz == 200.0
    assert not judge_recording(demos, spec).feasibility.exact
    bag = str(SHARED / 'recordings' / 'h1_sole_walk_bag')
    result = CliRunner().invoke(app, ['demos', 'lint', bag, '--robot', str(tmp_path)])
    assert 'can be trained on for' in result.output and 'once it is retraced' in result.output


def test_noise_is_added_as_sensors_would(tmp_path, walk):
    out = tmp_path / 'noisy.npz'
    words = ['noise', str(WALK), '--out', str(out), '--episodes', '2', '--force', '30']
    result = CliRunner().invoke(app, ['demos', *words])
    assert result.exit_code == 0, result.output
    found = load(out)
    spread = dict(zip(found.state_names, (found.states - walk.states).std(0)))
    assert spread['knee_angle_l/position'] == pytest.approx(0.002, rel=0.1)
    assert spread['base/yaw_rate'] == pytest.approx(0.05, rel=0.1)
    assert spread['base/world_velocity_x'] == pytest.approx(0.05, rel=0.1)
    assert spread['left_foot_front/force_z'] == pytest.approx(30, rel=0.1)
    assert found.actions is None


def test_a_task_that_is_no_robot_is_judged_alike():
    demos = built_in_demos('point_mass', 4)
    assert judge(make_env('point_mass', {}), demos).exact
    blurred = replace(
        demos,
        actions=None,
        action_names=(),
        states=demos.states + 0.01 * np.random.default_rng(0).standard_normal(demos.states.shape),
    )
    assert not judge(make_env('point_mass', {}), blurred).exact


def test_actions_are_refined_and_cloned_only_where_resets_are_exact(tmp_path, walk):
    config = new_config('atlas')
    said = []
    kept, demos = ready(tmp_path / 'run', RunSetup(config, str(WALK), 2), log=said.append)
    assert kept.config == config and demos.num_episodes == 2
    noisy(walk, 0.002, 0.05, 10.0).save(tmp_path / 'noisy.npz')
    setup = RunSetup(config, str(tmp_path / 'noisy.npz'), None)
    changed, _ = ready(tmp_path / 'run', setup, log=said.append)
    assert changed.config.idm.online and not config.idm.online
    assert changed.config.bc.weight == 0 == changed.config.bc.pretrain_updates
    assert any('--retrace auto' in line for line in said)
    assert any('not refined and not cloned' in line for line in said)


def test_what_was_collected_where_worlds_differ_is_not_judged_in_one_of_them(tmp_path, walk):
    drawn = noisy(walk, 0.01, 0.5, 10.0)
    acting = replace(
        drawn, observed=drawn.states, actions=np.zeros((drawn.num_transitions, 10), np.float32)
    )
    acting.save(tmp_path / 'demos.npz')
    said = []
    setup = RunSetup(new_config('atlas'), str(tmp_path / 'demos.npz'), None, 'auto')
    kept, demos = ready(tmp_path / 'run', setup, log=said.append)
    assert kept == setup and demos.observed is not None and not said


def test_auto_retraces_a_recording_before_it_is_learned_from(tmp_path, walk, monkeypatch):
    tiny = retracing.RetraceConfig(
        tracker=replace(retracing.TrackerConfig(), max_steps=1, num_envs=8, evaluate_every=10**9),
        collect=replace(
            retracing.CollectConfig(), episodes=2, seconds=0.2, noise=(0.0, 0.0), parallel=4
        ),
    )
    monkeypatch.setattr(retracing, 'RetraceConfig', lambda: tiny)
    noisy(walk, 0.002, 0.05, 10.0).save(tmp_path / 'noisy.npz')
    run, said = tmp_path / 'run', []
    setup = RunSetup(new_config('atlas'), str(tmp_path / 'noisy.npz'), None, 'auto')
    assert ready(run, setup, log=said.append, stopped=lambda: True) is None
    assert read_setup(run).retrace == 'auto'
    kept, demos = ready(run, read_setup(run), log=said.append)
    assert any('going on with the tracker' in line for line in said)
    assert kept.demos == str(run / 'retraced.npz') and kept.retrace == 'never'
    assert kept.config.task_options['start'] == str((run / 'retraced.npz').resolve())
    assert not kept.config.observations_only
    assert demos.num_episodes == 2 and demos.state_names == walk.state_names
    again, _ = ready(run, read_setup(run), log=said.append)
    assert again.demos == kept.demos
    clean = RunSetup(new_config('atlas'), str(WALK), 2, 'auto')
    assert ready(tmp_path / 'few', clean, log=said.append)[0].demos.endswith('retraced.npz')
    assert any('20 s are few' in line for line in said)
    monkeypatch.setattr(feasibility, 'ENOUGH_S', 20.0)
    assert ready(tmp_path / 'other', clean, log=said.append)[0].demos == str(WALK)
