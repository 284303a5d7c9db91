# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""The whole way of a robot: check, simulate, record, lint, import, train, export, deploy."""

import json
import time

from lsiq_core.data.demonstrations import load
from lsiq_ros.cli.main import app
from lsiq_ros.lockstep.protocol import SimulatorSetup
from lsiq_ros.lockstep.ros_env import RosEnv
from lsiq_ros.lockstep.simulator_link import tell
from node_processes import at_most_s, client_node, own_domain, start_node, start_python, stop
from quad_trot import Trot
from sim.walking import make_walking
from typer.testing import CliRunner

EPISODES, STEPS = 2, 200
SETTINGS = (
    'compile=never networks.hidden=[32,32] idm.hidden=[32,32] optimisation.expert_batch=32 '
    'optimisation.policy_batch=32 collection.simulations=2 collection.critic_start=50 '
    'collection.actor_start=50 bc.pretrain_updates=100 pretraining.babble.transitions=500 '
    'pretraining.babble.updates=100 pretraining.babble.to_replay=200 '
    'report.evaluation_episodes=1 report.evaluate_every=200'
).split()


def lsiq(*words):
    """Run a command as a user does; return what it said."""
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == 0, f'{words}: {result.output} {result.exception}'
    return result.output


def record_trot(domain, bags):
    """Let quad trot in a sim node, in lock-step, while the recorder listens to its topics."""
    simulator = start_node('sim_node', domain, '-p', 'mode:=lockstep')
    recorder = start_node(
        'recorder_node', domain, '-p', 'robot:=quad', '-p', f'output_directory:={bags}',
        '-p', 'record_on_start:=true',
    )  # fmt: skip
    rest = make_walking('quad').robot.rest
    with client_node(domain) as node:
        setup = SimulatorSetup('quad', {'observation': 'full', 'max_episode_steps': STEPS})
        env = RosEnv(node, '', setup=tell(node, '', setup), timeout_s=at_most_s(30))
        until_s = time.monotonic() + at_most_s(30)
        while not node.count_subscribers('joint_states'):
            assert time.monotonic() < until_s, 'the recorder does not listen'
            time.sleep(0.1)
        joints = tuple(term.name.partition('/')[0] for term in env.action_terms)
        fell = 0
        for episode in range(EPISODES):
            env.reset(seed=episode)
            trot = Trot(joints, rest, phase=episode / EPISODES)
            for _ in range(STEPS):
                fell += env.step(trot()).terminated
                time.sleep(0.004)  # a recorder on a busy machine must keep up
        env.close()
    _, code, output = stop(recorder)
    assert code == 0, output
    stop(simulator)
    assert not fell
    (bag,) = bags.iterdir()
    return bag


def test_quad_goes_the_whole_way(tmp_path):
    assert 'quad can be trained on' in lsiq('robot', 'check', 'quad', '--seconds', '0.5')
    with own_domain() as domain:
        bag = record_trot(domain, tmp_path / 'bags')
    assert 'This bag can be trained on for quad.' in lsiq('demos', 'lint', bag, '--robot', 'quad')
    walk, run, policy = (tmp_path / name for name in ('walk.npz', 'run', 'policy.onnx'))
    lsiq('demos', 'import', bag, '--robot', 'quad', '--out', walk)
    demos = load(walk)
    assert demos.num_episodes == EPISODES and demos.rate_hz == 50
    speed = demos.states[:, demos.state_names.index('base/world_velocity_x')].mean()
    assert 0.2 < speed < 0.45, 'it trots at about 0.3 m/s'

    words = [word for setting in SETTINGS for word in ('--set', setting)]
    learn = ('--observations-only', '--steps', '400', '--out', run)
    lsiq('train', '--robot', 'quad', '--demos', walk, *learn, *words)
    assert json.loads((run / 'result.json').read_text())
    exported = lsiq('export', run, '--out', policy)
    assert 'PD targets, closed at the command rate' in exported and 'min_height_m' in exported
    assert 'made for quad, 8 joints' in lsiq('verify', policy)
    assert 'episodes' in lsiq('evaluate', run, '--episodes', '1')

    report = tmp_path / 'report.json'
    with own_domain() as domain:
        deployed = start_python(
            domain, '-m', 'lsiq_ros.cli.main', 'up', 'deploy_sim', 'robot:=quad',
            f'policy:={policy}', 'seconds:=1.0', f'report:={report}', 'real_time_factor:=0.25',
        )  # fmt: skip
        output, _ = deployed.communicate(timeout=at_most_s(120))
    walked = json.loads(report.read_text())
    # Some hundred updates teach no trot: it may fall or leave what it knows, but it was driven.
    assert 'running. Next: lsiq deploy disarm' in output and walked['seconds'] > 0.1, output
    assert deployed.returncode == (0 if not walked['falls'] and not walked['trips'] else 1)
