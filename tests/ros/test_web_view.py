# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""The robot in a real browser: a policy with a ghost beside it, and a graph that runs."""

from __future__ import annotations

import json
import os
from pathlib import Path
import re
import time

from browser import Browser, find_browser
from lsiq_core.data.demonstrations import Demonstrations
from lsiq_core.types import names
from lsiq_ros.graph.catalogue import GRAPHS
from node_processes import at_most_s, own_domain, start_node, start_python, stop
import numpy as np
import pytest
from sim.walking import make_walking
from target_policy import write_target_policy

pytest.importorskip('viser', reason='lsiq view --web needs viser')
if find_browser() is None:
    pytest.skip('no Chromium here: apt install chromium', allow_module_level=True)
PICTURES = os.environ.get('LSIQ_PICTURES')  # a folder to look at what the browser showed


def picture(browser: Browser, name: str) -> np.ndarray:
    return browser.picture(Path(PICTURES) / name if PICTURES else None)


def wait_for_text(browser: Browser, *wanted: str) -> str:
    until_s = time.monotonic() + at_most_s(60)
    while not all(word in (text := browser.text()) for word in wanted):
        assert time.monotonic() < until_s, text
        time.sleep(0.5)
    return text


def url_of(process) -> str:
    for line in process.stdout:
        found = re.search(r'http://127.0.0.1:\d+', line)
        if found:
            return found.group()
    raise AssertionError(f'no page, exit code {process.wait()}')


def time_of(browser: Browser) -> str:
    found = re.search(r'time\s+([0-9.]+) s', browser.text())
    assert found is not None
    return found.group(1)


def standing(path: Path) -> Path:
    """Write quad standing, as demonstrations."""
    env = make_walking('quad', start='stand')
    states = [env.reset(seed=1)] + [env.step(env.robot.rest).obs for _ in range(100)]
    Demonstrations(
        states=np.array(states, np.float32),
        episode_lengths=np.array([100]),
        terminated=np.array([False]),
        state_names=names(env.observation_terms),
        rate_hz=env.rate_hz,
        metadata={'task': 'quad'},
    ).save(path)
    return path


def test_a_policy_moves_in_a_browser_with_a_ghost_beside_it(tmp_path):
    policy = write_target_policy(tmp_path / 'policy.onnx', lower_rad=0.2)
    ghost = standing(tmp_path / 'ghost.npz')
    words = ['view', str(policy), '--ghost', str(ghost), '--web', '--port', '0', '--seconds', '3']
    with own_domain() as domain:
        process = start_python(domain, '-m', 'lsiq_ros.cli.main', *words)
        browser = Browser(tmp_path / 'profile', url_of(process))
        try:
            wait_for_text(browser, 'fl_knee', 'm high')
            seen = time_of(browser)
            time.sleep(1.0)
            assert time_of(browser) != seen, 'time goes on'
            scene = picture(browser, 'policy.png')[:, :350]
            assert scene.std() > 5, 'left of the panel something is drawn'
        finally:
            browser.close()
            stop(process)


def test_a_running_graph_is_watched_with_its_gate(tmp_path):
    policy = write_target_policy(tmp_path / 'policy.onnx')
    given = {'policy': str(policy), 'robot': 'quad', 'view': 'true', 'port': '0'}
    given |= {'real_time_factor': '0.25', 'reset_frames': ''}  # the machine may be busy
    with own_domain() as domain:
        nodes = {
            node.executable: start_node(
                node.executable,
                domain,
                *(w for k, v in node.parameters.items() for w in ('-p', f'{k}:={json.dumps(v)}')),
            )
            for node in GRAPHS['deploy_sim'].resolve(given)
        }
        browser = Browser(tmp_path / 'profile', url_of(nodes['view_node']))
        try:
            wait_for_text(browser, 'gate', 'running', 'rr_knee', 'lsiq deploy disarm')
            picture(browser, 'graph.png')
        finally:
            browser.close()
            for process in nodes.values():
                stop(process)
