# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Files that appear whole or not at all."""

from collections.abc import Callable
import os
from pathlib import Path
import tempfile

from lsiq_core.errors import LsiqError


def atomic_write(path: Path, write: Callable[[Path], object]) -> None:
    """
    Let ``write`` fill a temporary file beside ``path``, then put it in its place.

    A process killed at any moment leaves either the old file or the new one; a full disk
    leaves the old one and nothing beside it.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f'.{path.name}.', suffix='.tmp')
    except OSError as error:
        raise _refusal(path, error) from error
    os.close(handle)
    temporary = Path(name)
    try:
        write(temporary)
        with open(temporary, 'rb') as stream:
            os.fsync(stream.fileno())
        temporary.chmod(0o644)
        os.replace(temporary, path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise _refusal(path, error) from error
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _refusal(path: Path, error: OSError) -> LsiqError:
    kept = '; the file that is there was left as it was' if path.exists() else ''
    return LsiqError(f'{path}: cannot be written ({error.strerror or error}){kept}')


def write_text(path: Path, text: str) -> None:
    """Write a text file, whole or not at all."""
    atomic_write(path, lambda temporary: temporary.write_text(text, encoding='utf-8'))
