# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Where the command line puts core and simulation together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from lsiq_core.config import RunConfig
from lsiq_core.data.demonstrations import Demonstrations, load, lost_digits
from lsiq_core.data.minari_dataset import load_minari, PREFIX
from lsiq_core.env import Env, starts_at_expert
from lsiq_core.errors import DemonstrationError, TaskError
from lsiq_core.robot import is_robot, known_observations, load_robot, OF_ROBOT
from lsiq_core.shipped_files import find_file
from lsiq_core.types import BASE_TWIST, names
from lsiq_ros.lockstep.protocol import SimulatorSetup
from lsiq_ros.simulator.tasks import make_env
import numpy as np
import sim

if TYPE_CHECKING:
    from lsiq_core.training.trainer import Trainer

FORWARD = names(BASE_TWIST)[0]  # the base's velocity that the metric is about
_MUCH_CLIPPED = 1 / 3
BUILT_IN = 'built-in expert'  # how the source of demonstrations that are no file begins


def env_factory(config: RunConfig, demos: Demonstrations) -> Callable[[int], Env]:
    """Return how the simulation with a given number, to train in, is made."""
    setup = simulator_setup(config, demos, range(config.collection.simulations))
    return lambda number: make_env(config.task, setup.options_of(number))


def exact_env(config: RunConfig, demos: Demonstrations) -> Env:
    """Return a simulation to babble and try actions in: as those to train in, but unvaried."""
    plain = replace(config, collection=replace(config.collection, randomise=False))
    return env_factory(plain, demos)(0)


def simulator_setup(
    config: RunConfig, demos: Demonstrations, numbers: Sequence[int]
) -> SimulatorSetup:
    """
    Return what to simulate for a run, in this process or behind topics.

    :param numbers: which of the run's simulations.
    """
    share = config.collection.reset_to_expert
    varied = config.collection.randomise and is_robot(config.task)
    return SimulatorSetup(
        config.task,
        {
            **({'randomisation': OF_ROBOT} if varied else {}),
            **fitted(config, demos).task_options,
            **config.collection.task_options,
        },
        tuple(starts_at_expert(number, share) for number in numbers),
        demos.states if share else None,
    )


def fitted(config: RunConfig, demos: Demonstrations) -> RunConfig:
    """
    Return settings that fit the demonstrations, where they leave it open.

    What of a robot is observed follows from the names of the recorded terms. Episodes start at
    recorded states where its file knows no stride: from standing nobody catches a walk. A Gym
    task is made with the options that it was recorded with, and its inverse dynamics model sees
    more where velocities are clipped. Actions are not remembered where none are known.
    """
    if config.observations_only or demos.actions is None:
        history = replace(config.networks.history, actions=0)
        config = replace(config, networks=replace(config.networks, history=history))
    if config.task in sim.GYM_TASKS:
        recorded = demos.metadata.get('env_kwargs') or {}
        if config.idm.window is None and demos.clipped_share > _MUCH_CLIPPED:
            config = replace(config, idm=replace(config.idm, window=True))
        return replace(config, task_options={**recorded, **config.task_options})
    if not is_robot(config.task):
        return config
    from sim.robot import observation_terms

    options, spec = dict(config.task_options), load_robot(config.task)
    if 'observation' not in options:
        for observation in known_observations(spec):
            if names(observation_terms(spec, observation)) == tuple(demos.state_names or ()):
                options['observation'] = observation
                break
    speed = shown_speed_mps(demos)
    if 'speed_mps' not in options and spec.task.speed_mps is None and speed is not None:
        options['speed_mps'] = speed
    file = Path(demos.source)
    if 'start' not in options and spec.reset.frames is None and file.is_file():
        options['start'] = str(file.resolve())
    shown = tuple(demos.state_names or ())
    networks = replace(
        config.networks,
        # The settings of all robots hide foot forces from the policy; not all recordings have any.
        privileged_terms=tuple(
            part
            for part in config.networks.privileged_terms
            if not shown or any(part in name for name in shown)
        ),
    )
    return replace(config, task_options=options, networks=networks)


