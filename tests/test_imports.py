# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Who imports whom, read from the sources: packages in an order without cycles."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
# Each package or module may import those that stand before it in its own list, and itself.
ORDER = {
    'lsiq_core': (
        *('types', 'errors', 'atomic', 'shipped_files', 'rotations', 'conversion', 'robot', 'env'),
        *('history', 'config', 'task_configs', 'job', 'checkpoint', 'data', 'learning', 'policy'),
        *('training', 'experiments', 'report'),
    ),
    'sim': (
        *(
            'gym_task',
            'point_mass',
            'stripping',
            'mjcf',
            'chains',
            'springs',
            'robot',
            'feet',
            'mirror',
            'late_loop',
            'gait',
            'randomisation',
            'reset_states',
        ),
        *('render', 'walking', 'batch', 'tracking', 'registry', 'describe', 'check'),
    ),
    'lsiq_ros': (
        *('wire', 'bags', 'gate', 'lockstep', 'control', 'graph', 'simulator', 'view'),
        *('robot_limits', 'runs', 'stress', 'nodes', 'benchmarks', 'cli'),
    ),
}
# What else a place must not import; the deployment side runs without torch and simulation.
DEPLOYED = {'torch', 'mujoco', 'sim'}
SIM_MAY_IMPORT = {'types', 'robot', 'rotations'}
FORBIDDEN = {
    'lsiq_core': {'sim', 'rclpy', 'mujoco', 'lsiq_ros'},
    'lsiq_core/policy/artifact': {'torch'},
    'sim': {'rclpy', 'lsiq_ros'},
    'lsiq_ros/wire': DEPLOYED,
    'lsiq_ros/bags': DEPLOYED | {'rclpy'},
    'lsiq_ros/gate': DEPLOYED | {'rclpy'},
    'lsiq_ros/control': DEPLOYED,
}


def imported(path):
    """Yield the modules that a file imports anywhere, lazily or not."""
    for node in ast.walk(ast.parse(path.read_text(encoding='utf-8'))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
            yield from (f'{node.module}.{alias.name}' for alias in node.names)


def sources(place):
    found = sorted((ROOT / place).rglob('*.py'))
    assert found, f'{place} holds no source'
    return found


@pytest.mark.parametrize('place', FORBIDDEN)
def test_imports_nothing_forbidden(place):
    broken = {
        f'{path.relative_to(ROOT)} imports {name}'
        for path in sources(place)
        for name in imported(path)
        if name.split('.')[0] in FORBIDDEN[place]
    }
    assert not broken


def test_simulation_imports_only_the_leaf_of_the_core():
    broken = {
        f'{path.relative_to(ROOT)} imports {name}'
        for path in sources('sim')
        for name in imported(path)
        if name.startswith('lsiq_core.') and name.split('.')[1] not in SIM_MAY_IMPORT
    }
    assert not broken


@pytest.mark.parametrize('package', ORDER)
def test_packages_import_in_order(package):
    order, broken = ORDER[package], set()
    for path in sources(package):
        place = path.relative_to(ROOT / package).parts[0].removesuffix('.py')
        if place == '__init__':
            continue
        assert place in order, f'{path}: say where {place} stands in ORDER'
        for name in imported(path):
            parts = name.split('.')
            later = order[order.index(place) + 1 :]
            if parts[0] == package and len(parts) > 1 and parts[1] in later:
                broken.add(f'{path.relative_to(ROOT)} imports {package}.{parts[1]}')
    assert not broken
