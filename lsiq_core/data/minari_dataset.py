# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Demonstrations from Minari datasets, with or without their actions."""

from lsiq_core.data.demonstrations import Demonstrations
from lsiq_core.errors import DemonstrationError
import numpy as np

PREFIX = 'minari:'


def load_minari(dataset_id: str, *, with_actions: bool = True) -> Demonstrations:
    """
    Read a dataset that lies in Minari's local store.

    :param dataset_id: for example ``mujoco/hopper/expert-v0``.
    """
    try:
        import minari
    except ImportError as error:
        raise DemonstrationError(
            f'{PREFIX}{dataset_id}: needs the package minari (pip install "minari[hdf5]")'
        ) from error
    try:
        dataset = minari.load_dataset(dataset_id)
    except (FileNotFoundError, ValueError) as error:
        raise DemonstrationError(
            f'{PREFIX}{dataset_id}: not in the local Minari store ({error}); '
            f'fetch it with: minari download {dataset_id}'
        ) from error
    episodes = list(dataset.iterate_episodes())
    if not episodes:
        raise DemonstrationError(f'{PREFIX}{dataset_id}: holds no episode')
    for number, episode in enumerate(episodes):
        if not isinstance(episode.observations, np.ndarray):
            kind = type(episode.observations).__name__
            raise DemonstrationError(
                f'{PREFIX}{dataset_id}: episode {number} has observations of type {kind}, '
                'only plain vectors can be learned from'
            )
    actions = np.concatenate([np.asarray(episode.actions) for episode in episodes])
    return Demonstrations(
        states=np.concatenate([episode.observations for episode in episodes]),
        episode_lengths=np.array([len(episode.rewards) for episode in episodes]),
        terminated=np.array([bool(episode.terminations[-1]) for episode in episodes]),
        actions=actions if with_actions else None,
        returns=np.array([float(np.sum(episode.rewards)) for episode in episodes]),
        metadata={'task': str(getattr(dataset.env_spec, 'id', '')), 'source': dataset_id},
        source=f'{PREFIX}{dataset_id}',
    )
