# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Set up a training run, new or resumed, over topics or in process. No rclpy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lsiq_core.config import from_dict, merge, override, RunConfig
from lsiq_core.data.demonstrations import Demonstrations
from lsiq_core.env import Env
from lsiq_core.errors import ConfigError
from lsiq_core.task_configs import settings
from lsiq_ros.runs.files import read_setup, RunSetup, write_setup


@dataclass(frozen=True)
class LearnerSettings:
    """What the parameters of the learner node say."""

    task: str
    demos: Path
    run: Path
    observation: str
    simulations: int
    reset_share: float  # of the simulations that start episodes at demonstrated states
    steps: int  # 0 for what the task's settings say
    seed: int
    overrides: tuple[str, ...]

    @property
    def resumes(self) -> bool:
        """Return whether the run directory holds a run to go on with."""
        return (self.run / 'last.safetensors').is_file()


def run_config(chosen: LearnerSettings) -> RunConfig:
    """Return the settings of a new run, or those that a resumed run was begun with."""
    if chosen.resumes:
        config = read_setup(chosen.run).config
        if config.collection.simulations != chosen.simulations:
            raise ConfigError(
                f'{chosen.run}: was begun with {config.collection.simulations} simulations, '
                f'this graph has {chosen.simulations}'
            )
        return config
    if chosen.run.is_dir() and any(chosen.run.iterdir()):
        raise ConfigError(f'{chosen.run}: holds something, but no run to continue')
    values = settings(chosen.task)
    collection: dict[str, Any] = {'simulations': chosen.simulations}
    if chosen.task == 'atlas':  # what the sim nodes of the graph are told as well
        collection['reset_to_expert'] = chosen.reset_share
    if chosen.steps:
        collection['steps'] = chosen.steps
    values = merge(
        values, {'seed': chosen.seed, 'observations_only': True, 'collection': collection}
    )
    if chosen.task == 'atlas':
        values = merge(values, {'task_options': {'spec': chosen.observation}})
    for assignment in chosen.overrides:
        values = merge(values, override(assignment))
    config = from_dict(values, where=f'settings of {chosen.task}')
    if config.collection.simulations != chosen.simulations:
        raise ConfigError(
            f'collection.simulations {config.collection.simulations}: the parameters sims and '
            f'robots decide it, they say {chosen.simulations}'
        )
    if chosen.task == 'atlas' and config.collection.reset_to_expert != chosen.reset_share:
        raise ConfigError(
            f'collection.reset_to_expert {config.collection.reset_to_expert}: the parameter '
            f'reset_share decides it, it says {chosen.reset_share}'
        )
    return config


def make_trainer(
    config: RunConfig,
    chosen: LearnerSettings,
    simulations: list[Env] | None,
    say: Callable[[str], None],
) -> Any:
    """
    Return the trainer, restored where the run goes on.

    :param config: from :func:`run_config`.
    :param chosen: from the parameters.
    :param simulations: the simulators behind topics; None makes them in process.
    :param say: takes sentences for a person.
    """
    from lsiq_ros.runs import tasks
    import torch

    torch.set_num_threads(1)
    demos: Demonstrations = tasks.load_demos(str(chosen.demos), config.task)
    trainer = tasks.make_trainer(config, demos, chosen.run, simulations=simulations, say=say)
    if chosen.resumes:
        trainer.restore()
        say(f'continuing {chosen.run} at step {trainer.steps}')
    else:
        chosen.run.mkdir(parents=True, exist_ok=True)
        write_setup(chosen.run, RunSetup(config, str(chosen.demos), demos.num_episodes))
    return trainer
