# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Where the learner's tensors lie."""

from __future__ import annotations

from lsiq_core.config import RunConfig
from lsiq_core.errors import ConfigError
import torch
from torch import Tensor


def learner_device(config: RunConfig) -> torch.device:
    """Return the device that the settings ask for; one that is not there is refused."""
    found = torch.cuda.is_available()
    if config.device == 'cuda' and not found:
        built = 'finds none' if torch.version.cuda else 'is built without CUDA'
        raise ConfigError(
            f'device: cuda, but torch {torch.__version__} {built}; expected a CUDA device here, '
            'or device: auto or cpu'
        )
    return torch.device('cuda' if found and config.device != 'cpu' else 'cpu')


def moved(tensors: dict[str, Tensor], device: torch.device) -> dict[str, Tensor]:
    """Return the same tensors on this device; what is there already is not copied."""
    return {name: tensor.to(device) for name, tensor in tensors.items()}
