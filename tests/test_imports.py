# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""The rooms keep to themselves: who imports whom, read from the sources."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FORBIDDEN = {
    'lsiq_core': {'sim', 'rclpy', 'mujoco', 'lsiq_ros'},
    'sim': {'lsiq_core', 'rclpy', 'lsiq_ros'},
    'lsiq_ros/gate': {'rclpy', 'torch', 'mujoco', 'sim'},
    'lsiq_ros/bags': {'rclpy', 'torch', 'mujoco', 'sim'},
    'lsiq_core/policy/artifact': {'torch'},
}

LEAVES = ('lsiq_core.types', 'lsiq_core.robot')  # sim may import these of lsiq_core


def imported(path):
    """Yield the top packages that a file imports anywhere, lazily or not."""
    for node in ast.walk(ast.parse(path.read_text(encoding='utf-8'))):
        if isinstance(node, ast.Import):
            yield from (alias.name.split('.')[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module not in LEAVES:
            yield str(node.module).split('.')[0]


@pytest.mark.parametrize('room', FORBIDDEN)
def test_room_imports_nothing_forbidden(room):
    sources = sorted((ROOT / room).rglob('*.py'))
    assert sources, f'{room} holds no source'
    broken = {
        f'{path.relative_to(ROOT)} imports {name}'
        for path in sources
        for name in imported(path)
        if name in FORBIDDEN[room]
    }
    assert not broken
