# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Files that want to run code, fill the memory or read what is not theirs."""

from __future__ import annotations

import io
from pathlib import Path
import pickle
import struct
import zipfile

from lsiq_core import checkpoint, config
from lsiq_core.data.demonstrations import load
from lsiq_core.data.npz_reading import read_npz
from lsiq_core.errors import CheckpointError, ConfigError, DemonstrationError
import numpy as np
from numpy.lib import format as npy
import pytest


class Bomb:
    """Whoever unpickles it leaves a file behind."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self):
        return Path.touch, (self.mark,)


@pytest.fixture
def mark(tmp_path: Path) -> Path:
    """Return a file that exists once a bomb went off."""
    path = tmp_path / 'bomb_went_off'
    pickle.loads(pickle.dumps(Bomb(path)))
    assert path.exists(), 'a bomb that cannot go off proves nothing'
    path.unlink()
    return path


def npz_of(path: Path, **members: bytes) -> Path:
    with zipfile.ZipFile(path, 'w', zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(f'{name}.npy', content)
    return path


def npy_claiming(shape: tuple[int, ...], content: bytes = b'') -> bytes:
    stream = io.BytesIO()
    npy.write_array_header_1_0(stream, {'descr': '<f8', 'fortran_order': False, 'shape': shape})
    return stream.getvalue() + content


def test_a_pickle_among_demonstrations_is_not_run(tmp_path: Path, mark: Path) -> None:
    np.savez(tmp_path / 'objects.npz', states=np.array([Bomb(mark)], dtype=object))
    npz_of(tmp_path / 'plain.npz', states=pickle.dumps(Bomb(mark)))
    (tmp_path / 'whole.npz').write_bytes(pickle.dumps(Bomb(mark)))
    for path in tmp_path.glob('*.npz'):
        with pytest.raises(DemonstrationError, match='not a readable npz'):
            load(path)
    assert not mark.exists()


def test_an_npz_that_would_fill_the_memory_is_not_unpacked(tmp_path: Path) -> None:
    """A hundred megabytes of zeros in a hundred kilobytes; limits are checked before."""
    path = npz_of(tmp_path / 'bomb.npz', states=npy_claiming((12_500_000,), bytes(100_000_000)))
    assert path.stat().st_size < 200_000
    with pytest.raises(ValueError, match='at most 1000 of 1000000 bytes'):
        read_npz(path, max_bytes=1_000_000)
    assert len(read_npz(path)['states']) == 12_500_000


def test_an_array_that_claims_more_than_it_holds_takes_no_memory(tmp_path: Path) -> None:
    path = npz_of(tmp_path / 'liar.npz', states=npy_claiming((2**50,), bytes(80)))
    with pytest.raises(DemonstrationError, match='cannot hold'):
        load(path)


@pytest.mark.parametrize(
    'content',
    [
        struct.pack('<Q', 2**62) + b'{}',
        struct.pack('<Q', 2) + b'{}' + b'trailing',
        b'\x00' * 4,
        None,
    ],
    ids=['endless header', 'no tensors', 'cut off', 'pickle'],
)
def test_a_hostile_checkpoint_is_refused(tmp_path: Path, mark: Path, content) -> None:
    path = tmp_path / 'best.safetensors'
    path.write_bytes(pickle.dumps(Bomb(mark)) if content is None else content)
    with pytest.raises(CheckpointError, match=r'best\.safetensors'):
        checkpoint.load(path)
    assert not mark.exists()


def test_tags_in_settings_build_no_objects(tmp_path: Path, mark: Path) -> None:
    call = f'!!python/object/apply:os.system ["touch {mark}"]'
    path = tmp_path / 'config.yaml'
    path.write_text(f'training: {call}\n')
    with pytest.raises(ConfigError, match='not YAML'):
        config.read_yaml(path)
    with pytest.raises(ConfigError, match='is not YAML'):
        config.override(f'training.steps={call}')
    assert not mark.exists()


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        ('a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n', 'alias'),
        ('a: ' + 1_000_000 * 'x', 'longer than 1000000'),
        ('[' * 5000, 'nested too deeply|not YAML'),
    ],
    ids=['aliases of aliases', 'too long', 'too deep'],
)
def test_settings_that_would_take_for_ever_are_refused(tmp_path, text, message):
    path = tmp_path / 'config.yaml'
    path.write_text(text)
    with pytest.raises(ConfigError, match=message):
        config.read_yaml(path)
