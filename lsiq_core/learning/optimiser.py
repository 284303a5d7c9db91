# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Adam and the target average on a state of named flat vectors."""

from __future__ import annotations

import torch
from torch import Tensor

State = dict[str, Tensor]

_BETA1, _BETA2, _EPSILON = 0.9, 0.999, 1e-8


def with_moments(name: str, parameters: Tensor) -> State:
    """Return the entries that :func:`adam` needs for these parameters."""
    return {
        name: parameters,
        f'{name}.mean': torch.zeros_like(parameters),
        f'{name}.square': torch.zeros_like(parameters),
    }


def adam(state: State, name: str, gradient: Tensor, rate: Tensor) -> State:
    """
    Return the entries of ``state`` that one Adam step changes.

    :param state: holds ``updates`` (steps done so far) beside the parameters.
    :param name: which parameters to move.
    :param gradient: of the loss with respect to them.
    :param rate: learning rate, a tensor so that a schedule needs no recompilation.
    """
    step = state['updates'] + 1.0
    mean = torch.lerp(state[f'{name}.mean'], gradient, 1.0 - _BETA1)
    square = (_BETA2 * state[f'{name}.square']).addcmul_(gradient, gradient, value=1.0 - _BETA2)
    # The bias corrections are folded into two scalars: fewer passes over the parameters.
    unbias = (1.0 - _BETA2**step).sqrt()
    length = rate * unbias / (1.0 - _BETA1**step)
    moved = state[name].addcdiv(mean * -length, square.sqrt().add_(_EPSILON * unbias))
    return {name: moved, f'{name}.mean': mean, f'{name}.square': square}
