# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""``python -m sim.tracking.stride EXPERT.onnx [ROBOT]``: write where episodes start."""

from __future__ import annotations

from pathlib import Path
import sys

import numpy as np
from sim.tracking.collect import collect
from sim.tracking.controller import ExpertController

_EPISODES = 8
_SETTLED = 300  # steps until the walk is steady
_EVERY = 7  # steps between two frames


def main(expert: Path, robot: str = 'atlas') -> None:
    """Let the expert walk without noise and keep some frames of its steady walk."""
    controller = ExpertController(expert, robot)
    path = controller.robot.folder / (controller.robot.reset.frames or 'stride.npz')
    walks = collect(controller, episodes=_EPISODES, noise=(0.0, 0.0), seed=1)
    frames = np.concatenate([walk.kinematic[_SETTLED::_EVERY] for walk in walks])
    np.savez_compressed(path, frames=frames.astype(np.float32))
    print(f'{path}: {len(frames)} frames')


if __name__ == '__main__':
    main(Path(sys.argv[1]), *sys.argv[2:])
