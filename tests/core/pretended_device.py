# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
Tensors that say they are on another device and are computed on the CPU, to try whole runs with.

They take the name ``meta``: the CPU build of torch aborts where a gradient is taken of tensors
named ``cuda``, fake ones too. An operation on tensors of both devices is refused, here even
where one is a lone number, which CUDA would take.
"""

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

ACROSS = (torch.ops.aten._to_copy.default, torch.ops.aten.copy_.default)


class Pretended(Tensor):
    @staticmethod
    def __new__(cls, held):
        return Tensor._make_wrapper_subclass(
            *(cls, held.shape, held.stride(), held.storage_offset()),
            dtype=held.dtype,
            device='meta',
        )

    def __init__(self, held):
        self.held = held

    def __repr__(self):
        return f'pretended {self.held!r}'

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return computed(func, args, kwargs or {})


class PretendedDevice(TorchDispatchMode):
    """Within it what is made on ``meta`` or moved there has numbers."""

    def __init__(self, monkeypatch):
        super().__init__()
        made = torch.tensor  # for meta it would not ask this mode

        def tensor(data, device='cpu', **options):
            return made(data, **options).to(device)

        monkeypatch.setattr(torch, 'tensor', tensor)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return computed(func, args, kwargs or {})


def computed(func, args, kwargs):
    """Compute an operation on what the tensors hold."""
    given = [each for each in tree_leaves((args, kwargs)) if isinstance(each, Tensor)]
    there = [isinstance(each, Pretended) for each in given]
    if len(set(there)) > 1 and func not in ACROSS:
        raise RuntimeError(f'{func}: tensors of two devices')
    moves = there[0] if there else False
    if kwargs.get('device') is not None:
        moves = torch.device(kwargs['device']).type == 'meta'
        kwargs = {**kwargs, 'device': torch.device('cpu')}
    own = {id(each.held): each for each in given if isinstance(each, Pretended)}
    args, kwargs = tree_map(lambda x: x.held if isinstance(x, Pretended) else x, (args, kwargs))

    def back(value):
        if not moves or not isinstance(value, Tensor):
            return value
        return own[id(value)] if id(value) in own else Pretended(value)

    return tree_map(back, func(*args, **kwargs))
