# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""The graphs of this package."""

from dataclasses import replace

from lsiq_core.robot import AUTO
from lsiq_ros.graph.model import Argument, Graph, GraphError, NodeSpec, Value
from lsiq_ros.wire.topics import EFFORT_COMMANDS, JOINT_STATES, ODOMETRY

_SEED = Argument('seed', 0, 'seeds everything random')
_ROBOT = Argument('robot', 'atlas', 'name of the robot, or the path of its file')
_FACTOR = Argument('real_time_factor', 1.0, 'simulated seconds per real one')
_POLICY = Argument('policy', '', 'the policy to deploy, an .onnx file that lsiq export wrote')
_VIEW = (
    Argument('view', False, 'show the robot in a browser; needs lsiq_ros[web]'),
    Argument('port', 8080, 'of that page'),
)
_VIEWER = NodeSpec('view_node', ('robot', 'port'), only_if='view')
SHIPPED_POLICY = 'models/atlas/walk/policy.onnx'
_PATIENCE_S = 120.0  # a busy machine takes its time to start three processes
# A simulated robot gets the gate of a robot. Its second lasts as long as the machine needs: the
# gate counts in the robot's time, and a simulated period waits for its command. It starts in
# mid-stride, so it hangs until the policy is faded in, as a robot does in its gantry.
_RAMP_IN_S = 1.0
_PATIENT_GATE: dict[str, Value] = {
    'wait_for_robot_s': _PATIENCE_S / 2,
    'simulated_time': True,
    'gate.ramp_in_s': _RAMP_IN_S,
}
# What a robot gets unless told otherwise is rung 4 of docs/hardware.md: hardly any torque.
_HARDWARE_CARE = (
    Argument('policy_sha256', '', 'refuse any other policy than this one'),
    Argument('robot', '', 'refuse a policy that was made for another robot; by name or path'),
    Argument('ignored_joints', '', 'joints that the policy does not drive, between spaces'),
    Argument('torque_fraction', 0.05, 'share of the torque limits that is used, up to 1'),
    Argument('ramp_in_s', 5.0, 'from damping to the policy after arming'),
    Argument('command_rate_hz', 500.0, 'commands per second, a multiple of the policy rate'),
    Argument('realtime_priority', 0, 'SCHED_FIFO priority, needs rtprio; 0 for none'),
)
_HARDWARE_TOPICS = (
    Argument('joint_states', JOINT_STATES, "topic of the robot's joint states"),
    Argument('odom', ODOMETRY, "topic of the base's odometry"),
    Argument(
        'effort_commands',
        EFFORT_COMMANDS,
        'topic of the forward_command_controller with interface effort',
    ),
)

_REMAPPED = {
    JOINT_STATES: '{joint_states}',
    ODOMETRY: '{odom}',
    EFFORT_COMMANDS: '{effort_commands}',
}

SIM = Graph(
    name='sim',
    description='The simulated robot alone, for any controller to drive.',
    arguments=(
        _ROBOT,
        Argument('mode', 'real_time', 'who moves time on', ('real_time', 'lockstep')),
        Argument('observation', 'full', 'what is observed, in real time; full has foot forces'),
        _FACTOR,
        _SEED,
        *_VIEW,
    ),
    nodes=(
        NodeSpec(
            'sim_node',
            ('mode', 'observation', 'real_time_factor', 'seed'),
            parameters={'task': '{robot}'},
        ),
        _VIEWER,
    ),
    renamed={'task': 'robot'},
)

RECORD = Graph(
    name='record',
    description="A robot's topics into a bag, until stopped.",
    arguments=(
        _ROBOT,
        Argument('bags', 'bags', 'directory for the bag'),
        Argument('name', 'recording', "how the bag's name begins"),
        Argument('source', '', 'who or what is recorded, for the metadata'),
        Argument('record_effort', False, 'keep the effort of the joint states'),
        Argument('record_on_start', True, 'begin at once; else at the service ~/start'),
        *_VIEW,
    ),
    nodes=(
        NodeSpec(
            'recorder_node',
            ('robot', 'source', 'record_effort', 'record_on_start'),
            parameters={'output_directory': '{bags}', 'bag_name': '{name}'},
        ),
        _VIEWER,
    ),
)

RECORD_EXPERT = Graph(
    name='record_expert',
    description='The expert walks, the recorder writes a bag; ends after the last episode.',
    arguments=(
        _ROBOT,
        Argument('bags', 'bags', 'directory for the bag'),
        Argument('episodes', 10, 'how many episodes to walk; 0 for until stopped'),
        Argument('episode_steps', 1000, 'length of an episode in control periods'),
        Argument('noise_low', 0.02, 'least torque noise, in units of the residual scale'),
        Argument('noise_high', 0.16, 'largest torque noise'),
        Argument('expert', '', "the expert's ONNX file; empty for the robot's own"),
        Argument('real_time_factor', 2.0, 'simulated seconds per real one; 0 for full speed'),
        _SEED,
        *_VIEW,
    ),
    nodes=(
        NodeSpec('sim_node', parameters={'mode': 'lockstep'}),
        NodeSpec(
            'recorder_node',
            ('robot',),
            parameters={
                'output_directory': '{bags}',
                'bag_name': 'expert',
                'source': 'lsiq_ros expert_node in sim_node, seed {seed}',
                'record_on_start': True,
            },
        ),
        NodeSpec(
            'expert_node',
            (
                *('robot', 'expert', 'episodes', 'episode_steps', 'noise_low', 'noise_high'),
                *('real_time_factor', 'seed'),
            ),
            parameters={'mode': 'lockstep', 'listeners': 1},
        ),
        _VIEWER,
    ),
)

