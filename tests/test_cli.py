# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""The command line as a user meets it: help, JSON, and bad input that harms nothing."""

import json
from pathlib import Path
import subprocess
import sys

from lsiq_core import checkpoint
from lsiq_ros.cli.main import main
from lsiq_ros.runs.tasks import built_in_demos, doubts
import numpy as np
import pytest
import torch

ROOT = Path(__file__).resolve().parents[1]
QUICK = [
    *('--set', 'compile=never', '--set', 'networks.hidden=[8]', '--set', 'idm.hidden=[8]'),
    *('--set', 'report.evaluation_episodes=2', '--set', 'collection.critic_start=10'),
    *('--set', 'report.log_every=10', '--set', 'report.evaluate_every=30'),
]


def lsiq(*words, capsys=None):
    """Run the command in this process; return its exit code."""
    before = sys.argv
    sys.argv = ['lsiq', *map(str, words)]
    try:
        main()
    except SystemExit as end:
        return int(end.code or 0)
    finally:
        sys.argv = before
    return 0


def last_json(capsys):
    return json.loads(capsys.readouterr().out.strip().splitlines()[-1])


def test_help_teaches(capsys):
    assert lsiq('train', '--help') == 0
    text = capsys.readouterr().out
    assert '--observations-only' in text and 'lsiq train --task Hopper-v5' in text


def test_train_evaluate_and_json(tmp_path, capsys):
    run = tmp_path / 'run'
    arguments = ['train', '--task', 'point_mass', '--observations-only', '--out', run]
    assert lsiq(*arguments, '--steps', 60, *QUICK) == 0
    assert 'result: ' in capsys.readouterr().out
    for name in ('config.yaml', 'metrics.jsonl', 'result.json', 'curve.png', 'paths.png'):
        assert (run / name).stat().st_size > 0, name
    assert lsiq('evaluate', run, '--episodes', 2, '--json') == 0
    figures = last_json(capsys)
    wanted = {'normalized_return', 'return_mean', 'return_std', 'episode_length_mean'}
    assert wanted <= set(figures)
    assert lsiq('evaluate', run, '--task', 'Hopper-v5') == 2
    assert 'the policy observes 4 values' in capsys.readouterr().err


def test_a_policy_and_its_average_are_measured_apart(tmp_path, capsys):
    run = tmp_path / 'run'
    settings = ['--set', 'optimisation.policy_window=0.5', '--set', 'optimisation.actor_rate=0.01']
    steps = ['--steps', 60, '--set', 'collection.actor_start=10']
    assert lsiq('train', '--task', 'point_mass', '--out', run, *steps, *QUICK, *settings) == 0
    tensors, header = checkpoint.load(run / 'last.safetensors')
    swapped = tensors | {'learner.actor_ema': tensors['learner.actor'].clone()}
    assert not torch.equal(tensors['learner.actor'], tensors['learner.actor_ema'])
    checkpoint.save(tmp_path / 'swapped.safetensors', swapped, header)
    found = []
    for words in ([run], [run, '--no-average'], [tmp_path / 'swapped.safetensors']):
        place = run / 'last.safetensors' if words[0] == run else words[0]
        assert lsiq('evaluate', place, *words[1:], '--episodes', 2, '--json') == 0
        found.append(last_json(capsys)['return_mean'])
    assert found[0] != found[1] == found[2]


def test_finished_run_is_extended(tmp_path, capsys):
    run = tmp_path / 'run'
    arguments = ['train', '--task', 'point_mass', '--out', run, '--steps', 60, *QUICK]
    assert lsiq(*arguments, '--set', 'collection.replay=40') == 0
    assert lsiq('train', '--resume', run, '--steps', 90) == 0
    assert f'continuing {run} at step 60' in capsys.readouterr().out
    assert json.loads((run / 'result.json').read_text())['steps'] >= 90
    assert lsiq('train', '--resume', run, '--steps', 30) == 2
    assert 'was begun with 90 steps; --steps 30 does not' in capsys.readouterr().err


def test_version(capsys):
    assert lsiq('--version') == 0
    assert capsys.readouterr().out.startswith('lsiq 0.')


def test_old_options_are_refused_with_the_new_name(capsys):
    assert lsiq('demos', 'collect', '--task=atlas') == 2
    assert 'demos collect: --task is called --robot since' in capsys.readouterr().err


def test_limits_that_are_no_yaml(tmp_path, capsys):
    (tmp_path / 'robot.xml').write_text('<mujoco/>')
    assert lsiq('demos', 'lint', tmp_path, '--limits', tmp_path / 'robot.xml') == 2
    assert 'robot.xml: expected settings by name' in capsys.readouterr().err


def test_settings_are_shown_without_a_task(capsys):
    assert lsiq('train', '--show-config') == 0
    assert 'collection.steps=' in capsys.readouterr().out


def test_few_and_short_demonstrations_are_said():
    demos = built_in_demos('point_mass', 2)
    assert doubts(demos, longest=100) == []
    few, short = doubts(demos, longest=2000)
    assert 'few demonstrations: 200 steps in all' in few
    assert 'short demonstrations: 2 of 2' in short


