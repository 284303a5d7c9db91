# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""``lsiq diagnose`` on small real runs: before and after learning it says different things."""

import json
import math

from lsiq_ros.cli.main import app
from lsiq_ros.runs.driver import drive
from lsiq_ros.runs.setup import new_config, RunSetup
from typer.testing import CliRunner

SMALL = ('report.evaluation_episodes=2', 'report.evaluate_every=100000')


def diagnosed(folder, steps, *settings, **chosen):
    config = new_config(
        'point_mass', overrides=(*SMALL, *settings), collection__steps=steps, **chosen
    )
    assert drive(folder, RunSetup(config, None, 5), log=lambda _: None)
    shown = CliRunner().invoke(app, ['diagnose', str(folder), '--json'])
    assert shown.exit_code == 0, shown.output
    assert (folder / 'diagnosis.png').stat().st_size > 10_000
    *text, last = shown.output.strip().splitlines()
    figures = json.loads(last)
    assert all(math.isfinite(value) for value in figures.values())
    return figures, '\n'.join(text)


def test_a_learned_policy_and_a_random_one_are_told_apart(tmp_path):
    cloned = ('algorithm.name=bc', 'bc.pretrain_updates=1500')
    learned, text = diagnosed(tmp_path / 'learned', 8, *cloned)
    assert learned["R2 of the expert's actions"] > 0.8
    assert "at the expert's states the policy acts as it does" in text
    assert 'Q of the expert' not in learned  # cloning has no critic
    random, text = diagnosed(tmp_path / 'random', 8)
    assert random["R2 of the expert's actions"] < 0.3
    assert 'acts otherwise' in text
    assert random['what a perturbation costs, of Q_max'] < 0.01
    assert 'does not tell actions apart' in text


def test_inverse_dynamics_are_judged_from_states_alone(tmp_path):
    figures, text = diagnosed(tmp_path, 1200, observations_only=True)
    assert figures["inverse dynamics, R2 of the expert's"] <= 1.0
    assert 'inverse dynamics, R2 of its own' in text
    assert 'what a perturbation costs, of Q_max' in figures
