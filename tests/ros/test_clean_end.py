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
from lsiq_ros.nodes.clean_end import spin_once
from node_processes import at_most_s, client_node, own_domain, start_node, stop
import pytest
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.executors import SingleThreadedExecutor
from rclpy.waitable import NumberOfEntities, Waitable
from std_msgs.msg import String

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
        (f'compile=never {NO_BABBLE} report.evaluate_every=10000000', ' steps  ', 2),
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


class DestroysMeanwhile(Waitable):
    """Destroys a publisher while the executor lists what to wait for, as a thread may."""

    def __init__(self, node):
        super().__init__(MutuallyExclusiveCallbackGroup())
        self.node, self.publisher = node, None

    def is_ready(self, wait_set):
        return False

    def take_data(self):
        return None

    async def execute(self, taken_data):
        pass

    def get_num_entities(self):
        return NumberOfEntities()

    def add_to_wait_set(self, wait_set):
        if self.publisher is not None:
            self.node.destroy_publisher(self.publisher)


def test_a_publisher_that_is_destroyed_meanwhile_ends_no_node(domain):
    """A learner that lost its simulator takes its topics down while the executor waits."""
    with client_node(domain) as node:
        executor = SingleThreadedExecutor(context=node.context)
        first = DestroysMeanwhile(node)
        node.add_waitable(first)
        first.publisher = node.create_publisher(String, 'anything', 1)
        executor.add_node(node)
        heard = []
        node.create_timer(0.01, lambda: heard.append(1))
        for _ in range(200):
            spin_once(executor, 0.05)
        assert heard  # it goes on
        executor.shutdown()
