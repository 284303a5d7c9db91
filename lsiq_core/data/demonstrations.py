# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
Demonstrations of an expert: states, and actions where they are known.

The file is an npz without pickles:

=====================  =============  ====================================================
key                    shape          meaning
=====================  =============  ====================================================
``schema``             scalar str     ``lsiq_demos/1``
``states``             [sum T+1, D]   episodes one after the other, each one state longer
                                      than it has transitions
``observed``           [sum T+1, D]   optional, the same states as the expert's sensors said
                                      them, where noise and delay are known
``episode_lengths``    [E] int        transitions T of each episode, at least one
``terminated``         [E] bool       whether the last state of the episode is absorbing
``actions``            [sum T, A]     optional, in the task's own units (N m)
``returns``            [E] float      optional, the task's metric summed over the episode
``state_names``        [D] str        optional, ``knee_angle_l/position`` and the like
``action_names``       [A] str        optional
``rate_hz``            scalar float   optional, control rate
``metadata``           scalar str     optional, JSON: task, source, seed, anything
=====================  =============  ====================================================

Actions may live in a file of their own (``walk.actions.npz`` beside ``walk.npz``) with
the keys ``schema``, ``actions``, ``action_names`` and ``states_sha256``, so that what
learns from states alone never has them in its hands.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
import hashlib
import json
from pathlib import Path
from typing import Any

from lsiq_core.atomic import atomic_write
from lsiq_core.conversion import is_old, new_states, new_terms
from lsiq_core.data.npz_reading import open_npz
from lsiq_core.errors import DemonstrationError
from lsiq_core.types import Array
import numpy as np

SCHEMA = 'lsiq_demos/1'
ACTIONS_SCHEMA = 'lsiq_demo_actions/1'

_OFTEN = 0.01  # of the states: a value that is at its extremes as often is clipped there
_RATE = 0.99  # correlation of a velocity with what its position moves by
_ENOUGH = 2000  # transitions to see that
_VALUES = 20  # a column that has not more is no measured value


