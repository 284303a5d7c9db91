# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""From an expert that walks to a policy that was trained on its states, over real topics."""

import json

from lsiq_core import checkpoint
from lsiq_core.data.demonstrations import load
from lsiq_ros.cli.bag_commands import import_bags, lint_bags
from node_processes import (
    at_most_s,
    client_node,
    own_domain,
    spin_until,
    start_python,
    stop,
)
import pytest
from sensor_msgs.msg import JointState
import typer
from typer.testing import CliRunner

SETTINGS = (
    'compile=never networks.hidden=[16,16] idm.hidden=[16,16] optimisation.expert_batch=16 '
    'optimisation.policy_batch=16 optimisation.updates_per_step=1 collection.critic_start=20 '
    'collection.actor_start=20 bc.pretrain_updates=20 '
    'pretraining.babble.transitions=200 pretraining.babble.updates=20 '
    'pretraining.babble.to_replay=100 pretraining.refine=true '
    'report.evaluation_episodes=1 report.log_every=20'
)
demos = typer.Typer()
demos.command('import')(import_bags)
demos.command('lint')(lint_bags)


@pytest.fixture
def domain():
    with own_domain() as number:
        yield number


def up(domain, *words):
    """Start ``lsiq up`` as a user does."""
    return start_python(domain, '-m', 'lsiq_ros.cli.main', 'up', *words)


def in_shell(*words):
    result = CliRunner().invoke(demos, [str(word) for word in words])
    assert result.exit_code == 0, result.output
    return result.output


def train_for(domain, steps, *words):
    """Train until so many steps are done, stop the whole graph, and return what it said."""
    process = up(domain, 'train_atlas', 'retrace:=never', *words)
    done = [0.0]
    with client_node(domain) as node:
        node.create_subscription(
            JointState,
            'learner_node/progress',
            lambda m: done.append(dict(zip(m.name, m.position)).get('steps', 0.0)),
            10,
        )
        arrived = spin_until(node, lambda: done[-1] >= steps, at_most_s(60))
    seconds, code, output = stop(process)
    print(f'the graph ended after {seconds:.2f} s')
    assert arrived, output
    assert (seconds < at_most_s(3), code) == (True, 0), output
    return output


def test_the_expert_walks_and_a_learner_trains_on_what_was_recorded(domain, tmp_path):
    bags, walk, run = tmp_path / 'bags', tmp_path / 'walk.npz', tmp_path / 'run'
    recording = up(
        domain, 'record_expert', f'bags:={bags}', 'episodes:=2', 'episode_steps:=150',
        'real_time_factor:=1.0',
    )  # fmt: skip
    output, _ = recording.communicate(timeout=at_most_s(60))
    assert recording.returncode == 0, output
    (bag,) = bags.iterdir()

    as_atlas = ('--robot', 'atlas', '--observation', 'full')
    assert 'This bag can be trained on for atlas.' in in_shell('lint', bag, *as_atlas)
    facts = in_shell('import', bag, '--out', walk, *as_atlas, '--json').splitlines()[-1]
    assert json.loads(facts)['episodes'] == 2
    recorded = load(walk)
    assert recorded.actions is None
    assert recorded.num_transitions >= 0.95 * 300

    words = (
        f'demos:={walk}', f'run:={run}',
        f'settings:={SETTINGS} collection.simulations=2 collection.reset_to_expert=1.0',
    )  # fmt: skip
    train_for(domain, 300, *words)
    first = checkpoint.load(run / 'last.safetensors')
    assert first.header['steps'] >= 300
    assert first.tensors['learner.updates'] >= 250

    output = train_for(domain, first.header['steps'] + 40, *words)
    assert f'continuing {run} at step {first.header["steps"]}' in output
    second = checkpoint.load(run / 'last.safetensors')
    assert second.header['steps'] >= first.header['steps'] + 40
    assert second.tensors['learner.updates'] > first.tensors['learner.updates']
