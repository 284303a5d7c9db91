# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""The table: every disturbance at its sizes, all together, and where each one breaks it."""

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
import multiprocessing
import os
import time

from lsiq_core.policy.stress import Break, break_text, Row, row_text, SURVIVE, Table
from lsiq_core.robot import Randomisation
from lsiq_ros.stress.disturbances import Disturbance, disturbances, Ranges, together
from lsiq_ros.stress.walks import load, robot_of, Subject, walk, Walks
import numpy as np
from sim.robot import MujocoRobot

SEED = 3_000_000  # far from any seed of training and evaluation
SEARCH_EPISODES = 10
BLOCK = 10  # episodes that one process walks at once
HALF = 0.5


def measure(
    subject: Subject,
    *,
    quick: bool = False,
    episodes: int = 20,
    seconds: float = 10.0,
    seed: int = SEED,
    processes: int = 0,
    progress: Callable[[str], None] = lambda line: None,
) -> Table:
    """
    Put a policy under stress.

    :param quick: leave out where it breaks.
    :param processes: at once; 0 for one on each core.
    :param progress: told a line for each result.
    """
    began = time.monotonic()
    policy = load(subject, seed)
    robot = robot_of(subject, policy)
    kinds = disturbances(float(MujocoRobot(robot).model.body_subtreemass[0]) * 9.81)
    context = multiprocessing.get_context('spawn')  # neither ROS nor torch survive a fork
    rows, breaks = [], []
    with ProcessPoolExecutor(
        processes or len(os.sched_getaffinity(0)), mp_context=context
    ) as pool:
        blocks = [
            [
                pool.submit(_walk, subject, ranges, min(BLOCK, episodes - at), seconds, seed + at)
                for at in range(0, episodes, BLOCK)
            ]
            for _, ranges in _rows(kinds)
        ]
        searches = [
            pool.submit(_search, subject, kind, seconds, seed) for kind in kinds if not quick
        ]
        for (name, ranges), parts in zip(_rows(kinds), blocks):
            rows.append(_row(name, ranges, [part.result() for part in parts]))
            progress(row_text(rows[-1]))
        for search in searches:
            breaks.append(search.result())
            progress(break_text(breaks[-1]))
    return Table(
        policy=subject.policy.name,
        sha256=policy.sha256,
        robot=robot.name,
        stochastic=subject.stochastic,
        seconds=seconds,
        seed=seed,
        rows=rows,
        breaks=breaks,
        minutes=(time.monotonic() - began) / 60,
    )


def _rows(kinds: tuple[Disturbance, ...]) -> list[tuple[str, Ranges]]:
    single = [(kind.text(size), kind.ranges(size)) for kind in kinds for size in kind.sizes]
    return [('nominal', {}), *single, ('all at half size', together(kinds, HALF))]


def _walk(
    subject: Subject, ranges: Ranges, episodes: int, seconds: float, seed: int
) -> Walks:  # the processes of the pool come in here
    return walk(subject, Randomisation(**ranges), episodes=episodes, seconds=seconds, seed=seed)


def _row(name: str, ranges: Ranges, parts: list[Walks]) -> Row:
    survived = [one for part in parts for one in part.survived]
    return Row(
        name=name,
        episodes=len(survived),
        survived=sum(survived),
        speed_mps=float(np.mean([speed for part in parts for speed in part.speed_mps])),
        metric=float(np.mean([metric for part in parts for metric in part.metric])),
        randomisation=ranges,
    )


def _search(subject: Subject, kind: Disturbance, seconds: float, seed: int) -> Break:
    """Halve the way between what stands and what falls."""
    tried: list[tuple[float, float]] = []

    def stands(level: int) -> bool:
        size = kind.nominal + (kind.worst - kind.nominal) * level / kind.levels
        walks = _walk(subject, kind.ranges(size), SEARCH_EPISODES, seconds, seed)
        tried.append((size, float(np.mean(walks.survived))))
        return tried[-1][1] >= SURVIVE

    low, high = -1, kind.levels + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if stands(middle) else (low, middle)
    largest = None if low < 0 else kind.nominal + (kind.worst - kind.nominal) * low / kind.levels
    return Break(kind.name, kind.unit, kind.nominal, largest, low == kind.levels, sorted(tried))