@dataclass(frozen=True)
class Demonstrations:
    """Episodes of an expert, checked on construction."""

    states: Array  # [sum T+1, D]
    episode_lengths: Array  # [E]
    terminated: Array  # [E]
    actions: Array | None = None  # [sum T, A]
    returns: Array | None = None  # [E]
    state_names: tuple[str, ...] = ()
    action_names: tuple[str, ...] = ()
    rate_hz: float | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    source: str = 'demonstrations'
    observed: Array | None = None  # [sum T+1, D]

    def __post_init__(self) -> None:
        """Refuse what cannot be trained on, naming where it stands."""
        _check(self)

    @property
    def num_episodes(self) -> int:
        """Return how many episodes there are."""
        return len(self.episode_lengths)

    @property
    def num_transitions(self) -> int:
        """Return how many (s, s') pairs there are."""
        return int(self.episode_lengths.sum())

    @cached_property
    def sha256(self) -> str:
        """Return a hash of the states and their episodes, whatever file they came from."""
        digest = hashlib.sha256()
        for array in (
            self.states.astype('<f4'),
            self.episode_lengths.astype('<i8'),
            self.terminated.astype('?'),
        ):
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()

    def return_of(self, steps: int) -> float | None:
        """Return what episodes of so many steps bring; one that was cut would go on alike."""
        if self.returns is None:
            return None
        return float((self.returns * self._lengths_of(steps) / self.episode_lengths).mean())

    def length_of(self, steps: int) -> float:
        """Return how long episodes of at most so many steps are, as :meth:`return_of` has them."""
        return float(self._lengths_of(steps).mean())

    def _lengths_of(self, steps: int) -> Array:
        cut = ~self.terminated.astype(bool) & (self.episode_lengths < steps)
        return np.where(cut, steps, self.episode_lengths)

    @cached_property
    def clipped_share(self) -> float:
        """Return the share of states in which a velocity stands at the edge of its clipping."""
        states, edge = self.states, np.zeros(len(self.states), bool)
        for number, column in enumerate(states.T):
            at = (column == column.min()) | (column == column.max())
            # A contact is 0 or 1 and no clipped value; what is not clipped has few extremes.
            if at.mean() > _OFTEN and len(np.unique(column)) > _VALUES:
                edge |= at & self._is_rate(number, ~at)
        return float(edge.mean())

    def _is_rate(self, number: int, inside: Array) -> bool:
        """
        Return whether a column is the velocity of another one.

        A motor's force stands at its limit, too, and is no velocity: nothing is hidden there.

        :param inside: [N] bool, the states in which the column is not at its edges.
        """
        within = np.ones(len(self.states) - 1, bool)
        within[np.cumsum(self.episode_lengths[:-1] + 1) - 1] = False  # from episode to episode
        within &= inside[1:] & inside[:-1]
        places = np.flatnonzero(within)[:_ENOUGH]
        if len(places) < _VALUES:
            return False
        before, after = (self.states[rows].astype(np.float64) for rows in (places, places + 1))
        changes, rate = after - before, (after + before)[:, number] / 2
        changes, rate = changes - changes.mean(0), rate - rate.mean()
        size = np.linalg.norm(changes, axis=0) * np.linalg.norm(rate)
        return bool((np.abs(rate @ changes) > _RATE * np.maximum(size, 1e-12)).any())

    def state_slices(self) -> Iterator[slice]:
        """Yield where each episode's T+1 states stand."""
        first = 0
        for length in self.episode_lengths:
            last = first + int(length) + 1
            yield slice(first, last)
            first = last

    def without_actions(self) -> Demonstrations:
        """Return the same states with no action left in reach."""
        return replace(self, actions=None, action_names=())

    def of_terms(self, wanted: tuple[str, ...]) -> Demonstrations:
        """Return the same episodes with these states alone, in this order."""
        missing = sorted(set(wanted) - set(self.state_names))
        if missing:
            raise DemonstrationError(f'{self.source}: has no state named {missing}')
        columns = [self.state_names.index(name) for name in wanted]
        seen = None if self.observed is None else self.observed[:, columns]
        return replace(
            self, states=self.states[:, columns], observed=seen, state_names=tuple(wanted)
        )

    def first(self, episodes: int) -> Demonstrations:
        """Return the first so many episodes."""
        if not 1 <= episodes <= self.num_episodes:
            raise DemonstrationError(
                f'{self.source}: {episodes} episodes asked for, it holds {self.num_episodes}'
            )
        lengths = self.episode_lengths[:episodes]
        transitions = int(lengths.sum())
        return replace(
            self,
            states=self.states[: transitions + episodes],
            observed=None if self.observed is None else self.observed[: transitions + episodes],
            episode_lengths=lengths,
            terminated=self.terminated[:episodes],
            actions=None if self.actions is None else self.actions[:transitions],
            returns=None if self.returns is None else self.returns[:episodes],
        )

    def save(self, path: Path | str, *, actions_apart: bool = False) -> None:
        """
        Write the npz, whole or not at all.

        :param path: the file to write; must end in ``.npz``.
        :param actions_apart: put the actions into ``<stem>.actions.npz`` beside it.
        """
        path = Path(path)
        arrays: dict[str, Array] = {
            'schema': np.array(SCHEMA),
            'states': self.states,
            'episode_lengths': self.episode_lengths,
            'terminated': self.terminated,
            'metadata': np.array(json.dumps(self.metadata)),
        }
        if self.returns is not None:
            arrays['returns'] = self.returns
        if self.observed is not None:
            arrays['observed'] = self.observed
        if self.state_names:
            arrays['state_names'] = np.array(self.state_names)
        if self.rate_hz is not None:
            arrays['rate_hz'] = np.array(self.rate_hz)
        actions: dict[str, Array] = {}
        if self.actions is not None:
            actions = {'actions': self.actions, 'action_names': np.array(self.action_names)}
        if actions_apart and actions:
            apart = {
                'schema': np.array(ACTIONS_SCHEMA),
                'states_sha256': np.array(self.sha256),
                **actions,
            }
            _write_npz(actions_path(path), apart)
        else:
            arrays |= actions
        _write_npz(path, arrays)


