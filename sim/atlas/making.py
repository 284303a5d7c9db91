# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Make Atlas from plain options, as a configuration file or a command line has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from sim.atlas.config import AtlasConfig
from sim.atlas.env import AtlasEnv
from sim.atlas.variations import Variations

Array = npt.NDArray[np.floating]


def make_atlas(
    spec: str = 'kinematic',
    *,
    upper_body: bool = False,
    max_episode_steps: int = 1000,
    start: str = 'stride',
    variations: Variations | Mapping[str, Any] | None = None,
    reset_frames: Array | None = None,
    seed: int = 0,
) -> AtlasEnv:
    """
    Make the walking task.

    :param spec: what is observed: ``kinematic``, ``full`` or ``paper``.
    :param upper_body: drive back and arms, too.
    :param max_episode_steps: time limit, in control steps.
    :param start: ``stride``, the expert's steady walk, or ``gait``, the formula it grew from.
    :param variations: how worlds differ; a mapping names the fields of ``Variations``.
    :param reset_frames: [F, 30] or [F, 42] observed states that episodes start at.
    :param seed: of everything random.
    """
    if not isinstance(variations, Variations):
        # Files have lists where we have pairs.
        fields: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in (variations or {}).items()
        }
        variations = Variations(**fields)
    config = AtlasConfig(
        observation=spec,
        upper_body=upper_body,
        max_episode_steps=max_episode_steps,
        start=start,
        variations=variations,
    )
    return AtlasEnv(config, reset_frames=reset_frames, seed=seed)
