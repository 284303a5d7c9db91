# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""The command ``lsiq`` and its sub-commands."""

from collections.abc import Callable
from importlib.metadata import version
import sys
from typing import Annotated

from lsiq_core.errors import ConfigError, LsiqError, missing_extra
from lsiq_ros.cli import (
    bag_commands,
    demos_commands,
    expert_commands,
    policy_commands,
    robot_commands,
)
from lsiq_ros.cli import bench_commands as bench
from lsiq_ros.cli import deploy_commands as deploy
from lsiq_ros.cli.convert_command import convert
from lsiq_ros.cli.evaluation_commands import diagnose, evaluate, stress
from lsiq_ros.cli.graph_commands import demo, up
from lsiq_ros.cli.report_commands import curves, report
from lsiq_ros.cli.reproduce_command import reproduce
from lsiq_ros.cli.train_command import train
from lsiq_ros.cli.view_command import view
import typer

Command = Callable[..., None]

app = typer.Typer(
    name='lsiq',
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for _command in (
    *(train, evaluate, diagnose, curves, convert, reproduce, report),
    *(policy_commands.export, policy_commands.verify, stress, view, up, demo),
):
    app.command()(_command)


def _group(name: str, explanation: str, *commands: Command, **renamed: Command) -> None:
    """Hang commands below a word of their own, by the names of their functions or by others."""
    group = typer.Typer(no_args_is_help=True, help=explanation)
    for command in commands:
        group.command()(command)
    for word, command in renamed.items():
        group.command(word.rstrip('_').replace('_', '-'))(command)
    app.add_typer(group, name=name)


_group(
    'demos',
    'Look at, collect, import and repair demonstrations.',
    info=demos_commands.info,
    point_mass=demos_commands.point_mass,
    collect=expert_commands.demos_collect,
    import_=bag_commands.import_bags,
    merge=demos_commands.merge,
    noise=demos_commands.noise,
    lint=bag_commands.lint_bags,
    plot=demos_commands.plot,
    recover=bag_commands.recover_bag,
    retrace=expert_commands.retrace,
)
_group(
    'deploy',
    'Operate a running control node.',
    *(deploy.status, deploy.configure, deploy.arm, deploy.activate),
    *(deploy.deactivate, deploy.disarm, deploy.swap, deploy.watch),
)
_group(
    'robot',
    'Describe and check a robot of your own.',
    *(robot_commands.new, robot_commands.check),
    list=robot_commands.list_robots,
)
_group('expert', 'The built-in expert.', train=expert_commands.expert_train)
_group(
    'bench',
    'Measure speed, always beside a reference.',
    *(bench.learner, bench.learning, bench.sim, bench.loop, bench.policy, bench.control_loop),
)


# Options of version 0.1 by their command, and what they are called now.
_RENAMED = {'demos collect': {'--task': '--robot'}, 'expert train': {'--task': '--robot'}}


def _refuse_old_options(words: list[str]) -> None:
    command = ' '.join(words[:2])
    for word in words:
        old = word.partition('=')[0]
        if old in _RENAMED.get(command, {}):
            new = _RENAMED[command][old]
            raise ConfigError(f'{command}: {old} is called {new} since version 0.2')


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f'lsiq {version("lsiq_ros")}')
        raise typer.Exit


@app.callback()
def _options(
    version_: Annotated[
        bool,
        typer.Option(
            '--version', help='Print the version and end.', callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Learn a torque policy from recorded states and deploy it."""


def main() -> None:
    """Run ``lsiq``; what the user can mend ends with one sentence and exit code 2."""
    try:
        _refuse_old_options(sys.argv[1:])
        app()
    except LsiqError as error:
        print(f'lsiq: {error}', file=sys.stderr)
        sys.exit(2)
    except ModuleNotFoundError as error:  # a robot's computer has neither simulator nor torch
        extra = missing_extra(error.name)
        if extra is None:
            raise
        print(f'lsiq: {extra}', file=sys.stderr)
        sys.exit(2)


if __name__ == '__main__':
    main()
