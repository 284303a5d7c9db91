# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
How fast an update is, beside what this machine could do at best.

The limit is the time that the update's matrix products alone would take at the speed that
large float32 products reach on one core. Update and products are timed in turn in one run, as
CPU time, and medians are compared: on a busy machine the ratio still means something.
"""

from collections.abc import Callable
from statistics import median
import time
from typing import Any

from lsiq_core.config import from_dict
from lsiq_core.learning.compilation import update_function
from lsiq_core.learning.learner import Learner
from lsiq_core.learning.update import Rates, Rows
from lsiq_core.robot import load_robot
from sim.robot import MujocoRobot
import torch
from torch.utils.flop_counter import FlopCounterMode

_MATRIX = 1024
_UPDATES_PER_ROUND = 20


def bench_learner(robot: str, rounds: int) -> dict[str, Any]:
    """
    Time the update at the size of a robot: batches 256 + 256, two layers of 256, with IDM.

    :param robot: by name or path; observed as the paper does.
    :return: milliseconds, GFLOP and ratios by name; ``ratio_to_limit`` is the default path's.
    """
    simulated = MujocoRobot(load_robot(robot))
    sizes = len(simulated.terms('paper')), len(simulated.joints)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        eager, flop = _stepper('never', *sizes)
        default, _ = _stepper('auto', *sizes)  # as lsiq train does, compiled where it can be
        paths = {'eager': eager, 'default': default}
        sac = _stable_baselines_sac(*sizes)
        if sac is not None:
            paths['stable_baselines3_sac'] = sac
        return _compare(paths, flop, default.__doc__ or 'eager', rounds)
    finally:
        torch.set_num_threads(threads)


def _compare(
    paths: dict[str, Callable[[], None]], flop: int, kind: str, rounds: int
) -> dict[str, Any]:
    left, right = torch.randn(2, _MATRIX, _MATRIX).unbind()
    seconds: dict[str, list[float]] = {name: [] for name in ('product', *paths)}
    for path in paths.values():
        path()
    for _ in range(rounds):
        for _ in range(3):
            seconds['product'].append(_cpu_seconds(lambda: torch.mm(left, right)))
        for name, path in paths.items():
            seconds[name] += [_cpu_seconds(path) for _ in range(_UPDATES_PER_ROUND)]
    per_second = 2 * _MATRIX**3 / median(seconds['product'])
    limit = flop / per_second
    ratios = {name: median(seconds[name]) / limit for name in paths}
    result: dict[str, Any] = {
        'gflop_per_update': flop / 1e9,
        'gflop_per_s_of_products': per_second / 1e9,
        'limit_ms': 1e3 * limit,
        'default_path': kind,
        'ratio_to_limit': ratios['default'],
    }
    for name in paths:
        result[f'{name}_ms'] = 1e3 * median(seconds[name])
        result[f'{name}_ratio'] = ratios[name]
    return result


def _cpu_seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def _stepper(compile_: str, obs_dim: int, action_dim: int) -> tuple[Callable[[], None], int]:
    """Return a function that does one update, and the floating-point operations in it."""
    settings = {'task': 'none', 'observations_only': True, 'compile': compile_}
    learner = Learner(from_dict(settings), obs_dim=obs_dim, action_dim=action_dim)
    generator = torch.Generator().manual_seed(0)
    width = 2 * learner.obs_dim + learner.action_dim + 1
    expert, policy = torch.randn((2, 256, width), generator=generator).unbind()
    for rows in (expert, policy):
        rows[:, -1] = (rows[:, -1] > 2.0).float()
    given, rates = Rows(expert, policy), Rates(*[torch.tensor(3e-4)] * len(Rates._fields))
    state = learner.init(generator)
    update, kind = update_function(learner)
    with FlopCounterMode(display=False) as counter:
        learner.update(state, given, learner.draw_noise(generator), rates)

    def step() -> None:
        nonlocal state
        state, _ = update(state, given, learner.draw_noise(generator), rates)

    step.__doc__ = kind
    return step, counter.get_total_flops()


def _stable_baselines_sac(obs_dim: int, action_dim: int) -> Callable[[], None] | None:
    """Return one SAC update of stable-baselines3 at the same sizes, where it is installed."""
    try:
        import gymnasium
        import numpy as np
        from stable_baselines3 import SAC
    except ImportError:
        return None

    class Blank(gymnasium.Env):  # type: ignore[type-arg, misc]
        observation_space = gymnasium.spaces.Box(-1, 1, (obs_dim,))
        action_space = gymnasium.spaces.Box(-1, 1, (action_dim,))

        def reset(self, **_: Any) -> Any:
            return self.observation_space.sample(), {}

        def step(self, _: Any) -> Any:
            return self.observation_space.sample(), 0.0, False, False, {}

    agent = SAC('MlpPolicy', Blank(), batch_size=256, learning_starts=0, device='cpu')
    agent.learn(300)
    assert isinstance(agent.observation_space.shape, tuple) and np.isfinite(agent.gamma)
    return lambda: agent.train(gradient_steps=1, batch_size=256)