def shown_speed_mps(demos: Demonstrations) -> float | None:
    """Return how fast the demonstrations go forward: that of their returns, else as they are."""
    if 'speed_mps' in demos.metadata:
        return float(demos.metadata['speed_mps'])
    if demos.state_names is None or FORWARD not in demos.state_names:
        return None
    return float(demos.states[:, demos.state_names.index(FORWARD)].mean())


def make_trainer(
    config: RunConfig,
    demos: Demonstrations,
    run: Path,
    *,
    simulations: list[Env] | None = None,
    log: Callable[[str], None] = print,
) -> Trainer:
    """
    Put demonstrations, task and learner together.

    :param simulations: environments to train in that are there already; none makes them here.
    :param log: takes sentences for a person.
    """
    from lsiq_core.training.trainer import Trainer

    env = make_env(config.task, config.task_options)
    for doubt in doubts(demos, env.max_episode_steps):
        log(doubt)
    env.close()
    return Trainer(
        config,
        lambda: make_env(config.task, config.task_options),
        demos,
        run,
        make_simulation=env_factory(config, demos),
        make_exact=lambda: exact_env(config, demos),
        simulations=simulations,
        log=log,
    )


def doubts(demos: Demonstrations, longest: int) -> list[str]:
    """
    Return what speaks against learning from these demonstrations, for a person to judge.

    :param longest: time limit of an episode of the task, in steps.
    """
    found, lengths = [], demos.episode_lengths
    if demos.num_transitions < longest:
        found.append(
            f'few demonstrations: {demos.num_transitions} steps in all, one episode of the task '
            f'has up to {longest}'
        )
    short = int((lengths < longest / 10).sum())
    if short:
        found.append(
            f'short demonstrations: {short} of {len(lengths)} are shorter than a tenth of an '
            f'episode ({longest} steps), the shortest has {lengths.min()}'
        )
    return [f'{demos.source}: {doubt}' for doubt in found] + lost_digits(demos)


def load_demos(
    source: str | None, task: str, *, episodes: int | None = None, with_actions: bool = True
) -> Demonstrations:
    """
    Load demonstrations from a file, from Minari (``minari:ID``) or from a built-in expert.

    :param source: where from; none asks the task's own expert, where it has one.
    :param task: the task they are for.
    :param episodes: keep only the first so many.
    :param with_actions: also take the actions.
    """
    if task and task not in sim.TASKS and not is_robot(task):
        raise TaskError(f'no task {task!r}; there are {", ".join(sim.TASKS)}')
    if source is None:
        demos = built_in_demos(task, episodes or 25)
        return demos if with_actions else demos.without_actions()
    if source.startswith(PREFIX):
        demos = load_minari(source.removeprefix(PREFIX), with_actions=with_actions)
    else:
        demos = load(find_file(source), with_actions=with_actions)
    return demos if episodes is None else demos.first(episodes)


def built_in_demos(task: str, episodes: int, seed: int = 0) -> Demonstrations:
    """Let the point mass's own expert show the task."""
    if task != 'point_mass':
        raise DemonstrationError(
            f'task {task} needs --demos FILE; a built-in expert that acts at once has only '
            'point_mass (for a robot with an expert: lsiq demos collect --robot NAME)'
        )
    from sim.point_mass import PointMass, ShortestPath

    env, expert, rng = PointMass(), ShortestPath(), np.random.default_rng(seed)
    states, actions, lengths, terminated, returns = [], [], [], [], []
    for episode in range(episodes):
        obs = env.reset_to(expert.start(episode, rng))
        states.append(obs)
        total, length = 0.0, 0
        while True:
            action = expert(obs)
            step = env.step(action)
            obs = step.obs
            states.append(obs)
            actions.append(action)
            total, length = total + step.reward, length + 1
            if step.terminated or step.truncated:
                break
        lengths.append(length)
        terminated.append(step.terminated)
        returns.append(total)
    return Demonstrations(
        states=np.array(states),
        episode_lengths=np.array(lengths),
        terminated=np.array(terminated),
        actions=np.array(actions),
        returns=np.array(returns),
        state_names=names(env.observation_terms),
        action_names=names(env.action_terms),
        rate_hz=env.rate_hz,
        metadata={'task': task, 'source': 'built-in shortest path', 'seed': seed},
        source=f'{BUILT_IN} of {task}',
    )
