# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Write the policy of a run as one self-describing ONNX file, and verify it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from lsiq_core import checkpoint
from lsiq_core.data.minari_dataset import PREFIX
from lsiq_core.errors import ConfigError
from lsiq_core.history import Memory
from lsiq_core.policy.artifact import Verification
from lsiq_core.policy.export import bounds_of, export_policy
from lsiq_core.policy.export_run import (
    golden_states,
    policy_module,
    present_columns,
    run_metadata,
    training_bounds,
)
from lsiq_core.policy.policies import load_policy
from lsiq_core.robot import is_robot, load_robot
from lsiq_core.shipped_files import find_file
from lsiq_ros.robot_limits import robot_facts
from lsiq_ros.runs.setup import read_setup
from lsiq_ros.runs.tasks import BUILT_IN, load_demos
from lsiq_ros.wire.observation import raw_from_observation
import torch


def export_run(
    run: Path,
    out: Path,
    demos: str | None = None,
    robot: str | None = None,
    log: Callable[[str], None] = lambda _line: None,
) -> Verification:
    """
    Export a trained policy.

    :param run: run directory or checkpoint file.
    :param out: the policy file to write.
    :param demos: demonstrations of the run, if they do not lie where they did.
    :param robot: the run's robot by path, if it does not lie where it did.
    :param log: takes a line that says what is exported.
    """
    torch.set_num_threads(1)
    chosen = checkpoint.find(run)
    learner, state, header = load_policy(chosen)
    source, task = header['demonstrations'], robot or learner.config.task
    name = header['spec']['task']  # of a robot its folder's
    if name != task and (not is_robot(task) or load_robot(task).name != name):
        raise ConfigError(
            f'{run}: it learned {name}, which is not at {task}; name it with --robot'
        )
    best = 'no evaluation' if header['best'] is None else f'best evaluation {header["best"]:.4g}'
    log(f'exports {chosen}: step {header["steps"]}, {best} (random 0, expert 1)')
    where = demos or _demonstrations(chosen.parent, source['source'])
    shown = load_demos(where, task, episodes=source['episodes'], with_actions=False)
    log(f'demonstrations {shown.source}, {shown.num_episodes} episodes')
    columns = present_columns(state, header)
    terms = [header['spec']['observation'][column]['name'] for column in columns]
    facts = robot_facts(task, terms, bounds_of(shown.states[:, columns]))
    metadata = run_metadata(
        learner,
        state,
        header,
        shown,
        trained=training_bounds(run if run.is_dir() else run.parent, learner, columns),
        joint_limits=facts.joint_limits,
        robot=facts.name,
        robot_model_sha256=facts.model_sha256,
        gate=facts.gate,
    )
    actions = [term['name'] for term in header['spec']['action']]
    memory = Memory.of(metadata.history, metadata.observation_names, actions)
    return export_policy(
        policy_module(learner, state, header),
        metadata,
        out,
        golden_observations=memory.see(golden_states(shown, columns)),
        raw_of=raw_from_observation if facts.joint_limits else None,
    )


def _demonstrations(run: Path, source: str) -> str | None:
    """
    Return where a run's demonstrations lie, from whatever directory it is asked.

    ``config.yaml`` knows their whole path; a run that was moved with them has them beside it.
    """
    if source.startswith(BUILT_IN):
        return None
    if source.startswith(PREFIX):
        return source
    known = [read_setup(run).demos] if (run / 'config.yaml').is_file() else []
    places = [*(place for place in known if place), source, str(run / Path(source).name)]
    for place in places:
        if place.startswith(PREFIX) or Path(place).is_file():
            return place
    try:
        return str(find_file(source))
    except ConfigError:
        searched = ', '.join(dict.fromkeys(places))
        raise ConfigError(
            f'{run}: its demonstrations are at none of {searched}; name them with --demos'
        ) from None
