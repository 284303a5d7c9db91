# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Grids, their order and filters, what a kill leaves behind, and two workers of Ray."""

import json
import os
from pathlib import Path
import platform
import signal
import subprocess
import sys
import time

from lsiq_core.errors import ConfigError
from lsiq_core.experiments import grid as grids
from lsiq_core.experiments.cost import estimate, SHARES
from lsiq_core.experiments.status import read_status
from lsiq_core.experiments.workers import _claimed
from lsiq_core.learning.algorithms import ALGORITHMS
from lsiq_core.training.metrics import read
from lsiq_ros.cli.main import main
from lsiq_ros.runs.experiment import execute, execute_here
import pytest

ROOT = Path(__file__).resolve().parents[2]
TINY = {
    'compile': 'never',
    'networks': {'hidden': [8]},
    'idm': {'hidden': [8]},
    'optimisation': {'expert_batch': 4, 'policy_batch': 4},
    'collection': {'steps': 60, 'critic_start': 10, 'actor_start': 10},
    'report': {
        'evaluate_every': 30,
        'evaluation_episodes': 1,
        'log_every': 10,
        'checkpoint_every': 20,
    },
}


def tiny(seeds=1, variant='lsiq', **settings):
    grid = grids.load('point_mass')
    return grids.expand(
        grid, filters=[f'variant={variant}'], seeds=seeds, settings={**TINY, **settings}
    )


@pytest.mark.parametrize('name', grids.names())
def test_every_committed_run_has_valid_settings_and_a_known_algorithm(name):
    for run in grids.expand(grids.load(name), seeds=1):
        assert run.config.algorithm.name in ALGORITHMS
        assert run.config.seed == run.seed == 0


def test_grid_is_the_product_in_the_order_of_seeds():
    grid = grids.parse(
        {
            'about': 'x',
            'tasks': ['point_mass', 'Hopper-v5'],
            'variants': {'a': {'algorithm': {'discount': 0.5}}, 'b': {}},
            'demonstrations': [1, 5],
            'seeds': 3,
            'settings': {'algorithm': {'discount': 0.25}},
        },
        where='test',
    )
    runs = grids.expand(grid)
    assert len(runs) == len({run.name for run in runs}) == 3 * 2 * 2 * 2
    assert runs[0].name == 'point_mass_a_d1_s0'
    assert [run.seed for run in runs] == sorted(run.seed for run in runs)
    assert runs[0].config.algorithm.discount == 0.5  # the variant's over the experiment's
    assert runs[1].config.algorithm.discount == 0.25
    only = grids.expand(grid, filters=['task=Hop*', 'variant=b', 'demos=5', 'seed=0,2'])
    assert [run.name for run in only] == ['Hopper-v5_b_d5_s0', 'Hopper-v5_b_d5_s2']


@pytest.mark.parametrize('text', ['variant=nothing', 'colour=red', 'variant'])
def test_filter_that_fits_nothing_is_refused(text):
    with pytest.raises(ConfigError, match='filter'):
        grids.expand(grids.load('point_mass'), filters=[text])


def test_unknown_experiment_and_unknown_field_are_named():
    with pytest.raises(ConfigError, match='there are .*point_mass'):
        grids.load('nothing')
    with pytest.raises(ConfigError, match='colour'):
        grids.parse({'colour': 'red'}, where='test')


def test_run_goes_from_waiting_to_done_and_is_then_left_alone(tmp_path):
    (run,) = tiny()
    place = tmp_path / run.name
    assert read_status(place).state == 'waiting'
    execute(run, str(place))
    status = read_status(place)
    assert (status.state, status.step, status.attempts) == ('done', 60, 1)
    before = (place / 'result.json').stat().st_mtime_ns
    execute(run, str(place))
    assert (place / 'result.json').stat().st_mtime_ns == before
    assert 'result: ' in (place / 'log.txt').read_text()
    assert estimate(run, tmp_path).measured


