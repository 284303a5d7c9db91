# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Graphs as data, and the same graphs as real processes."""

from dataclasses import replace
import os
from pathlib import Path
import signal
import sys

from lsiq_core.shipped_files import shipped
from lsiq_ros.cli.main import main
from lsiq_ros.graph.catalogue import find_graph, GRAPHS, RECORD_EXPERT, SIM, TRAIN_ATLAS
from lsiq_ros.graph.model import Argument, assignments, Graph, GraphError, NodeSpec
from lsiq_ros.graph.processes import command_line, environment, run_graph
from node_processes import (
    at_most_s,
    client_node,
    own_domain,
    ROOT,
    spin_until,
    start_python,
    stop,
    surroundings,
)
import pytest
from rosgraph_msgs.msg import Clock
import yaml


def test_values_take_the_type_of_the_default():
    nodes = SIM.resolve({'real_time_factor': '2', 'seed': '3', 'robot': 'atlas'})
    assert nodes[0].parameters['real_time_factor'] == 2.0
    assert isinstance(nodes[0].parameters['real_time_factor'], float)
    assert nodes[0].parameters['seed'] == 3


@pytest.mark.parametrize(
    ('given', 'says'),
    [
        ({'speed': '1'}, r"sim has no argument \['speed'\]; it has"),
        ({'seed': 'x'}, 'seed:=x: not a int'),
        ({'mode': 'slow'}, r"mode:=slow: expected one of \['real_time', 'lockstep'\]"),
    ],
)
def test_wrong_arguments_are_named(given, says):
    with pytest.raises(GraphError, match=says):
        SIM.resolve(given)


def test_assignments_are_name_value():
    assert assignments(['a:=1', 'b:=x:=y', 'c:=']) == {'a': '1', 'b': 'x:=y', 'c': ''}
    with pytest.raises(GraphError, match='expected name:=value'):
        assignments(['seed=1'])
    with pytest.raises(GraphError, match='seed is given twice: seed:=1 and seed:=2'):
        assignments(['seed:=1', 'seed:=2'])
    with pytest.raises(GraphError, match='no graph'):
        find_graph('dance')


def test_old_arguments_are_refused_with_the_new_name():
    with pytest.raises(GraphError, match='robots is now settings:=collection.simulations=N'):
        TRAIN_ATLAS.resolve({'robots': '4'})


def test_copies_live_in_namespaces_of_their_own():
    nodes = TRAIN_ATLAS.resolve({'sims': '2'})
    assert [(node.label, node.namespace) for node in nodes] == [
        ('sim_node_0', 'sim_0'),
        ('sim_node_1', 'sim_1'),
        ('learner_node', ''),
    ]
    assert [node.label for node in TRAIN_ATLAS.resolve({'in_process': 'true'})] == ['learner_node']


def test_only_real_remappings_are_passed_on():
    nodes = GRAPHS['deploy_hardware'].resolve({'odom': '/robot/odometry'})
    assert nodes[0].remappings == {'odom': '/robot/odometry'}
    assert 'odom:=/robot/odometry' in command_line(nodes[0])


@pytest.mark.parametrize('graph', GRAPHS.values(), ids=lambda graph: graph.name)
def test_every_graph_is_complete(graph):
    """Arguments are described, executables and configs exist, references resolve."""
    assert all(argument.description for argument in graph.arguments)
    for node in graph.resolve({}):
        config = shipped(f'config/nodes/{node.executable}.yaml')
        assert set(yaml.safe_load(config.read_text())) == {'/**'}
        assert (ROOT / 'lsiq_ros' / 'nodes' / f'{node.executable}.py').is_file()


def test_stays_on_this_machine_unless_told_otherwise(monkeypatch):
    monkeypatch.delenv('ROS_AUTOMATIC_DISCOVERY_RANGE', raising=False)
    assert environment(local=True)['ROS_AUTOMATIC_DISCOVERY_RANGE'] == 'LOCALHOST'
    assert 'ROS_AUTOMATIC_DISCOVERY_RANGE' not in environment(local=False)
    monkeypatch.setenv('ROS_AUTOMATIC_DISCOVERY_RANGE', 'SUBNET')
    assert environment(local=True)['ROS_AUTOMATIC_DISCOVERY_RANGE'] == 'SUBNET'


def test_launch_files_describe_every_argument():
    pytest.importorskip('launch_ros')
    from launch.actions import DeclareLaunchArgument
    from lsiq_ros.graph.launch_actions import launch_description

    for path in (ROOT / 'launch').glob('*.launch.py'):
        name = path.name.removesuffix('.launch.py')
        declared = [
            action
            for action in launch_description(name).entities
            if isinstance(action, DeclareLaunchArgument)
        ]
        assert {action.name for action in declared} == {a.name for a in GRAPHS[name].arguments}
        assert all(action.description for action in declared)


