# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""The command ``lsiq`` and its sub-commands."""

from __future__ import annotations

import sys

from lsiq_core.errors import LsiqError
from lsiq_ros.cli import bench_commands, demos_commands
from lsiq_ros.cli.evaluate_command import evaluate
from lsiq_ros.cli.train_command import train
import typer

app = typer.Typer(
    name='lsiq',
    help='Learn a torque policy from recorded states and deploy it.',
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
demos_app = typer.Typer(no_args_is_help=True, help='Look at, collect and import demonstrations.')
bench_app = typer.Typer(no_args_is_help=True, help='Measure speed, always beside a reference.')
app.add_typer(demos_app, name='demos')
app.add_typer(bench_app, name='bench')

app.command()(train)
app.command()(evaluate)
demos_app.command('info')(demos_commands.info)
bench_app.command('learner')(bench_commands.learner)
demos_app.command('point-mass')(demos_commands.point_mass)


def main() -> None:
    """Run ``lsiq``; what the user can mend ends with one sentence and exit code 2."""
    try:
        app()
    except LsiqError as error:
        print(f'lsiq: {error}', file=sys.stderr)
        sys.exit(2)


if __name__ == '__main__':
    main()
