# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""What lies in a run directory beside the checkpoints: settings and results."""

from __future__ import annotations

from collections.abc import Callable
import json
from pathlib import Path
from typing import Any, NamedTuple, TYPE_CHECKING

from lsiq_core.atomic import write_text
from lsiq_core.config import from_dict, read_yaml, RunConfig, to_dict
from lsiq_core.errors import CheckpointError, LsiqError
import yaml

if TYPE_CHECKING:
    from lsiq_core.training.trainer import Trainer

Say = Callable[[str], None]


class RunSetup(NamedTuple):
    """What a run was begun with."""

    config: RunConfig
    demos: str | None  # file or Minari id; None is the task's built-in expert
    episodes: int


def write_setup(run: Path, setup: RunSetup) -> None:
    """Write ``config.yaml``; demonstrations are named so that any directory finds them."""
    demos = setup.demos
    if demos is not None and Path(demos).exists():
        demos = str(Path(demos).resolve())
    kept = {'demos': demos, 'episodes': setup.episodes, 'run': _plain(to_dict(setup.config))}
    write_text(run / 'config.yaml', yaml.safe_dump(kept, sort_keys=False))


def read_setup(run: Path) -> RunSetup:
    """Read ``config.yaml`` of a run that is to be continued."""
    path = run / 'config.yaml'
    kept = read_yaml(path) if path.exists() else {}
    if not {'demos', 'episodes', 'run'} <= set(kept):
        raise CheckpointError(f'{run}: no config.yaml there, so it is no run to continue')
    return RunSetup(from_dict(kept['run'], where=str(path)), kept['demos'], kept['episodes'])


def finish(trainer: Trainer, say: Say) -> None:
    """Measure the policy, write result and pictures, and where torques flow the ONNX file."""
    from lsiq_core.report.curves import draw_run

    run, task = trainer.run, trainer.config.task
    result = trainer.result()
    write_text(run / 'result.json', json.dumps(result, indent=2))
    draw_run(run, run / 'curve.png')
    if task == 'point_mass':
        from lsiq_ros.view.point_mass_paths import draw_paths

        draw_paths(trainer.policy(), run / 'paths.png')
        say(f'picture: {run / "paths.png"}')
    if task == 'atlas':
        _show_atlas(run, say)
    say(result_line(result))


def result_line(result: dict[str, Any]) -> str:
    """Return the figures that matter in one line."""
    shown = (
        ('return_mean', 'return {:.1f}'),
        ('normalized_return', 'normalised {:.3f}'),
        ('success_rate', 'success rate {:.2f}'),
        ('fall_rate', 'falls {:.0%}'),
        ('speed_mean_mps', 'speed {:.2f} m/s'),
        ('episode_length_mean', 'episode length {:.0f}'),
        ('steps', '{} steps'),
        ('minutes', '{:.1f} minutes'),
    )
    return 'result: ' + ', '.join(form.format(result[key]) for key, form in shown if key in result)


def _show_atlas(run: Path, say: Say) -> None:
    """Export the policy and film it; a machine that cannot render still gets the policy."""
    from lsiq_core.training import checkpoint
    from lsiq_ros.runs.export import export_run
    from lsiq_ros.view.robot import motion, record

    chosen = checkpoint.find(run)
    export_run(chosen, run / 'policy.onnx')
    say(f'policy: {run / "policy.onnx"}, of {chosen.name}; the result is of last.safetensors')
    try:
        env, steps = motion(run / 'policy.onnx', seed=0, seconds=10.0)
        record(env, steps, run / 'walk.mp4', strip=run / 'walk.png', camera='side')
        say(f'film: {run / "walk.mp4"}')
    except LsiqError as error:
        say(f'no film: {error}')


def _plain(value: Any) -> Any:
    """Turn tuples into lists, which YAML's safe writer knows."""
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value
