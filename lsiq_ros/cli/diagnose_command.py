# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""``lsiq diagnose``: whether a run converges, seen without a reward."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Optional

import typer


def diagnose(
    run: Annotated[Path, typer.Argument(help='Run directory, finished or under way.')],
    demos: Annotated[
        Optional[str], typer.Option(help='Where the demonstrations lie now, if they were moved.')
    ] = None,
    out: Annotated[
        Optional[Path], typer.Option(help='The PNG to write. Default: RUN/diagnosis.png')
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the policy's episode.")] = 2_000_000,
    json_: Annotated[
        bool, typer.Option('--json', help='Print one JSON object as the last line.')
    ] = False,
) -> None:
    """
    Show whether a run converges: critic, policy and inverse dynamics beside the demonstrations.

        lsiq diagnose runs/hopper

    Each figure is followed by what it usually means. The expert's actions, where the file has
    them, are looked at by this report alone.
    """
    from lsiq_core import checkpoint
    from lsiq_core.data.dataset import expert_data
    from lsiq_core.learning.learner import Learner
    from lsiq_core.policy.policies import learner_state, policy_function
    from lsiq_core.report.diagnosis import diagnose as diagnosed
    from lsiq_core.report.diagnosis import draw_diagnosis
    from lsiq_core.training.rollouts import rollout
    from lsiq_ros.runs.setup import resumed_setup
    from lsiq_ros.runs.tasks import fitted, load_demos
    from lsiq_ros.simulator.tasks import make_env
    import torch

    torch.set_num_threads(1)
    setup = resumed_setup(run, demos=demos)
    chosen = checkpoint.find(run, prefer='last')
    tensors, header = checkpoint.load(chosen)
    shown = load_demos(setup.demos, setup.config.task, episodes=setup.episodes)
    config = fitted(setup.config, shown)
    env = make_env(config.task, config.task_options)
    learner = Learner(config, len(env.observation_terms), len(env.action_terms))
    full = expert_data(shown, env, window=learner.window)
    state = learner_state(tensors)
    expert = full
    if config.observations_only:
        expert = expert_data(shown.without_actions(), env, window=learner.window)
    if 'refined_actions' in tensors:
        expert = expert.with_actions(tensors['refined_actions'])
    true = None if shown.actions is None else learner.batch(state, full.rows).action
    episode = rollout(
        env,
        policy_function(learner, state),
        episodes=1,
        discount=config.algorithm.discount,
        seed=seed,
        keep_transitions=True,
    )
    found = diagnosed(learner, state, expert, true, episode)
    picture = out or run / 'diagnosis.png'
    draw_diagnosis(found, f'{run.name}, step {header["steps"]}', picture)
    typer.echo(f'{chosen}, step {header["steps"]} of {config.collection.steps}')
    typer.echo(found.text())
    typer.echo(f'picture: {picture}')
    if json_:
        typer.echo(json.dumps(found.figures))