def test_assumed_cost_by_hand(tmp_path):
    # 100 updates of LSIQ at half of 8 ms, eagerly, and 200 steps of 0.4 ms.
    chosen = {'collection': {'steps': 200}, 'optimisation': {'updates_per_step': 0.5}}
    (plain,) = tiny(**chosen)
    wanted_ms = 100 * 0.5 * 8 + 200 * 0.4
    assert estimate(plain, tmp_path) == pytest.approx((wanted_ms / 60_000, False))
    # From states alone the model moves, too, and babbles for 50 steps and 10 updates before.
    (states,) = tiny(
        variant='lsiq_states',
        **chosen,
        pretraining={'babble': {'transitions': 50, 'updates': 10}},
    )
    wanted_ms += 100 * 0.35 * 4 + 50 * 0.4 + 10 * 0.35 * 4
    assert estimate(states, tmp_path).minutes == pytest.approx(wanted_ms / 60_000)
    # A model that rests costs no update; cloning first does.
    (resting,) = tiny(
        variant='lsiq_states',
        collection={'steps': 200},
        optimisation={'updates_per_step': 0.5},
        bc={'pretrain_updates': 30},
        pretraining={'babble': {'transitions': 50, 'updates': 10}},
        idm={'online': False},
    )
    wanted_ms += 30 * 0.3 * 4 - 100 * 0.35 * 4
    assert estimate(resting, tmp_path).minutes == pytest.approx(wanted_ms / 60_000)
    assert set(SHARES) == set(ALGORITHMS)


def test_interrupted_run_goes_on_where_its_checkpoint_is(tmp_path, monkeypatch):
    (run,) = tiny()
    whole, parted = tmp_path / 'whole', tmp_path / 'parted'
    execute(run, str(whole))

    def stop_at_40():
        if read_status(parted).step >= 40:
            raise RuntimeError('lost')

    monkeypatch.setattr('lsiq_ros.runs.experiment._REFRESH_S', 0.0)
    execute_here(run, str(parted), stop_at_40)
    assert read_status(parted).state == 'failed'
    assert read_status(parted).error == 'RuntimeError: lost'
    execute(run, str(parted))
    assert 'at step 40' in (parted / 'log.txt').read_text()
    assert read_status(parted).attempts == 2
    assert not (parted / 'failure.txt').exists()
    lines = [
        [{k: v for k, v in line.items() if not k.startswith('time/')} for line in read(place)]
        for place in (whole, parted)
    ]
    assert lines[0] == lines[1]


def test_ctrl_c_ends_a_run_between_two_iterations(tmp_path, monkeypatch):
    (run,) = tiny()

    def ctrl_c_at_40():
        if read_status(tmp_path).step >= 40:
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr('lsiq_ros.runs.experiment._REFRESH_S', 0.0)
    with pytest.raises(KeyboardInterrupt):
        execute(run, str(tmp_path), ctrl_c_at_40)
    assert read_status(tmp_path).state != 'done'
    execute(run, str(tmp_path))
    assert 'at step 4' in (tmp_path / 'log.txt').read_text()
    assert read_status(tmp_path).state == 'done'


def test_other_settings_do_not_continue_a_run(tmp_path):
    (run,) = tiny()
    place = tmp_path / run.name
    execute(run, str(place))
    (place / 'result.json').unlink()
    (other,) = tiny(algorithm={'discount': 0.5})
    execute(other, str(place))
    assert 'other settings' in read_status(place).error


def lsiq(*words):
    before, sys.argv = sys.argv, ['lsiq', *map(str, words)]
    try:
        main()
    except SystemExit as end:
        return int(end.code or 0)
    finally:
        sys.argv = before
    return 0


def overrides(steps=60):
    flat = {
        'compile': 'never',
        'networks.hidden': '[8]',
        'idm.hidden': '[8]',
        'collection.critic_start': 10,
        'collection.actor_start': 10,
        'report.evaluate_every': 30,
        'report.evaluation_episodes': 1,
        'report.log_every': 10,
        'report.checkpoint_every': 20,
    }
    words = [word for key, value in flat.items() for word in ('--set', f'{key}={value}')]
    return [*words, '--steps', str(steps)]


