# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Motor babbling: short bursts of smooth random torque, from which the IDM learns first."""

from __future__ import annotations

from lsiq_core.config import BabbleConfig
from lsiq_core.data.batch import pack
from lsiq_core.data.dataset import ActionBox
from lsiq_core.env import Env
from lsiq_core.job import Job, StageProgress
import torch
from torch import Tensor

_PAUSE = 200  # steps between two pauses


class Babble:
    """
    Transitions of random actions, each burst from a fresh reset.

    Bursts are short because the model is wanted near the states that the task resets to (the
    expert's, with ``collection.reset_to_expert``): random torque until the fall teaches falling.
    """

    def __init__(self, env: Env, config: BabbleConfig) -> None:
        self._env, self._config = env, config
        self._done = 0
        self._actions = torch.zeros(0)  # [T, A], drawn when it begins
        self._before = torch.zeros((config.transitions, len(env.observation_terms)))
        self._after = torch.zeros_like(self._before)
        self._absorbing = torch.zeros(config.transitions)
        self._obs = torch.zeros(0)  # where the next step begins
        self._ended = False

    def run(self, generator: torch.Generator) -> Job[Tensor]:
        """
        Step to the end, from wherever it is.

        :param generator: source of everything random.
        :return: packed transitions [transitions, 2 D + A + 1].
        """
        env, config = self._env, self._config
        if not self._done:
            seed = int(torch.randint(2**31 - 1, (), generator=generator))
            self._actions = _smooth_noise(config, len(env.action_terms), generator)
            self._obs = torch.as_tensor(env.reset(seed=seed))
        commands = ActionBox.of(env).scale(self._actions.double()).numpy()
        while self._done < config.transitions:
            index = self._done
            if index and (index % config.burst == 0 or self._ended):
                self._obs = torch.as_tensor(env.reset())
            step = env.step(commands[index])
            self._before[index], self._absorbing[index] = self._obs, float(step.terminated)
            self._obs = torch.as_tensor(step.obs)
            self._after[index] = self._obs
            self._ended = step.terminated or step.truncated
            self._done += 1
            if self._done % _PAUSE == 0:
                yield
        return pack(self._before, self._actions, self._after, self._absorbing)

    @property
    def progress(self) -> StageProgress:
        """Return how far it is."""
        return StageProgress('babbling', self._done, self._config.transitions)

    def state(self) -> dict[str, Tensor]:
        """Return what it takes to go on from here, beside the environment's own state."""
        return {
            'done': torch.tensor(self._done),
            'ended': torch.tensor(self._ended),
            'obs': self._obs,
            'actions': self._actions,
            'before': self._before,
            'after': self._after,
            'absorbing': self._absorbing,
        }

    def restore(self, kept: dict[str, Tensor]) -> None:
        """Go on where :meth:`state` was taken."""
        self._done, self._ended = int(kept['done']), bool(kept['ended'])
        self._obs, self._actions = kept['obs'], kept['actions']
        self._before, self._after = kept['before'], kept['after']
        self._absorbing = kept['absorbing']


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