TRAIN = Graph(
    name='train',
    description='Learn from demonstrations, in lock-step with simulations.',
    arguments=(
        Argument('robot', '', 'the robot to learn for, by name or path; empty for task'),
        Argument('task', 'atlas', 'what to learn where no robot is named'),
        Argument('demos', AUTO, 'demonstrations; auto are those in the folder of the robot'),
        Argument('retrace', 'auto', 'follow a recording first: auto, always, never'),
        Argument('run', 'runs/train', 'run directory; one that exists is resumed'),
        Argument('sims', 1, 'sim nodes that feed the learner'),
        Argument('steps', 0, "environment steps in all; 0 for what the task's settings say"),
        Argument('settings', '', 'settings as lsiq train --set takes them, between spaces'),
        Argument('in_process', False, "train without sim nodes, in the learner's process"),
        _SEED,
        *_VIEW,
    ),
    nodes=(
        NodeSpec(
            'sim_node',
            parameters={'mode': 'lockstep', 'publish_every': 10},
            namespace='sim_{copy}',
            copies='{sims}',
            unless='in_process',
        ),
        NodeSpec(
            'learner_node',
            ('robot', 'task', 'demos', 'retrace', 'run', 'sims', 'steps', 'in_process', 'seed'),
            parameters={'settings': ['{settings}']},
        ),
        NodeSpec('view_node', ('robot', 'task', 'port'), namespace='sim_0', only_if='view'),
    ),
    renamed={
        'robots': 'settings:=collection.simulations=N (of all sim nodes together)',
        'observation': 'settings:=task_options.observation=NAME',
        'reset_share': 'settings:=collection.reset_to_expert=SHARE',
    },
)
TRAIN_ATLAS = replace(
    TRAIN,
    name='train_atlas',
    description='The graph train as make train starts it.',
    arguments=tuple(
        replace(argument, default='runs/train_atlas') if argument.name == 'run' else argument
        for argument in TRAIN.arguments
    ),
)

_SIMULATED_ROBOT = NodeSpec(
    'sim_node',
    ('reset_frames', 'delay_ms', 'policy', 'real_time_factor', 'seed'),
    parameters={
        'task': '{robot}',
        'mode': 'real_time',
        'observation': 'full',
        'wait_for_command': True,
        'hold_s': 1.2 * _RAMP_IN_S,
    },
)
DEPLOY_SIM = Graph(
    name='deploy_sim',
    description='A policy drives the simulated robot in real time, behind the gate, by itself.',
    arguments=(
        Argument(
            'policy',
            SHIPPED_POLICY,
            'the policy to deploy, an .onnx file that lsiq export wrote; this one is shipped',
        ),
        Argument('seconds', 0.0, 'how long to walk, in simulated time; 0 for until stopped'),
        replace(
            _ROBOT, default=AUTO, description='name or path of the robot; auto: of the policy'
        ),
        Argument(
            'reset_frames',
            AUTO,
            'demonstrations at whose states the walk starts; auto are those in the folder of the '
            "robot, if any; empty for the robot's nominal pose",
        ),
        Argument('delay_ms', 0.0, 'milliseconds until a torque command acts'),
        Argument('report', '', 'JSON file for how it went; empty for none'),
        Argument('states', '', 'npz file for the states of the walk; empty for none'),
        Argument('by_hand', False, 'leave it to a person with lsiq deploy to arm and activate'),
        _FACTOR,
        _SEED,
        *_VIEW,
    ),
    nodes=(
        _SIMULATED_ROBOT,
        NodeSpec('control_node', ('policy',), parameters=_PATIENT_GATE),
        NodeSpec(
            'deploy_supervisor',
            ('seconds', 'report', 'states'),
            parameters={'patience_s': _PATIENCE_S},
            unless='by_hand',
        ),
        replace(_VIEWER, passed=('robot', 'policy', 'port')),
    ),
    renamed={'start': 'reset_frames', 'loose': 'gone: the gate is always that of a robot'},
)

DEPLOY_HARDWARE = Graph(
    name='deploy_hardware',
    description='A policy on a robot with ros2_control; starts in shadow, arms nothing.',
    arguments=(_POLICY, *_HARDWARE_CARE, *_HARDWARE_TOPICS, *_VIEW),
    nodes=(
        NodeSpec(
            'control_node',
            ('policy', 'policy_sha256', 'robot', 'command_rate_hz', 'realtime_priority'),
            parameters={
                'ignored_joints': ['{ignored_joints}'],
                'gate.torque_fraction': '{torque_fraction}',
                'gate.ramp_in_s': '{ramp_in_s}',
            },
            remappings=_REMAPPED,
        ),
        replace(_VIEWER, remappings=_REMAPPED),
    ),
)

GRAPHS = {
    graph.name: graph
    for graph in (TRAIN, TRAIN_ATLAS, RECORD, RECORD_EXPERT, SIM, DEPLOY_SIM, DEPLOY_HARDWARE)
}


def find_graph(name: str) -> Graph:
    """Return a graph by its name."""
    if name not in GRAPHS:
        raise GraphError(f'no graph {name!r}; there are {sorted(GRAPHS)}')
    return GRAPHS[name]
