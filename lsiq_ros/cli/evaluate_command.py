# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""``lsiq evaluate``: what a policy is worth."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Optional

from lsiq_core.errors import TaskError
import typer


def evaluate(
    run: Annotated[Path, typer.Argument(help='Run directory or checkpoint file.')],
    task: Annotated[
        Optional[str],
        typer.Option(
            '--task', '--robot', help='Task or robot to try it in. Default: what it learned.'
        ),
    ] = None,
    episodes: Annotated[int, typer.Option(help='Episodes of each kind.', min=1)] = 10,
    stochastic: Annotated[
        bool, typer.Option('--stochastic', help='Sample actions instead of taking the mean.')
    ] = False,
    seed: Annotated[int, typer.Option(help='Seed of the first episode.')] = 2_000_000,
    json_: Annotated[
        bool, typer.Option('--json', help='Print one JSON object as the last line.')
    ] = False,
) -> None:
    """
    Measure a trained policy in fresh episodes.

    The return is also given normalised: 0 is a random policy, 1 the expert.

        lsiq evaluate runs/hopper --episodes 10 --json
    """
    from lsiq_core import checkpoint
    from lsiq_core.policy.policies import load_policy, policy_function
    from lsiq_core.training.progress import headline
    from lsiq_core.training.rollouts import rollout
    from lsiq_ros.simulator.tasks import make_env
    import torch

    torch.set_num_threads(1)
    chosen = checkpoint.find(run)
    learner, state, header = load_policy(chosen)
    config = learner.config
    env = make_env(task or config.task, config.task_options)
    wanted = [term['name'] for term in header['spec']['observation']]
    found = [term.name for term in env.observation_terms]
    if wanted != found:
        raise TaskError(
            f'{run}: the policy observes {len(wanted)} values {wanted[:3]}..., task {env.name} '
            f'gives {len(found)} {found[:3]}...'
        )
    measured = rollout(
        env,
        policy_function(learner, state, stochastic=stochastic, seed=seed),
        episodes=episodes,
        discount=config.algorithm.discount,
        seed=seed,
    )
    references = header['references'] if env.name == header['spec']['task'] else {}
    metrics = measured.metrics(references)
    typer.echo(f'{chosen}, step {header["steps"]} of {config.collection.steps}')
    typer.echo(f'{episodes} episodes: {headline(metrics)}')
    for name, value in metrics.items():
        typer.echo(f'{name:>24}  {value:.4g}')
    if json_:
        about = {'run': str(run), 'checkpoint': str(chosen), 'steps': header['steps']}
        about |= {'task': env.name, 'episodes': episodes, 'seed': seed}
        about |= {'algorithm': config.algorithm.name, 'stochastic': stochastic}
        typer.echo(json.dumps({**about, **metrics}))
