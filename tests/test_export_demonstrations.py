# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""An export finds the demonstrations of its run from whatever directory it is asked."""

from lsiq_core.config import RunConfig
from lsiq_core.errors import ConfigError
from lsiq_ros.runs.export import _demonstrations
from lsiq_ros.runs.setup import RunSetup, write_setup
import pytest


def test_the_run_knows_the_whole_path(tmp_path, monkeypatch):
    (tmp_path / 'data').mkdir()
    (tmp_path / 'run').mkdir()
    demos = tmp_path / 'data' / 'walk.npz'
    demos.touch()
    monkeypatch.chdir(tmp_path)
    write_setup(tmp_path / 'run', RunSetup(RunConfig(task='point_mass'), 'data/walk.npz', 1))
    monkeypatch.chdir('/')
    assert _demonstrations(tmp_path / 'run', 'data/walk.npz') == str(demos)
    demos.rename(tmp_path / 'run' / 'walk.npz')  # moved together with the run
    assert _demonstrations(tmp_path / 'run', 'data/walk.npz') == str(tmp_path / 'run/walk.npz')
    (tmp_path / 'run' / 'walk.npz').unlink()
    with pytest.raises(ConfigError, match=f'{demos}.*--demos'):
        _demonstrations(tmp_path / 'run', 'data/walk.npz')


def test_what_is_no_file_is_not_searched_for(tmp_path):
    assert _demonstrations(tmp_path, 'minari:hopper/expert-v0') == 'minari:hopper/expert-v0'
    assert _demonstrations(tmp_path, 'built-in expert, seed 0') is None
