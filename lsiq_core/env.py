# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""What the learner expects of a simulated or real robot."""

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

from lsiq_core.types import Step, Term
import numpy as np
import numpy.typing as npt


class Env(Protocol):
    """A task in its own units: SI observations in, physical actions (N m) out."""

    name: str
    observation_terms: Sequence[Term]  # D of them
    action_terms: Sequence[Term]  # A of them
    action_low: npt.NDArray[np.float64]  # [A]
    action_high: npt.NDArray[np.float64]  # [A]
    rate_hz: float
    max_episode_steps: int

    def reset(self, *, seed: int | None = None) -> npt.NDArray[np.float64]:
        """Start an episode; a seed restarts the task's own randomness."""

    def step(self, action: npt.NDArray[np.float64]) -> Step:
        """Hold the action for one control period."""

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return all that a bit-identical continuation needs, as plain arrays."""

    def restore(self, state: dict[str, npt.NDArray[Any]]) -> None:
        """Continue where :meth:`state` was taken."""

    def close(self) -> None:
        """Release what the task holds."""


def starts_at_expert(number: int, share: float) -> bool:
    """Return whether the simulation with this number does: so many of them, evenly spread."""
    return number * share % 1.0 < share


@runtime_checkable
class StartsAnywhere(Env, Protocol):
    """A task whose episodes can be started exactly at an observation."""

    def reset_to(self, obs: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Start an episode there."""
