# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
Read the arrays of an npz that nobody vouches for.

What its entries claim to unpack to is held against a limit before anything is unpacked,
what an array's header claims is held against its entry before memory is taken, and object
arrays, which only a pickle can hold, are refused by their header.
"""

import math
from pathlib import Path
from typing import Any, IO
import zipfile

from lsiq_core.errors import LsiqError
import numpy as np
from numpy.lib import format as npy
import numpy.typing as npt

MAX_UNPACKED_BYTES = 4 * 2**30
MAX_ARRAYS = 1000


def read_npz(path: Path, max_bytes: int = MAX_UNPACKED_BYTES) -> dict[str, npt.NDArray[Any]]:
    """
    Return all arrays by name.

    :param max_bytes: how much they may take in memory together.
    :raises ValueError: if it is no npz, would be too large or holds objects.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            _check_entries(archive, max_bytes)
        with np.load(path, allow_pickle=False) as arrays:
            return {key: arrays[key] for key in arrays.files}
    except (OSError, EOFError, KeyError, MemoryError, zipfile.BadZipFile) as error:
        raise ValueError(str(error)) from error
    except (NotImplementedError, RuntimeError) as error:  # a method unknown, or encrypted
        raise ValueError(str(error)) from error


def open_npz(path: Path, kind: type[LsiqError]) -> dict[str, npt.NDArray[Any]]:
    """Return all arrays of a file by name; what is wrong with it is an error of this kind."""
    if not path.is_file():
        raise kind(f'{path}: no such file')
    try:
        return read_npz(path)
    except ValueError as error:
        raise kind(f'{path}: not a readable npz without object arrays ({error})') from error


def _check_entries(archive: zipfile.ZipFile, max_bytes: int) -> None:
    entries = archive.infolist()
    claimed = sum(entry.file_size for entry in entries)
    if claimed > max_bytes or len(entries) > MAX_ARRAYS:
        raise ValueError(
            f'{len(entries)} arrays that unpack to {claimed} bytes, at most {MAX_ARRAYS} of '
            f'{max_bytes} bytes are read'
        )
    for entry in entries:
        with archive.open(entry) as stream:
            dtype, shape = _read_header(stream)
        if dtype.hasobject:
            raise ValueError(f'{entry.filename} holds objects')
        if math.prod(shape) * dtype.itemsize > entry.file_size:
            raise ValueError(f'{entry.filename} claims shape {shape}, which it cannot hold')


def _read_header(stream: IO[bytes]) -> tuple[np.dtype[Any], tuple[int, ...]]:
    version = npy.read_magic(stream)
    if version == (1, 0):
        shape, _, dtype = npy.read_array_header_1_0(stream)
    elif version == (2, 0):
        shape, _, dtype = npy.read_array_header_2_0(stream)
    else:
        raise ValueError(f'npy version {version}')
    return dtype, shape
