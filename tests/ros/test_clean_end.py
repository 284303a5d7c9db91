# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""The learner ends within two seconds whatever it is doing, and a run can go on from there."""

import signal
import time

from lsiq_core import checkpoint
from lsiq_core.shipped_files import shipped
from node_processes import at_most_s, own_domain, start_node, stop
import pytest

DEMOS = shipped('models/atlas/demos/walk_noisy.npz')
SMALL = (
    'collection.simulations=2 bc.pretrain_updates=20 '
    'networks.hidden=[16,16] idm.hidden=[16,16] optimisation.expert_batch=16 '
    'optimisation.policy_batch=16 report.evaluation_episodes=1 report.log_every=32'
)
NO_BABBLE = (
    'pretraining.babble.transitions=0 pretraining.babble.to_replay=0 idm.online=true '
    'collection.critic_start=32 collection.actor_start=32'
)


@pytest.fixture
def domain():
    with own_domain() as number:
        yield number


def wait_for_line(process, words):
    """Read what the node prints until these words come."""
    deadline_s = time.monotonic() + at_most_s(60)
    for line in process.stdout:
        if words in line:
            return
        assert time.monotonic() < deadline_s, f'never said {words!r}'
    pytest.fail(f'ended with {process.wait()} and never said {words!r}')


@pytest.mark.parametrize(
    ('settings', 'words', 'saved_steps'),
    [
        ('compile=never', 'babbling for', 0),
        (f'compile=always {NO_BABBLE}', 'compiling the update', 32),
        (f'compile=never {NO_BABBLE} report.evaluate_every=10000000', ' steps', 2),
    ],
    ids=['babbling', 'compiling', 'training'],
)
@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM], ids=['INT', 'TERM'])
def test_ends_in_time_with_everything_saved(
    domain, tmp_path, monkeypatch, settings, words, saved_steps, number
):
    monkeypatch.setenv('TORCHINDUCTOR_CACHE_DIR', str(tmp_path / 'cold'))
    run = tmp_path / 'run'
    learner = start_node(
        'learner_node', domain, '-p', f'run:={run}', '-p', f'demos:={DEMOS}',
        '-p', 'in_process:=true', '-p', f'settings:=["{SMALL} {settings}"]',
    )  # fmt: skip
    wait_for_line(learner, words)
    time.sleep(0.3)  # well into it
    seconds, code, output = stop(learner, number)
    print(f'{words!r}: ended after {seconds:.2f} s')
    assert (seconds < at_most_s(2), code) == (True, 0), output
    kept = checkpoint.load(run / 'last.safetensors')
    assert kept.header['steps'] >= saved_steps
