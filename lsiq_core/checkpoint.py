# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
Checkpoints: one safetensors file each, replaced atomically, no pickle anywhere.

``last.safetensors`` holds all that a bit-identical continuation needs: parameters, moments,
replay, random states, simulations. ``best.safetensors`` holds the learner's state alone.
The config, counters and versions lie in the file's header as JSON. Tensors are written and read
on the CPU: a file knows nothing of the device of its run.
"""

import json
from pathlib import Path
from typing import Any, NamedTuple

from lsiq_core import conversion
from lsiq_core.atomic import atomic_write
from lsiq_core.config import convert
from lsiq_core.errors import CheckpointError
from safetensors import safe_open, SafetensorError
from safetensors.torch import save_file
import torch
from torch import Tensor

FORMAT = 'lsiq_checkpoint/2'
FORMAT_0_1 = 'lsiq_checkpoint/1'
_RENAMED = {  # parts of tensor names and entries of the header, since version 0.1
    'seen': 'actor_mask',
    'actor_average': 'actor_ema',
    'bonus': 'entropy_critic',
    'bonus_target': 'entropy_critic_target',
    'found_actions': 'refined_actions',
    'prepared': 'pretrained',
}


READS_0_1 = 'reads_0_1'  # columns of the base of a policy that reads it as version 0.1 did


class Checkpoint(NamedTuple):
    """What a checkpoint file holds."""

    tensors: dict[str, Tensor]
    header: dict[str, Any]


def save(path: Path, tensors: dict[str, Tensor], header: dict[str, Any]) -> None:
    """Write a checkpoint, whole or not at all."""
    metadata = {'format': FORMAT, 'header': json.dumps(header)}
    contiguous = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}

    def write(temporary: Path) -> None:
        try:
            save_file(contiguous, temporary, metadata)
        except SafetensorError as error:  # how the library reports a full disk
            raise OSError(str(error)) from error

    atomic_write(path, write)


def load(path: Path) -> Checkpoint:
    """Read a checkpoint; a file that is none is refused with its name."""
    if not path.is_file():
        raise CheckpointError(f'{path}: no such checkpoint')
    try:
        with safe_open(path, framework='pt') as archive:
            metadata = archive.metadata() or {}
            if metadata.get('format') not in (FORMAT, FORMAT_0_1):
                raise CheckpointError(
                    f'{path}: format {metadata.get("format")!r}, expected {FORMAT!r}'
                )
            tensors = {name: archive.get_tensor(name) for name in archive.keys()}  # noqa: SIM118
            found = Checkpoint(tensors, json.loads(metadata['header']))
    except (SafetensorError, OSError, json.JSONDecodeError, KeyError) as error:
        raise CheckpointError(f'{path}: not a readable checkpoint ({error})') from error
    return found if metadata['format'] == FORMAT else _converted(found)


def _converted(old: Checkpoint) -> Checkpoint:
    """Return a checkpoint of version 0.1 under the present names."""
    tensors = {
        '.'.join(_RENAMED.get(part, part) for part in name.split('.')): tensor
        for name, tensor in old.tensors.items()
    }
    header = {_RENAMED.get(name, name): value for name, value in old.header.items()}
    if 'config' in header:
        header['config'] = convert(header['config'])
    observation = header.get('spec', {}).get('observation', [])
    terms = [str(term['name']) for term in observation]
    if conversion.is_old(terms):
        tensors[f'learner.{READS_0_1}'] = torch.tensor(conversion.old_columns(terms))
        for term, name in zip(observation, conversion.new_terms(terms)):
            term['name'] = name
    return Checkpoint(tensors, header)


def part(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """Return the entries below a prefix, without it."""
    start = f'{prefix}.'
    return {name.removeprefix(start): t for name, t in tensors.items() if name.startswith(start)}


def find(run: Path, prefer: str = 'best') -> Path:
    """Return the checkpoint file of a run directory, or the file itself if one was named."""
    if run.is_file():
        return run
    names = ('best', 'last') if prefer == 'best' else ('last', 'best')
    for name in names:
        candidate = run / f'{name}.safetensors'
        if candidate.is_file():
            return candidate
    raise CheckpointError(
        f'{run}: neither best.safetensors nor last.safetensors lies there'
        + ('' if run.exists() else '; there is no such directory')
    )
