# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""The same update, compiled into one graph where the machine can."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
import shutil
from typing import Any

from lsiq_core.errors import ConfigError
from lsiq_core.learning.learner import Learner
import torch
import torch._dynamo

_MOST_VARIANTS = 64  # different updates that one process may compile, one run after the other


def functional_gradient(loss: Any, parameters: torch.Tensor, *inputs: Any) -> Any:
    """Return gradient and metrics in a form that a full-graph compilation can trace."""
    return torch.func.grad(loss, has_aux=True)(parameters, *inputs)


def has_compiler() -> bool:
    """Return whether a C++ compiler, which the compilation needs, is at hand."""
    return any(shutil.which(name) for name in ('g++', 'c++', 'clang++'))


def update_function(
    learner: Learner, device: torch.device | str = 'cpu'
) -> tuple[Callable[..., Any], str]:
    """
    Return the update as the config asks for it, and which way it is: compiled or eager.

    Both take the same gradients of the same losses; rounding apart, they give the same
    numbers (tests/core/test_learner.py).

    :param device: of the learner's tensors; for CUDA torch compiles with Triton.
    """
    wanted = learner.config.compile
    if wanted == 'never':
        return learner.update, 'eager'
    if not has_compiler():
        if wanted == 'always':
            raise ConfigError('compile: always, but no C++ compiler (g++, c++, clang++) was found')
        return learner.update, 'eager (no C++ compiler found)'
    if torch.device(device).type == 'cuda' and find_spec('triton') is None:
        if wanted == 'always':
            raise ConfigError('compile: always, but Triton, which CUDA needs, was not found')
        return learner.update, 'eager (no Triton found)'
    update = partial(learner.update, gradient=functional_gradient)
    # All learners share the code, so that a second seed finds it compiled; torch's limit of 8
    # would then end a grid at its ninth variant.
    limits = torch._dynamo.config
    known = 'recompile_limit' if hasattr(limits, 'recompile_limit') else 'cache_size_limit'
    setattr(limits, known, _MOST_VARIANTS)
    return torch.compile(update, fullgraph=True, dynamic=False), 'compiled'