def lost_digits(demos: Demonstrations) -> list[str]:
    """Say what half-precision files have rounded away: about three digits are left of a value."""
    said = []
    parts = {'states': (demos.states, demos.state_names)}
    if demos.actions is not None:
        parts['actions'] = (demos.actions, demos.action_names)
    for kind, (values, names) in parts.items():
        if values.dtype == np.float16:
            largest = np.abs(values).max(0)
            steps = np.spacing(largest).astype(float)
            worst = int(steps.argmax())
            name = names[worst] if names else f'column {worst}'
            said.append(
                f'{demos.source}: {kind} are half precision (float16): {name}, up to '
                f'{float(largest[worst]):g}, is known to {steps[worst]:g} only; export them as '
                'float32'
            )
    return said


def actions_path(path: Path) -> Path:
    """Return where the actions of a demonstration file lie when they are kept apart."""
    return path.with_name(f'{path.stem}.actions.npz')


def load(path: Path | str, *, with_actions: bool = True) -> Demonstrations:
    """
    Load a demonstration file: our schema, or the layout of exported Gym episodes.

    :param with_actions: also take the actions, from this file or from the one beside it.
    """
    path = Path(path)
    arrays = open_npz(path, DemonstrationError)
    if 'states' not in arrays and 'observations' in arrays:
        arrays = _from_gym_layout(path, arrays)
    for key in ('states', 'episode_lengths'):
        if key not in arrays:
            raise DemonstrationError(
                f'{path}: no array {key!r}, found {sorted(arrays)}; the schema is described '
                'in lsiq_core/data/demonstrations.py'
            )
    states = arrays['states']
    lengths = arrays['episode_lengths']
    if with_actions and 'actions' not in arrays and actions_path(path).exists():
        arrays |= _read_actions_apart(path)
    actions = arrays.get('actions') if with_actions else None
    demos = Demonstrations(
        states=states,
        episode_lengths=lengths,
        terminated=arrays.get('terminated', np.zeros(lengths.shape, bool)),
        actions=actions,
        returns=arrays.get('returns'),
        state_names=_strings(arrays.get('state_names')),
        action_names=_strings(arrays.get('action_names')) if actions is not None else (),
        rate_hz=float(arrays['rate_hz']) if 'rate_hz' in arrays else None,
        metadata=_json(path, arrays, 'metadata'),
        source=str(path),
        observed=arrays.get('observed'),
    )
    expected = str(arrays.get('states_sha256', demos.sha256))
    if expected != demos.sha256:
        raise DemonstrationError(
            f'{actions_path(path)}: belongs to states with hash {expected[:12]}..., '
            f'{path.name} has {demos.sha256[:12]}...'
        )
    if is_old(demos.state_names):
        states = new_states(demos.states, demos.state_names)
        demos = replace(demos, states=states, state_names=new_terms(demos.state_names))
    return demos


def _read_actions_apart(path: Path) -> dict[str, Array]:
    arrays = open_npz(actions_path(path), DemonstrationError)
    wanted = {'actions', 'action_names', 'states_sha256'}
    missing = wanted - set(arrays)
    if missing:
        raise DemonstrationError(f'{actions_path(path)}: no array {sorted(missing)}')
    return {key: arrays[key] for key in wanted}


def _from_gym_layout(path: Path, arrays: dict[str, Array]) -> dict[str, Array]:
    """Rename what exported Gym episodes call observations, env_id and env_kwargs."""
    metadata: dict[str, Any] = {}
    if 'env_id' in arrays:
        metadata['task'] = str(arrays['env_id'])
    if 'env_kwargs' in arrays:
        metadata['env_kwargs'] = _json(path, arrays, 'env_kwargs')
    renamed = {**arrays, 'states': arrays['observations']}
    renamed['metadata'] = np.array(json.dumps(metadata))
    return renamed


def _write_npz(path: Path, arrays: dict[str, Array]) -> None:
    def write(temporary: Path) -> None:
        with open(temporary, 'wb') as stream:
            np.savez_compressed(stream, **arrays)  # type: ignore[arg-type]

    atomic_write(path, write)


