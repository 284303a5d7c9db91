# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
Measure what the topics cost a learner: one run over topics, the same run in process.

The two runs take turns in short blocks, so that whatever else the machine does meets both alike.
"""

from pathlib import Path
import tempfile
import time
from typing import Any, NamedTuple

from lsiq_core.config import from_dict, merge, RunConfig
from lsiq_core.data.demonstrations import Demonstrations, load
from lsiq_core.shipped_files import shipped
from lsiq_core.task_configs import settings
from lsiq_ros.benchmarks.lockstep import served
from lsiq_ros.runs.tasks import fitted, make_trainer, simulator_setup
import numpy as np
import torch


class TrainingCost(NamedTuple):
    """Median milliseconds of an iteration: one step and one update."""

    iterations: int
    in_process_ms: float
    over_topics_ms: float
    ratio: float


def training_cost(robot: str, blocks: int = 20, iterations: int = 10) -> TrainingCost:
    """Train a shipped robot with one simulation and one update per step, both ways in turns."""
    torch.set_num_threads(1)
    setup = simulator_setup(*_task(robot), range(1))
    with tempfile.TemporaryDirectory() as folder, served(setup, 'learner_bench_sim') as envs:
        here = _trainer(robot, Path(folder) / 'here', None)
        there = _trainer(robot, Path(folder) / 'there', envs)
        times_ms: tuple[list[float], list[float]] = ([], [])
        for _ in range(blocks):
            for trainer, kept in zip((here, there), times_ms):
                kept += [_iteration_ms(trainer) for _ in range(iterations)]
        here.close()
        there.close()
    in_process_ms, over_topics_ms = (float(np.median(kept)) for kept in times_ms)
    return TrainingCost(
        iterations=blocks * iterations,
        in_process_ms=in_process_ms,
        over_topics_ms=over_topics_ms,
        ratio=over_topics_ms / in_process_ms,
    )


def _task(robot: str) -> tuple[RunConfig, Demonstrations]:
    """Return the settings without pretraining, and the demonstrations."""
    chosen = {
        'observations_only': True,
        'compile': 'never',
        'idm': {'online': True},
        'pretraining': {'babble': {'transitions': 0, 'to_replay': 0}},
        'bc': {'pretrain_updates': 0},
        'optimisation': {'updates_per_step': 1.0},
        'collection': {'steps': 100_000, 'simulations': 1, 'critic_start': 50, 'actor_start': 50},
        'report': {'evaluation_episodes': 1, 'evaluate_every': 10**9},
    }
    demos = load(shipped(f'models/{robot}/demos/walk_noisy.npz'), with_actions=False)
    return fitted(from_dict(merge(settings(robot), chosen)), demos), demos


def _trainer(robot: str, run: Path, simulations: list[Any] | None) -> Any:
    """Return a trainer that has its warm-up behind it."""
    run.mkdir()
    trainer = make_trainer(*_task(robot), run, simulations=simulations)
    while trainer.steps < 60:
        trainer.iterate()
    return trainer


def _iteration_ms(trainer: Any) -> float:
    start_s = time.perf_counter()
    trainer.iterate()
    return 1e3 * (time.perf_counter() - start_s)
