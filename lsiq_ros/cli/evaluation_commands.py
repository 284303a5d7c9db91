# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""``lsiq evaluate``, ``diagnose`` and ``stress``: what a policy is worth, and why."""

from dataclasses import asdict
import json
from pathlib import Path
from typing import Annotated

from lsiq_core.errors import TaskError
import typer

Json = Annotated[bool, typer.Option('--json', help='Print one JSON object as the last line.')]


def evaluate(
    run: Annotated[Path, typer.Argument(help='Run directory or checkpoint file.')],
    task: Annotated[
        str | None,
        typer.Option(
            '--task', '--robot', help='Task or robot to try it in. Default: what it learned.'
        ),
    ] = None,
    episodes: Annotated[int, typer.Option(help='Episodes of each kind.', min=1)] = 10,
    stochastic: Annotated[
        bool, typer.Option('--stochastic', help='Sample actions instead of taking the mean.')
    ] = False,
    average: Annotated[
        bool,
        typer.Option(
            help='The average of the policy, which is exported, or the policy as it is now: '
            'where they differ much, it swings.'
        ),
    ] = True,
    seed: Annotated[int, typer.Option(help='Seed of the first episode.')] = 2_000_000,
    json_: Json = False,
) -> None:
    """
    Measure a trained policy in fresh episodes.

    The return is also given normalised: 0 is a random policy, 1 the expert.

        lsiq evaluate runs/hopper --episodes 10 --json
    """
    from lsiq_core import checkpoint
    from lsiq_core.history import remembering
    from lsiq_core.policy.policies import load_policy, policy_function
    from lsiq_core.training.progress import headline
    from lsiq_core.training.rollouts import rollout
    from lsiq_ros.simulator.tasks import make_env
    import torch

    torch.set_num_threads(1)
    chosen = checkpoint.find(run)
    learner, state, header = load_policy(chosen)
    config = learner.config
    if not average:
        state = {**state, learner.evaluated_actor: state['actor']}
    env = make_env(task or config.task, config.task_options)
    env = remembering(env, config.networks.history)
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
        about |= {'average': average}
        typer.echo(json.dumps({**about, **metrics}))


def diagnose(
    run: Annotated[Path, typer.Argument(help='Run directory, finished or under way.')],
    demos: Annotated[
        str | None, typer.Option(help='Where the demonstrations lie now, if they were moved.')
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help='The PNG to write. Default: RUN/diagnosis.png')
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the policy's episode.")] = 2_000_000,
    json_: Json = False,
) -> None:
    """
    Show whether a run converges: critic, policy and inverse dynamics beside the demonstrations.

        lsiq diagnose runs/hopper

    Each figure is followed by what it usually means. The expert's actions, where the file has
    them, are looked at by this report alone.
    """
    from lsiq_core import checkpoint
    from lsiq_core.data.dataset import expert_data, remembered
    from lsiq_core.history import remembering
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
    shown, env = (
        remembered(shown, config.networks.history, env),
        remembering(env, config.networks.history),
    )
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


def stress(
    policy: Annotated[Path, typer.Argument(help='Policy file, checkpoint or run.')],
    robot: Annotated[
        str, typer.Option(help='By name or file. Default: the one that the policy was made for.')
    ] = '',
    out: Annotated[
        Path | None, typer.Option(help='Directory of stress.json and .html. Default: beside.')
    ] = None,
    quick: Annotated[bool, typer.Option('--quick', help='Not where it breaks.')] = False,
    stochastic: Annotated[
        bool, typer.Option('--stochastic', help='Sample actions; needs the run or checkpoint.')
    ] = False,
    episodes: Annotated[int, typer.Option(help='Of each row.', min=1)] = 20,
    seconds: Annotated[float, typer.Option(help='Of each episode.', min=0.1)] = 10.0,
    seed: Annotated[int | None, typer.Option(help='Of starts, worlds and noise.')] = None,
    processes: Annotated[int, typer.Option(help='At once; 0: one on each core.', min=0)] = 0,
    json_: Json = False,
) -> None:
    """
    Measure what a policy survives, and where it breaks.

    Noise, delay, pushes, other masses: each disturbance by itself, all at half size, then how
    far each can go until fewer than 9 of 10 episodes survive. In process, on all cores.

        lsiq stress models/atlas/walk/policy.onnx
    """
    from lsiq_core.policy.stress import FILE, write
    from lsiq_core.report.stress import write_page
    from lsiq_core.shipped_files import find_file
    from lsiq_ros.stress.measure import measure, SEED
    from lsiq_ros.stress.walks import Subject

    found = find_file(str(policy))
    measured = measure(
        Subject(found, robot, stochastic),
        quick=quick,
        episodes=episodes,
        seconds=seconds,
        seed=SEED if seed is None else seed,
        processes=processes,
        progress=typer.echo,
    )
    folder = out or (found if found.is_dir() else found.parent)
    folder.mkdir(parents=True, exist_ok=True)
    write(measured, folder / FILE)
    page = write_page(measured, folder / 'stress.html')
    typer.echo(f'{measured.minutes:.1f} min; wrote {folder / FILE} and {page}')
    if json_:
        typer.echo(json.dumps(asdict(measured)))
