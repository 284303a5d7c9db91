# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
What is on the wire in lock-step; see docs/adr/0030-lockstep-over-joint-states.md.

=====================  ==========================  =========================================
topic                  type                        carries
=====================  ==========================  =========================================
``lockstep/task``      std_msgs/String, latched    JSON: session, terms, limits, rate
``lockstep/state``     sensor_msgs/JointState      the observation, term by term, then reward,
                                                   terminated, truncated; all in ``position``
``lockstep/command``   sensor_msgs/JointState      ``effort`` for a step, stamped with the state
                                                   it answers; frame ``<session>/<verb>``
``lockstep/snapshot``  std_msgs/UInt8MultiArray    answer to the verb ``snapshot``: npz bytes
``lockstep/restore``   std_msgs/UInt8MultiArray    npz bytes to continue from
``lockstep/refusal``   std_msgs/String             why the last command was not carried out
=====================  ==========================  =========================================

A step moves the simulator's stamp one control period on, a reset or restore half a second,
so that whoever sees only the stamps can tell episodes apart, and the learner knows the stamp
of the answer before it comes. A command that comes twice is answered twice and carried out
once; ``repeat`` asks for the last state.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
import io
import json
import math
from typing import Any
import zipfile

from lsiq_core.env import Env
from lsiq_core.errors import LsiqError
from lsiq_core.types import Term
from lsiq_ros.wire.joint_state_cdr import JointStateBytes
import numpy as np
import numpy.typing as npt

TASK_TOPIC = 'lockstep/task'
STATE_TOPIC = 'lockstep/state'
COMMAND_TOPIC = 'lockstep/command'
SNAPSHOT_TOPIC = 'lockstep/snapshot'
RESTORE_TOPIC = 'lockstep/restore'
REFUSAL_TOPIC = 'lockstep/refusal'

STEP = 'step'
RESET = 'reset'  # optionally with SEED_NAME in name and the seed in position
RESET_TO = 'reset_to'  # start_names in name, their values in position
SNAPSHOT = 'snapshot'
REPEAT = 'repeat'  # the last state once more, whatever the stamp of the command

SEED_NAME = 'lockstep/seed'
OUTCOME_NAMES = ('lockstep/reward', 'lockstep/terminated', 'lockstep/truncated')
EPISODE_GAP_S = 0.5  # of simulated time between two episodes
LARGEST_SEED = 2**53 - 1  # the largest whole number that a float64 holds with all below it

Arrays = dict[str, npt.NDArray[Any]]


class LockstepError(LsiqError):
    """A command was refused or the two sides do not fit."""


class SimulatorLostError(LockstepError):
    """The simulator does not answer any more; reset goes on when it is back."""


@dataclass(frozen=True)
class TaskDescription:
    """What a learner must know of a simulator before the first exchange."""

    session: str  # new with every start of the simulator
    name: str
    observation_terms: tuple[Term, ...]
    action_terms: tuple[Term, ...]
    action_low: tuple[float, ...]
    action_high: tuple[float, ...]
    rate_hz: float
    max_episode_steps: int
    start_names: tuple[str, ...] = ()  # what an episode can be started at, if at anything

    @classmethod
    def of(cls, env: Env, session: str, start_names: tuple[str, ...] = ()) -> TaskDescription:
        """Describe an env."""
        return cls(
            session=session,
            name=env.name,
            observation_terms=tuple(env.observation_terms),
            action_terms=tuple(env.action_terms),
            action_low=tuple(float(low) for low in env.action_low),
            action_high=tuple(float(high) for high in env.action_high),
            rate_hz=float(env.rate_hz),
            max_episode_steps=int(env.max_episode_steps),
            start_names=start_names,
        )

    @classmethod
    def from_json(cls, text: str) -> TaskDescription:
        """Read what :meth:`to_json` wrote."""
        try:
            fields = json.loads(text)
            for key in ('observation_terms', 'action_terms'):
                fields[key] = tuple(Term(*term) for term in fields[key])
            for key in ('action_low', 'action_high'):
                fields[key] = tuple(float(limit) for limit in fields[key])
            fields['start_names'] = tuple(fields['start_names'])
            return cls(**fields)
        except (TypeError, KeyError, ValueError) as error:
            raise LockstepError(
                f'{TASK_TOPIC}: no task description ({error!r}): {text[:80]!r}'
            ) from error

    def to_json(self) -> str:
        """Return JSON; floats are written so that they come back bit for bit."""
        return json.dumps(asdict(self))

    @property
    def observation_names(self) -> tuple[str, ...]:
        """Return the names of the observation terms in order."""
        return tuple(term.name for term in self.observation_terms)

    @property
    def action_names(self) -> tuple[str, ...]:
        """Return the names of the action terms in order."""
        return tuple(term.name for term in self.action_terms)

    def without_session(self) -> TaskDescription:
        """Return what stays the same when the simulator is started anew."""
        return replace(self, session='')

    @property
    def episode_gap(self) -> int:
        """Return how many ticks lie between the last state of an episode and the next."""
        return math.ceil(EPISODE_GAP_S * self.rate_hz)

    def frame(self, verb: str) -> str:
        """Return the frame_id of a command to this simulator."""
        return f'{self.session}/{verb}'

    def stamp_ns(self, tick: int) -> int:
        """Return the simulated time of a tick."""
        return round(tick * 1_000_000_000 / self.rate_hz)

    def state_layout(self) -> JointStateBytes:
        """Return the bytes of ``lockstep/state``."""
        names = (*self.observation_names, *OUTCOME_NAMES)
        return JointStateBytes(self.session, names, position=len(names))

    def step_layout(self) -> JointStateBytes:
        """Return the bytes of a step on ``lockstep/command``."""
        return JointStateBytes(self.frame(STEP), self.action_names, effort=len(self.action_terms))


def refusal_for(frame_id: str, stamp_ns: int) -> str:
    """Return how a refusal begins, so that its sender recognises it; the reason follows."""
    return f'{frame_id}@{stamp_ns}:'


def pack_arrays(arrays: Arrays) -> bytes:
    """Return plain arrays as an npz."""
    stream = io.BytesIO()
    np.savez(stream, **arrays)  # type: ignore[arg-type]
    return stream.getvalue()


def unpack_arrays(data: bytes) -> Arrays:
    """Read an npz; objects are refused."""
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as archive:
            return {key: archive[key] for key in archive.files}
    except (ValueError, OSError, EOFError, KeyError, zipfile.BadZipFile) as error:
        raise LockstepError(f'{len(data)} bytes are no npz of plain arrays ({error})') from error