# -- real processes ------------------------------------------------------------------------


@pytest.fixture
def domain():
    with own_domain() as number:
        yield number


def start_up(domain, *words):
    """Start ``lsiq up`` as a user does."""
    program = 'import typer; from lsiq_ros.cli.graph_commands import up; typer.run(up)'
    return start_python(domain, '-c', program, *words)


def sims_seen(domain, timeout_s=None):
    with client_node(domain) as node:
        clocks = []
        node.create_subscription(Clock, 'clock', clocks.append, 10)
        spin_until(node, lambda: len(clocks) > 2, timeout_s or at_most_s(20))
        return node.count_publishers('clock')


def node_pids(label_words):
    """Return the processes whose command line holds all these words."""
    found = []
    for entry in Path('/proc').iterdir():
        try:
            line = (entry / 'cmdline').read_bytes().decode(errors='replace')
        except (OSError, NotADirectoryError):
            continue
        if entry.name.isdigit() and all(word in line for word in label_words):
            found.append(int(entry.name))
    return found


def test_all_stop_when_one_dies_and_it_says_which(domain, tmp_path):
    bags = str(tmp_path / 'bags')
    process = start_up(
        domain, 'record_expert', f'bags:={bags}', 'episodes:=0', 'real_time_factor:=1'
    )
    assert sims_seen(domain) == 1
    (recorder,) = node_pids(['lsiq_ros.nodes.recorder_node', bags])
    os.kill(recorder, signal.SIGKILL)
    output, _ = process.communicate(timeout=at_most_s(20))
    assert process.returncode == 1
    assert '[up] recorder_node died of SIGKILL' in output
    assert '[sim_node     ] ' in output  # logs carry the name of their node
    assert not node_pids(['lsiq_ros.nodes.recorder_node', bags])
    assert sims_seen(domain, 0.3) == 0


def test_two_graphs_in_two_domains_do_not_meet(domain):
    with own_domain() as other:
        pair = [start_up(domain, 'sim'), start_up(other, 'sim', 'real_time_factor:=0.5')]
        try:
            seen = [sims_seen(domain), sims_seen(other)]
        finally:
            ends = [stop(pair[0], signal.SIGINT), stop(pair[1], signal.SIGTERM)]
    assert seen == [1, 1]
    for seconds, code, output in ends:
        assert (seconds < at_most_s(2), code) == (True, 0), output
        assert '[up] stopped' in output


def test_a_graph_ends_well_when_its_work_is_done(domain, tmp_path):
    lines = []
    graph = replace(RECORD_EXPERT, name='short')
    ending = run_graph(
        graph.resolve(
            {
                'bags': str(tmp_path),
                'episodes': '1',
                'episode_steps': '30',
                'real_time_factor': '1',
            }
        ),
        surroundings(domain),
        log=lines.append,
    )
    assert (ending.label, ending.code) == ('expert_node', 0), lines
    assert list(tmp_path.glob('*/metadata.yaml')), lines


def test_a_node_that_cannot_start_ends_the_graph(domain):
    graph = Graph('bad', '', (Argument('task', 'moon', ''),), (NodeSpec('sim_node', ('task',)),))
    lines = []
    ending = run_graph(graph.resolve({}), surroundings(domain), log=lines.append)
    assert ending.code == 2
    assert any("no task 'moon'" in line for line in lines)


def test_without_a_simulator_nothing_is_started(monkeypatch):
    monkeypatch.setitem(sys.modules, 'mujoco', None)  # as if it were not installed
    monkeypatch.setattr('importlib.util.find_spec', lambda name: None)
    started = []
    monkeypatch.setattr('lsiq_ros.graph.processes._start', lambda *words: started.append(words))
    with pytest.raises(GraphError, match=r"sim_node cannot start: mujoco is not .*'\.\[train\]'"):
        run_graph(find_graph('deploy_sim').resolve({'by_hand': 'true'}), environment(local=True))
    assert not started


def test_a_missing_library_is_said_in_one_line(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, 'mujoco', None)
    for module in [name for name in sys.modules if name == 'sim' or name.startswith('sim.')]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setattr(sys, 'argv', ['lsiq', 'robot', 'check', 'atlas'])
    with pytest.raises(SystemExit) as ended:
        main()
    said = capsys.readouterr().err
    assert ended.value.code == 2 and len(said.splitlines()) == 1
    assert said.startswith('lsiq: mujoco is not installed; the extra [train] brings it')
