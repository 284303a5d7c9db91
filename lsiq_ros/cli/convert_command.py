# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""``lsiq convert``: files of version 0.1 under the names of today."""

from pathlib import Path
from typing import Annotated

from lsiq_core.errors import ConfigError
import typer


def convert(
    file: Annotated[Path, typer.Argument(help='.npz, .onnx or .safetensors of version 0.1.')],
    out: Annotated[Path | None, typer.Option(help='The file to write; else FILE itself.')] = None,
) -> None:
    """
    Convert a file of version 0.1.

    The base is read by REP-103, settings have their new names.
    Demonstrations and checkpoints of 0.1 load without this; policies must be converted once.
    A converted policy gives the same torques. Experts are trained anew.
    """
    target = out or file
    if not file.is_file():
        raise ConfigError(f'{file}: no such file')
    ways = {'.npz': _states, '.onnx': _network, '.safetensors': _checkpoint}
    if file.suffix not in ways:
        raise ConfigError(f'{file}: expected a file that ends in one of {list(ways)}')
    typer.echo(f'{target}: {ways[file.suffix](file, target)}')


def _states(file: Path, out: Path) -> str:
    from lsiq_core import conversion
    from lsiq_core.data import demonstrations
    from lsiq_core.data.npz_reading import open_npz
    import numpy as np

    frames = open_npz(file, ConfigError).get('frames')
    if frames is None:
        demos = demonstrations.load(file)
        demos.save(out, actions_apart=demonstrations.actions_path(file).exists())
        return f'{len(demos.states)} states of {len(demos.state_names)} terms'
    joints = (frames.shape[1] - len(conversion.OLD_TERMS)) // 2
    terms = [
        *conversion.OLD_POSE,
        *('' for _ in range(joints)),
        *conversion.OLD_TWIST,
        *('' for _ in range(joints)),
    ]
    np.savez_compressed(out, frames=conversion.new_states(frames, terms))
    return f'{len(frames)} frames'


def _network(file: Path, out: Path) -> str:
    from lsiq_core.policy.conversion import convert_policy
    from lsiq_ros.simulator.noisy_expert import is_expert

    if is_expert(file):
        raise ConfigError(f'{file}: an expert is trained anew, not converted: lsiq expert train')
    found = convert_policy(file, out)
    return f'policy, golden torques off by {found.action_error:.1e} of their range'


def _checkpoint(file: Path, out: Path) -> str:
    from lsiq_core import checkpoint

    tensors, header = checkpoint.load(file)
    checkpoint.save(out, tensors, header)
    return f'checkpoint of step {header.get("steps")}'