def test_demos_info_as_json(tmp_path, capsys):
    built_in_demos('point_mass', 2).save(tmp_path / 'demos.npz')
    assert lsiq('demos', 'info', tmp_path / 'demos.npz', '--json') == 0
    facts = last_json(capsys)
    assert (facts['episodes'], facts['transitions'], facts['has_actions']) == (2, 200, True)


def write(path, **changes):
    demos = built_in_demos('point_mass', 2)
    arrays = {
        'states': demos.states,
        'actions': demos.actions,
        'episode_lengths': demos.episode_lengths,
        'terminated': demos.terminated,
    }
    np.savez(path, **{**arrays, **changes})


BAD_FILES = {
    'NaN': {'states': np.full((202, 4), np.nan)},
    'infinite': {'states': np.full((202, 4), np.inf)},
    'misshapen': {'states': np.zeros((201, 4))},
    'too short': {'episode_lengths': np.array([200, 0])},
    'object array': {'states': np.array([None, {}], dtype=object)},
    'other task': {'states': np.zeros((202, 11))},
}


@pytest.mark.parametrize('kind', BAD_FILES)
def test_bad_demonstrations_end_with_code_2_and_write_nothing(tmp_path, capsys, kind):
    write(tmp_path / 'bad.npz', **BAD_FILES[kind])
    run = tmp_path / 'run'
    assert (
        lsiq('train', '--task', 'point_mass', '--demos', tmp_path / 'bad.npz', '--out', run) == 2
    )
    said = capsys.readouterr().err
    assert said.startswith('lsiq: ') and 'bad.npz' in said
    assert not run.exists()


@pytest.mark.parametrize(
    ('words', 'said'),
    [
        (['--task', 'nonsense'], "no task 'nonsense'"),
        (['--task', 'Hopper-v5'], 'needs --demos FILE'),
        ([], '(--robot) or a task (--task)'),
        (['--task', 'point_mass', '--set', 'algorithm.gamma=1'], 'algorithm.gamma'),
        (['--task', 'point_mass', '--set', 'algorithm.discount=2'], 'algorithm.discount'),
        (['--task', 'point_mass', '--set', 'nonsense'], 'expected group.name=value'),
        (['--task', 'point_mass', '--set', 'algorithm.name=dqn'], "'dqn' is none of"),
        (['--task', 'point_mass', '--demos', 'none.npz'], 'none.npz: no such file'),
        (['--task', 'point_mass', '--config', 'none.yaml'], 'none.yaml: cannot be read'),
        (['--resume', 'nowhere'], 'nowhere: no config.yaml there'),
        (['--resume', 'nowhere', '--stop-at', '0.9'], 'only --demos, --steps'),
        (['--resume', 'nowhere', '--observations-only'], 'only --demos, --steps'),
    ],
)
def test_bad_settings_end_with_code_2(tmp_path, monkeypatch, capsys, words, said):
    monkeypatch.chdir(tmp_path)
    assert lsiq('train', *words) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    'words',
    [
        ['demos', 'plot', 'bad.npz', '--out', 'picture.png'],
        ['convert', 'bad.npz', '--out', 'new.npz'],
        ['convert', 'bad.onnx', '--out', 'new.onnx'],
        ['view', 'bad.onnx', '--mp4', 'film.mp4'],
    ],
)
def test_damaged_files_are_named(tmp_path, monkeypatch, capsys, words):
    monkeypatch.chdir(tmp_path)
    for name in ('bad.npz', 'bad.onnx'):
        (tmp_path / name).write_text('garbage')
    assert lsiq(*words) == 2
    said = capsys.readouterr().err
    assert said.startswith('lsiq: bad.') and 'not a readable' in said
    assert not (tmp_path / words[-1]).exists()


def test_used_output_directory_is_left_alone(tmp_path, capsys):
    (tmp_path / 'precious.txt').write_text('mine')
    assert lsiq('train', '--task', 'point_mass', '--out', tmp_path) == 2
    assert 'already used' in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ['precious.txt']


def test_unwritable_output_directory(tmp_path, capsys):
    (tmp_path / 'file').write_text('')
    assert lsiq('train', '--task', 'point_mass', '--out', tmp_path / 'file' / 'run') == 2
    assert 'cannot be written' in capsys.readouterr().err


def test_evaluate_refuses_what_is_no_run(tmp_path, capsys):
    assert lsiq('evaluate', tmp_path / 'nothing') == 2
    assert 'no such directory' in capsys.readouterr().err


def test_starting_the_command_needs_nothing_that_only_training_needs():
    """A robot without torch and simulator can still ask for help and verify policies."""
    training = ('torch', 'mujoco', 'gymnasium', 'scipy', 'matplotlib', 'safetensors', 'imageio')
    blocked = '; '.join(f'sys.modules[{name!r}] = None' for name in training)
    code = f'import sys; {blocked}; import lsiq_ros.cli.main'
    subprocess.run([sys.executable, '-c', code], check=True, cwd=ROOT)
