# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Motor babbling: short bursts of smooth random torque, from which the IDM learns first."""

from __future__ import annotations

from dataclasses import replace

from lsiq_core.config import BabbleConfig
from lsiq_core.data.batch import pack, with_neighbours
from lsiq_core.data.dataset import ActionBox
from lsiq_core.env import Env
from lsiq_core.job import Job, StageProgress
from lsiq_core.learning.stage import Stage
import torch
from torch import Tensor

_PAUSE = 200  # steps between two pauses
_WINDOWED = 6  # steps of a burst at least, where a first and a last have no whole window
_QUIETEST = 0.3  # then: who moves so fast that sensors clip it uses the motors to the full


class Babble(Stage):
    """
    Transitions of random actions, each burst from a fresh reset.

    Bursts are short because the model is wanted near the states that the task resets to (the
    expert's, with ``collection.reset_to_expert``): random torque until the fall teaches falling.
    """

    KEPT = ('done', 'ended', 'obs', 'actions', 'before', 'after', 'absorbing')

    def __init__(self, env: Env, config: BabbleConfig, *, window: bool = False) -> None:
        self._env, self._window = env, window
        if window:
            burst, quietest = max(config.burst, _WINDOWED), max(config.quietest, _QUIETEST)
            config = replace(config, burst=burst, quietest=quietest)
        self._config = config
        self.done = 0
        self.actions = torch.zeros(0)  # [T, A], drawn when it begins
        self.before = torch.zeros((config.transitions, len(env.observation_terms)))
        self.after = torch.zeros_like(self.before)
        self.absorbing = torch.zeros(config.transitions)
        self.obs = torch.zeros(0)  # where the next step begins
        self.ended = False

    def run(self, generator: torch.Generator) -> Job[Tensor]:
        """
        Step to the end, from wherever it is.

        :param generator: source of everything random.
        :return: packed transitions [transitions, 2 D + A + 1], 2 D more with a window.
        """
        env, config = self._env, self._config
        if not self.done:
            seed = int(torch.randint(2**31 - 1, (), generator=generator))
            self.actions = _smooth_noise(config, len(env.action_terms), generator)
            self.obs = torch.as_tensor(env.reset(seed=seed))
        commands = ActionBox.of(env).scale(self.actions.double()).numpy()
        while self.done < config.transitions:
            index = self.done
            if index and (index % config.burst == 0 or self.ended):
                self.obs = torch.as_tensor(env.reset())
            step = env.step(commands[index])
            self.before[index], self.absorbing[index] = self.obs, float(step.terminated)
            self.obs = torch.as_tensor(step.obs)
            self.after[index] = self.obs
            self.ended = step.terminated or step.truncated
            self.done += 1
            if self.done % _PAUSE == 0:
                yield
        rows = pack(self.before, self.actions, self.after, self.absorbing)
        return with_neighbours(rows, self.before.shape[1]) if self._window else rows

    @property
    def progress(self) -> StageProgress:
        """Return how far it is."""
        return StageProgress('babbling', self.done, self._config.transitions)


def _smooth_noise(config: BabbleConfig, joints: int, generator: torch.Generator) -> Tensor:
    """Return actions [T, A] in [-1, 1]: each burst gentle or strong, each step like the last."""
    bursts = -(-config.transitions // config.burst)
    if config.quietest:
        size = config.quietest ** torch.rand((bursts, 1, joints), generator=generator)
    else:
        size = torch.rand((bursts, 1, 1), generator=generator)
    fresh = torch.randn((bursts, config.burst, joints), generator=generator)
    kept, new = config.smoothing, (1 - config.smoothing**2) ** 0.5
    smooth = [fresh[:, 0]]
    for step in range(1, config.burst):
        smooth.append(kept * smooth[-1] + new * fresh[:, step])
    actions = (size * torch.stack(smooth, dim=1)).clamp(-1.0, 1.0)
    return actions.reshape(-1, joints)[: config.transitions]
