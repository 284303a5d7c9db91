# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""``python -m sim.expert.stride EXPERT.onnx``: write the frames that Atlas episodes start at."""

from __future__ import annotations

from pathlib import Path
import sys

import numpy as np
from sim.atlas.resets import STRIDE
from sim.expert.collect import collect
from sim.expert.controller import ExpertController

_EPISODES = 8
_SETTLED = 300  # steps until the walk is steady
_EVERY = 7  # steps between two frames


def main(expert: Path) -> None:
    """Let the expert walk without noise and keep some frames of its steady walk."""
    walks = collect(ExpertController(expert), episodes=_EPISODES, noise=(0.0, 0.0), seed=1)
    frames = np.concatenate([walk.kinematic[_SETTLED::_EVERY] for walk in walks])
    np.savez_compressed(STRIDE, frames=frames.astype(np.float32))
    print(f'{STRIDE.name}: {len(frames)} frames')


if __name__ == '__main__':
    main(Path(sys.argv[1]))