def test_command_runs_a_grid_without_ray(tmp_path, capsys):
    words = ['reproduce', 'point_mass', '--filter', 'variant=lsiq,bc', '--seeds', 1]
    assert lsiq(*words, '--dry-run', '--out', tmp_path) == 0
    assert '2 runs' in capsys.readouterr().out
    assert lsiq(*words, '--out', tmp_path, *overrides()) == 0
    assert '2 done' in capsys.readouterr().out
    assert len(list(tmp_path.glob('*/result.json'))) == 2


def test_result_of_other_settings_is_not_taken_for_done(tmp_path, capsys):
    words = ['reproduce', 'point_mass', '--filter', 'variant=bc', '--seeds', 1, '--out', tmp_path]
    assert lsiq(*words, *overrides()) == 0
    assert lsiq(*words, *overrides(), '--set', 'algorithm.discount=0.5') == 2
    assert 'was finished with other settings' in capsys.readouterr().err


def test_run_of_a_dead_worker_is_not_shown_as_running(tmp_path):
    assert not _claimed(tmp_path)
    gone = subprocess.Popen([sys.executable, '-c', ''])
    gone.wait()
    for pid, host, claimed in (
        (os.getpid(), platform.node(), True),
        (gone.pid, platform.node(), False),
        (gone.pid, 'another machine', True),
    ):
        (tmp_path / 'worker.json').write_text(json.dumps({'pid': pid, 'host': host}))
        assert _claimed(tmp_path) == claimed


def test_missing_demonstrations_are_said_before_anything_runs(tmp_path, capsys):
    assert lsiq('reproduce', 'variants', '--out', tmp_path / 'runs') == 2
    assert 'give --demos DIR with Hopper-v5.npz' in capsys.readouterr().err
    assert not (tmp_path / 'runs').exists()


def drive(out, workers, steps):
    """Start a driver of four runs as a process of its own."""
    words = ['reproduce', 'point_mass', '--filter', 'variant=lsiq,bc', '--seeds', '2']
    command = [sys.executable, '-m', 'lsiq_ros.cli.main', *words, '--workers', str(workers)]
    command += ['--out', str(out), *overrides(steps=steps)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)


@pytest.mark.slow
@pytest.mark.parametrize('workers', [1, 2])
def test_killed_driver_loses_no_finished_run(tmp_path, workers):
    if workers > 1:
        pytest.importorskip('ray')
    driver = drive(tmp_path, workers, steps=2000)
    deadline = time.monotonic() + 1200
    while time.monotonic() < deadline and not list(tmp_path.glob('*/result.json')):
        time.sleep(0.1)
    driver.kill()
    driver.wait()
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.glob('*/result.json')}
    assert 1 <= len(kept) < 4
    again = drive(tmp_path, workers, steps=2000)
    output, _ = again.communicate(timeout=1800)
    assert again.returncode == 0, output
    assert '4 done' in output
    assert all(path.stat().st_mtime_ns == written for path, written in kept.items())


@pytest.mark.slow
def test_killed_worker_of_two_is_replaced_and_the_table_is_complete(tmp_path):
    """Two Ray workers; one is killed in the middle of its run, which then goes on elsewhere."""
    pytest.importorskip('ray')
    driver = drive(tmp_path, workers=2, steps=600)
    killed = None
    deadline = time.monotonic() + 1200
    while killed is None and time.monotonic() < deadline and driver.poll() is None:
        for place in tmp_path.glob('point_mass_*'):
            status = read_status(place, running=True)
            if status.state == 'running' and 40 <= status.step < 500:
                pid = json.loads((place / 'worker.json').read_text())['pid']
                os.kill(pid, signal.SIGKILL)
                killed = place
                break
        time.sleep(0.1)
    output, _ = driver.communicate(timeout=1800)
    assert driver.returncode == 0, output
    assert '4 done' in output
    assert killed is not None and read_status(killed).attempts == 2
    assert f'continuing {killed} at step' in (killed / 'log.txt').read_text()
    assert all(read_status(place).state == 'done' for place in tmp_path.glob('point_mass_*'))
