# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Training over topics: the same numbers as in process, and a simulator that dies."""

import signal
import time

from diagnostic_msgs.msg import DiagnosticArray
from lsiq_core.config import from_dict
from lsiq_core.data.demonstrations import load
from lsiq_core.errors import ConfigError
from lsiq_core.shipped_files import shipped
from lsiq_core.training.trainer import Trainer
from lsiq_ros.lockstep.recovering_env import RecoveringEnv
from lsiq_ros.lockstep.ros_env import RosEnv
from lsiq_ros.lockstep.simulator_link import tell
from lsiq_ros.nodes.learner_node import LearnerParameters
from lsiq_ros.runs.tasks import env_factory, simulator_setup
from lsiq_ros.simulator.tasks import make_env
from node_processes import (
    ask,
    at_most_s,
    client_node,
    freeze,
    own_domain,
    spin_until,
    start_lockstep_sim,
    start_node,
    stop,
)
import pytest
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool, Trigger
import torch

DEMOS = shipped('models/atlas/demos/walk_noisy.npz')
TINY = {
    'task': 'atlas',
    'task_options': {'observation': 'full'},
    'observations_only': True,
    'compile': 'never',
    'networks': {'hidden': [16, 16]},
    'idm': {'hidden': [16, 16]},
    'collection': {
        'steps': 100000,
        'simulations': 2,
        'critic_start': 20,
        'actor_start': 20,
        'reset_to_expert': 1.0,
    },
    'optimisation': {'expert_batch': 16, 'policy_batch': 16},
    'report': {'evaluation_episodes': 1},
}
SETTINGS = (
    'collection.simulations=2 collection.reset_to_expert=1.0 '
    'compile=never networks.hidden=[16,16] idm.hidden=[16,16] collection.critic_start=20 '
    'collection.actor_start=20 optimisation.expert_batch=16 optimisation.policy_batch=16 '
    'report.evaluation_episodes=1 report.log_every=20 optimisation.updates_per_step=0.25 '
    'bc.pretrain_updates=20 '
    'pretraining.babble.transitions=0 pretraining.babble.to_replay=0 idm.online=true'
)


@pytest.fixture
def domain():
    with own_domain() as number:
        yield number


def sim(domain, *arguments):
    return start_lockstep_sim(domain, '-p', 'publish_every:=0', *arguments)


def test_same_updates_over_topics_as_in_process(domain, tmp_path):
    torch.set_num_threads(1)
    config = from_dict(TINY)
    demos = load(DEMOS, with_actions=False)

    def train(name, simulations):
        (tmp_path / name).mkdir()
        trainer = Trainer(
            config,
            lambda: make_env('atlas', config.task_options),
            demos,
            tmp_path / name,
            make_simulation=env_factory(config, demos),
            simulations=simulations,
        )
        while float(trainer.state['updates']) < 40:
            trainer.iterate()
        trainer.close()
        return trainer.state

    process = sim(domain)
    try:
        with client_node(domain) as node:
            told = tell(node, '', simulator_setup(config, demos, range(2)))
            envs = [
                RecoveringEnv(RosEnv(node, f'robot_{i}', setup=told, timeout_s=30))
                for i in range(2)
            ]
            there = train('topics', envs)
    finally:
        stop(process)
    here = train('here', None)
    assert there.keys() == here.keys()
    assert all(torch.equal(there[name], here[name]) for name in here)


def test_goes_on_after_a_simulator_died_and_resumes(domain, tmp_path):
    run = tmp_path / 'run'

    def learn():
        return start_node(
            'learner_node', domain, '-p', f'run:={run}', '-p', f'demos:={DEMOS}',
            '-p', 'sim_timeout_s:=1.0', '-p', f'settings:=["{SETTINGS}"]',
        )  # fmt: skip

    simulator, learner = sim(domain, '-r', '__ns:=/sim_0'), learn()
    with client_node(domain) as node:
        progress, reports = [0.0], ['']
        node.create_subscription(
            JointState,
            'learner_node/progress',
            lambda m: progress.append(dict(zip(m.name, m.position)).get('steps', 0.0)),
            10,
        )
        node.create_subscription(
            DiagnosticArray, '/diagnostics', lambda m: reports.append(m.status[0].message), 10
        )

        assert spin_until(node, lambda: progress[-1] > 40, at_most_s(30))
        stop(simulator, signal.SIGKILL)
        told = 'simulator lost, saved at step'
        assert spin_until(node, lambda: any(told in r for r in reports), at_most_s(20))
        assert (run / 'last.safetensors').is_file()
        simulator = sim(domain, '-r', '__ns:=/sim_0')
        lost_at = progress[-1]
        assert spin_until(node, lambda: progress[-1] > lost_at + 20, at_most_s(30))

        freeze(simulator)  # overloaded for longer than the learner waits
        reports.clear()
        assert spin_until(node, lambda: any(told in r for r in reports), at_most_s(20))
        simulator.send_signal(signal.SIGCONT)
        stood_at = progress[-1]
        assert spin_until(node, lambda: progress[-1] > stood_at + 20, at_most_s(30))

        assert ask(node, SetBool, 'learner_node/pause', data=True).success
        before = (run / 'last.safetensors').stat().st_mtime_ns
        assert ask(node, Trigger, 'learner_node/checkpoint').success
        saved = lambda: (run / 'last.safetensors').stat().st_mtime_ns > before  # noqa: E731
        assert spin_until(node, saved, at_most_s(10))
        assert ask(node, SetBool, 'learner_node/pause', data=False).success
        assert ask(node, Trigger, 'learner_node/stop').success
        output, _ = learner.communicate(timeout=at_most_s(20))
        assert learner.returncode == 0, output
        assert 'simulator back, going on at step' in output

        learner = learn()
        progress[:] = [0.0]
        assert spin_until(node, lambda: progress[-1] > stood_at + 20, at_most_s(30))
        resumed_at = progress[-1]
        assert spin_until(node, lambda: progress[-1] > resumed_at, at_most_s(30))
    learner.send_signal(signal.SIGINT)
    time.sleep(0.02)
    ended = stop(simulator)  # ros2 launch stops both at once, and sends SIGTERM after 5 s
    seconds, code, output = stop(learner)
    assert (seconds + ended[0] < at_most_s(5), code) == (True, 0), output
    assert f'continuing {run} at step' in output
    assert f'saved {run} at step' in output


def test_a_new_run_takes_the_parameters_and_no_used_directory(tmp_path):
    chosen = LearnerParameters(
        demos=str(DEMOS), run=str(tmp_path), steps=1000, seed=3,
        settings=('collection.simulations=4',),
    )  # fmt: skip
    config = chosen.setup().config
    assert (config.seed, config.collection.steps, config.collection.simulations) == (3, 1000, 4)
    assert config.observations_only
    (tmp_path / 'notes.txt').write_text('mine')
    with pytest.raises(ConfigError, match='holds no run to continue'):
        chosen.setup()
