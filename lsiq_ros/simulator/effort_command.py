# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
The effort that acts on the robot in real time: the last good command, and not for ever.

A ForwardCommandController holds its last command until the next; a simulator that does
so hides a dead controller. Here torque goes to zero when none came for too long.
"""

from collections.abc import Callable, Sequence
import threading
import time

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
_WAIT_S = 0.05  # so that a stop is noticed
_QUIET_S, _MOST_DRAINED = 0.02, 10


class EffortCommand:
    """
    Keep the last good command.

    :param timeout_s: real seconds after which a command is too old; 0 for never.
    """

    def __init__(
        self,
        joints: tuple[str, ...],
        timeout_s: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._joints, self._timeout_s, self._clock = joints, timeout_s, clock
        self._effort = np.zeros(len(joints))
        self._came_s: float | None = None
        self._new = threading.Event()
        self.last_refusal = ''

    def offer(self, effort_nm: Sequence[float]) -> bool:
        """Take a command if it fits; return whether it did."""
        effort = np.array(effort_nm, np.float64)
        if effort.shape != (len(self._joints),):
            return self._refuse(
                f'{effort.size} efforts, expected {len(self._joints)}: {list(self._joints)}'
            )
        if not np.isfinite(effort).all():
            bad = [joint for joint, value in zip(self._joints, effort) if not np.isfinite(value)]
            return self._refuse(f'effort not finite: {bad}')
        self._effort = effort
        self._came_s = self._clock()
        self._new.set()
        return True

    def asked(self) -> None:
        """Note that a state goes out, which the next command answers."""
        self._new.clear()

    def drain(self, quiet_s: float = _QUIET_S) -> None:
        """Let commands pass that answer earlier states: until none comes, if that happens."""
        for _ in range(_MOST_DRAINED):
            self._new.clear()
            if not self._new.wait(quiet_s):
                return

    def wait(self, stop: threading.Event) -> None:
        """Wait for an answer, as long as answers come at all."""
        while not (self.waiting or self.stale or stop.is_set()):
            if self._new.wait(_WAIT_S):
                return

    @property
    def waiting(self) -> bool:
        """Return whether no command has come since the last :meth:`forget`."""
        return self._came_s is None

    @property
    def stale(self) -> bool:
        """Return whether commands came and then stopped coming."""
        if self._came_s is None or not self._timeout_s:
            return False
        return self._clock() - self._came_s > self._timeout_s

    def effort_nm(self) -> Array:
        """Return what acts now."""
        return np.zeros(len(self._joints)) if self.waiting or self.stale else self._effort

    def forget(self) -> None:
        """Begin anew after a reset."""
        self._came_s = None

    def _refuse(self, reason: str) -> bool:
        self.last_refusal = reason
        return False
