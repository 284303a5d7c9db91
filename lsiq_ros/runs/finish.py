# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""The end of a run: measure the policy, write result and pictures, export it where it can be."""

from __future__ import annotations

from collections.abc import Callable
import json
from pathlib import Path
from typing import TYPE_CHECKING

from lsiq_core.atomic import write_text
from lsiq_core.errors import LsiqError
from lsiq_core.robot import is_robot
from lsiq_core.training.progress import headline

if TYPE_CHECKING:
    from lsiq_core.training.trainer import Trainer

Log = Callable[[str], None]


def finish(trainer: Trainer, log: Log) -> None:
    """Measure the policy, write result and pictures, and where torques flow the ONNX file."""
    from lsiq_core.report.curves import draw_run

    run, task = trainer.run, trainer.config.task
    result = trainer.result()
    write_text(run / 'result.json', json.dumps(result, indent=2))
    draw_run(run, run / 'curve.png')
    if task == 'point_mass':
        from lsiq_ros.view.point_mass_paths import draw_paths

        draw_paths(trainer.policy(), run / 'paths.png')
        log(f'picture: {run / "paths.png"}')
    if is_robot(task):
        _show_robot(run, task, log)
    log(
        f'result: {headline(result)}  return {result["return_mean"]:.1f}  '
        f'{result["steps"]} steps  {result["minutes"]:.1f} min'
    )


def _show_robot(run: Path, robot: str, log: Log) -> None:
    """Export the policy and film it; a machine that cannot render still gets the policy."""
    from lsiq_core import checkpoint
    from lsiq_ros.runs.export import export_run
    from lsiq_ros.view.robot import motion, record

    chosen = checkpoint.find(run)
    export_run(chosen, run / 'policy.onnx')
    log(f'policy: {run / "policy.onnx"}, of {chosen.name}; the result is of last.safetensors')
    log('filming it; without a graphics card this takes minutes')
    try:
        env, steps = motion(run / 'policy.onnx', seed=0, seconds=10.0, robot=robot)
        record(env, steps, run / 'walk.mp4', strip=run / 'walk.png', camera='side')
        log(f'film: {run / "walk.mp4"}')
    except LsiqError as error:
        log(f'no film: {error}')
