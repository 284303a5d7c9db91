# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""What the stages of the pretraining have in common: they can be left and taken up again."""

from __future__ import annotations

from typing import ClassVar

from lsiq_core.job import StageProgress
import torch
from torch import Tensor


class Stage:
    """Work that keeps all it takes to go on in attributes, each a tensor or a number."""

    KEPT: ClassVar[tuple[str, ...]]

    @property
    def progress(self) -> StageProgress:
        """Return how far it is."""
        raise NotImplementedError

    def state(self) -> dict[str, Tensor]:
        """Return what a checkpoint keeps; the learner and the simulation keep their own."""
        return {name: torch.as_tensor(getattr(self, name)).clone() for name in self.KEPT}

    def restore(self, kept: dict[str, Tensor]) -> None:
        """Go on where :meth:`state` was taken, on whatever device the stage has its tensors."""
        for name in self.KEPT:
            own = getattr(self, name)
            here = isinstance(own, Tensor)
            setattr(self, name, kept[name].to(own.device) if here else kept[name].item())
