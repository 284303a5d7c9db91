# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""The pages say what is there: files, commands with their options, graphs, settings, Python."""

import ast
from pathlib import Path
import re
import shlex

from lsiq_core import config
from lsiq_ros.cli.main import app
from lsiq_ros.graph.catalogue import GRAPHS
from lsiq_ros.graph.model import assignments
import pytest
import typer

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    page
    for pattern in ('*.md', 'docs/*.md', 'docs/*/*.md', 'models/*/*/*.md')
    for page in ROOT.glob(pattern)
)
FOLDERS = 'lsiq_core|lsiq_ros|sim|models|docs|tests|config|launch'
PATH = re.compile(rf'(?<![\w/.:=])(?:{FOLDERS})/[\w./-]*\w(?![\w<*{{$])')
LINK = re.compile(r'\]\(([^)#:\s]+)(?:#[^)]*)?\)|src="([^":]+)"')
CODE = re.compile(r'`([^`\n]+)`')
ROOT_COMMAND = typer.main.get_command(app)
each_page = pytest.mark.parametrize('page', PAGES, ids=lambda page: str(page.relative_to(ROOT)))


def commands(page):
    """Yield the calls of ``lsiq`` in a page's code, each as a list of words."""
    text = page.read_text()
    blocks = text.split('```')[1::2]
    lines = [line for block in blocks for line in block.replace('\\\n', ' ').splitlines()]
    lines += [code for outside in text.split('```')[::2] for code in CODE.findall(outside)]
    for line in lines:
        for call in re.split(r'&&|;|(?<!\|)\|(?!\|) ', re.sub(r'\s#.*', '', line)):
            if found := re.match(r'\s*(?:taskset \S+ \S+ )?(?:chrt -r \d+ )?lsiq ([^→]*)', call):
                words = shlex.split(found[1].replace('...', ' ').replace('|', ' '))
                yield [word for word in words if word]


def check_settings(values, where):
    """Refuse overrides that no setting has; their value does not matter."""
    known = config.describe()
    for value in values:
        name = value.partition('=')[0]
        option_of_a_task = 'task_options.' in name
        assert '=' not in value or option_of_a_task or name in known, f'{where}: no setting {name}'


@each_page
def test_the_files_that_a_page_names_are_there(page):
    text = page.read_text()
    missing = {path for path in PATH.findall(text) if not (ROOT / path).exists()}
    for link in LINK.findall(text):
        target = link[0] or link[1]
        if not (page.parent / target).exists():
            missing.add(target)
    assert not missing


@each_page
def test_the_commands_of_a_page_are_known(page):
    for words in commands(page):
        where, command, rest = f'lsiq {" ".join(words)}', ROOT_COMMAND, list(words)
        while rest and hasattr(command, 'commands'):
            if rest[0].startswith('-'):
                break
            assert rest[0] in command.commands, where
            command = command.commands[rest.pop(0)]
        known = [item for item in command.params if not getattr(item, 'hidden', False)]
        options = {name for item in known for name in (*item.opts, *item.secondary_opts)}
        used = {word.partition('=')[0] for word in rest if word.startswith('--')}
        assert used <= options | {'--help'}, f'{where}: {used - options}'
        check_settings([b for a, b in zip(rest, rest[1:]) if a == '--set'], where)
        if command.name == 'up' and rest and not rest[0].startswith('--'):
            assert rest[0] in GRAPHS, where
            given = assignments([word for word in rest[1:] if ':=' in word])
            names = {argument.name for argument in GRAPHS[rest[0]].arguments}
            assert set(given) <= names, f'{where}: {set(given) - names}'


def test_python_is_one_number():
    (wanted,) = re.findall(r"python_requires='>=(\d\.\d+)'", (ROOT / 'setup.py').read_text())
    project = (ROOT / 'pyproject.toml').read_text()
    assert f'python_version = "{wanted}"' in project
    assert f'target-version = "py{wanted.replace(".", "")}"' in project
    for page in ('README.md', 'CONTRIBUTING.md'):
        assert f'{wanted} or later' in (ROOT / page).read_text(), page
    version = tuple(map(int, wanted.split('.')))
    for folder in ('lsiq_core', 'lsiq_ros', 'sim', 'launch'):
        for source in (ROOT / folder).rglob('*.py'):
            ast.parse(source.read_text(), str(source), feature_version=version)


def test_one_version():
    (version,) = re.findall(r"version='([\d.]+)'", (ROOT / 'setup.py').read_text())
    assert f'<version>{version}</version>' in (ROOT / 'package.xml').read_text()
    assert f'\n{version} (' in (ROOT / 'CHANGELOG.rst').read_text()
