# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
A simulator behind topics that training survives the death of.

When any simulator is lost in the middle of an iteration, all robots go back to where that
iteration began: they are put at the observation that the last action answered. The learner
itself has lost nothing, so the run goes on from there; only the clock of the episode and
what no observation shows (where on the floor the robot stands) start anew.
"""

from collections.abc import Callable
from typing import Any

from lsiq_core.errors import TaskError
from lsiq_core.types import Step
from lsiq_ros.lockstep.protocol import SimulatorLostError
from lsiq_ros.lockstep.ros_env import RosEnv
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
RESUME_AT = 'resume_at'  # in a saved state: the observation to start at again


class RecoveringEnv:
    """
    A :class:`RosEnv` that remembers where it was when the last action left.

    :param log: takes what a person who waits should know.
    """

    def __init__(self, env: RosEnv, log: Callable[[str], None] = print) -> None:
        self._env, self._log = env, log
        self._obs = np.empty(0)
        self._sent_from: Array | None = None
        self._out_of_step = False  # the simulator is gone or one step too far
        self.lost = False  # the simulator is gone
        names = [term.name for term in env.observation_terms]
        known = env.start_names and set(env.start_names) <= set(names)
        self._columns = [names.index(name) for name in env.start_names] if known else []
        self.name, self.rate_hz = env.name, env.rate_hz
        self.observation_terms, self.action_terms = env.observation_terms, env.action_terms
        self.action_low, self.action_high = env.action_low, env.action_high
        self.max_episode_steps = env.max_episode_steps

    def reset(self, *, seed: int | None = None) -> Array:
        """Start an episode."""
        start = self._patiently if self._sent_from is None else self._noticing_loss
        self._obs = start(lambda: self._env.reset(seed=seed))
        return self._obs

    def step(self, action: Array) -> Step:
        """Hold the action for one control period."""
        self.step_async(action)
        return self.step_wait()

    def step_async(self, action: Array) -> None:
        """Send the action and return at once."""
        self._sent_from = self._obs
        if not self.lost:
            self._env.step_async(action)

    def step_wait(self) -> Step:
        """Wait for what the last action brought."""
        if self.lost:  # while its state was saved; the other robots' actions have left by now
            raise SimulatorLostError(f'{self.name}: the simulator was gone before the step')
        step: Step = self._noticing_loss(self._env.step_wait)
        self._obs = step.obs
        return step

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return the simulator's state, or where to start again if it is gone."""
        if self._out_of_step:
            assert self._sent_from is not None
            return {RESUME_AT: self._sent_from}
        try:
            kept: dict[str, npt.NDArray[Any]] = self._noticing_loss(self._env.state)
        except SimulatorLostError:  # the next step will tell; what was learned is worth saving
            return {RESUME_AT: self._obs}
        return kept

    def restore(self, state: dict[str, npt.NDArray[Any]]) -> None:
        """Continue where :meth:`state` was taken."""
        if RESUME_AT in state:
            obs = np.asarray(state[RESUME_AT], np.float64)
            self._patiently(lambda: self._start_at(obs))
        else:
            self._patiently(lambda: self._env.restore(state))

    def mark_out_of_step(self) -> None:
        """Take notice that some simulator was lost: this one is no longer in step."""
        if self._sent_from is None or not self._columns:
            raise TaskError(f'{self.name}: cannot be put back where it was; resume the run')
        self._out_of_step = True

    def come_back(self, wait_s: float) -> bool:
        """Go back to where the last action left; return False if the simulator is still gone."""
        if self.lost:
            before_s, self._env.timeout_s = self._env.timeout_s, wait_s
            try:
                self._env.wait_for_return()
            except SimulatorLostError:
                return False
            finally:
                self._env.timeout_s = before_s
            self.lost = False
        assert self._sent_from is not None
        self._start_at(self._sent_from)
        return True

    def hurry(self, timeout_s: float) -> None:
        """Wait no longer than this for any answer from now on, one under way included."""
        self._env.timeout_s = min(self._env.timeout_s, timeout_s)

    def close(self) -> None:
        """Give the topics back."""
        self._env.close()

    def _start_at(self, obs: Array) -> None:
        if not self._columns:
            raise TaskError(f'{self.name}: cannot be started at an observation')
        self._noticing_loss(lambda: self._env.reset_to(obs[self._columns]))
        self._obs = obs
        self._out_of_step = False

    def _patiently(self, act: Callable[[], Any]) -> Any:
        """Act as soon as the simulator lets us: before the first action nothing can be lost."""
        while True:
            try:
                return act()
            except SimulatorLostError as error:
                self._log(f'waiting for a sim node: {error}')

    def _noticing_loss(self, act: Callable[[], Any]) -> Any:
        try:
            return act()
        except SimulatorLostError:
            self.lost = True
            raise