def _strings(array: Array | None) -> tuple[str, ...]:
    return () if array is None else tuple(str(name) for name in array.ravel())


def _json(path: Path, arrays: dict[str, Array], key: str) -> dict[str, Any]:
    """Return an array that holds a JSON object; an empty one where there is none."""
    try:
        found = json.loads(str(arrays.get(key, '{}')))
    except json.JSONDecodeError as error:
        raise DemonstrationError(f'{path}: {key} is not JSON ({error})') from error
    if not isinstance(found, dict):
        raise DemonstrationError(f'{path}: {key} is {type(found).__name__}, not an object')
    return found


def _check(demos: Demonstrations) -> None:
    where = demos.source
    states, lengths = demos.states, demos.episode_lengths
    _check_numbers(where, 'states', states, dimensions=2)
    if lengths.ndim != 1 or lengths.dtype.kind not in 'iu' or len(lengths) == 0:
        raise DemonstrationError(
            f'{where}: episode_lengths must be a non-empty list of whole numbers, '
            f'found {lengths.dtype} {lengths.shape}'
        )
    short = np.flatnonzero(lengths < 1)
    if len(short):
        raise DemonstrationError(
            f'{where}: episode {short[0]} has {int(lengths[short[0]]) + 1} states, '
            'a transition needs two'
        )
    wanted_rows = int(lengths.sum()) + len(lengths)
    if len(states) != wanted_rows:
        raise DemonstrationError(
            f'{where}: states has {len(states)} rows, {len(lengths)} episodes with '
            f'{int(lengths.sum())} transitions need {wanted_rows} (one more per episode)'
        )
    if demos.observed is not None:
        _check_numbers(where, 'observed', demos.observed, dimensions=2)
        if demos.observed.shape != states.shape:
            raise DemonstrationError(
                f'{where}: observed has shape {demos.observed.shape}, states has {states.shape}; '
                'both show the same states'
            )
    _check_per_episode(where, 'terminated', demos.terminated, len(lengths))
    if demos.actions is not None:
        _check_numbers(where, 'actions', demos.actions, dimensions=2)
        if len(demos.actions) != int(lengths.sum()):
            raise DemonstrationError(
                f'{where}: actions has {len(demos.actions)} rows, the episodes have '
                f'{int(lengths.sum())} transitions'
            )
        _check_names(where, 'action_names', demos.action_names, demos.actions.shape[1])
    if demos.returns is not None:
        _check_per_episode(where, 'returns', demos.returns, len(lengths))
    _check_names(where, 'state_names', demos.state_names, states.shape[1])
    if demos.rate_hz is not None and not demos.rate_hz > 0:
        raise DemonstrationError(f'{where}: rate_hz is {demos.rate_hz}, must be positive')


def _check_numbers(where: str, name: str, array: Array, *, dimensions: int) -> None:
    if array.dtype.kind not in 'fiu' or array.ndim != dimensions or 0 in array.shape:
        raise DemonstrationError(
            f'{where}: {name} must be a non-empty {dimensions}-dimensional array of numbers, '
            f'found {array.dtype} {array.shape}'
        )
    bad = np.argwhere(~np.isfinite(array))
    if len(bad):
        raise DemonstrationError(
            f'{where}: {name} has {len(bad)} values that are not finite, the first in row '
            f'{bad[0][0]}, column {bad[0][-1]}'
        )


def _check_per_episode(where: str, name: str, array: Array, episodes: int) -> None:
    if array.shape != (episodes,) or array.dtype.kind not in 'bfiu':
        raise DemonstrationError(
            f'{where}: {name} is {array.dtype} {array.shape}, expected one value for each of '
            f'{episodes} episodes'
        )


def _check_names(where: str, name: str, names: tuple[str, ...], wanted: int) -> None:
    if names and (len(names) != wanted or len(set(names)) != wanted):
        raise DemonstrationError(
            f'{where}: {name} has {len(names)} names ({len(set(names))} distinct), '
            f'{wanted} columns need one each'
        )
