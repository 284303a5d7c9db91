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
``lockstep/setup``     UInt8MultiArray, latched    from the learner, what to run: npz bytes of
                                                   :class:`SimulatorSetup`
``lockstep/task``      std_msgs/String, latched    JSON: session, terms, limits, rate; or why the
                                                   setup was refused
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

The setup goes to the node, all else to each of its robots: below ``robot_0``, ``robot_1``, ...
where there are several. It is latched, so a simulator that was started anew hears it again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
import hashlib
import io
import json
import math
from typing import Any
import zipfile

from lsiq_core.env import Env
from lsiq_core.errors import LsiqError
from lsiq_core.types import names, Term
from lsiq_ros.wire.cdr import JointStateWriter
import numpy as np
import numpy.typing as npt
from pydantic import TypeAdapter

SETUP_TOPIC = 'lockstep/setup'
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
REFUSED = 'refused'  # instead of a task description: why there is none
OUTCOME_NAMES = ('lockstep/reward', 'lockstep/terminated', 'lockstep/truncated')
EPISODE_GAP_S = 0.5  # of simulated time between two episodes

Arrays = dict[str, npt.NDArray[Any]]


class LockstepError(LsiqError):
    """A command was refused or the two sides do not fit."""


class SimulatorLostError(LockstepError):
    """The simulator does not answer any more; reset goes on when it is back."""


@dataclass(frozen=True, eq=False)
class SimulatorSetup:
    """What a learner tells a simulator to run."""

    task: str
    options: Mapping[str, Any] = field(default_factory=dict)  # of the task, as JSON has them
    at_frames: tuple[bool, ...] = (False,)  # of each robot: whether its episodes start there
    frames: npt.NDArray[Any] | None = None  # [F, D] observed states

    def pack(self) -> bytes:
        """Return it as an npz."""
        about = {'task': self.task, 'options': self.options, 'at_frames': self.at_frames}
        arrays: Arrays = {'setup': np.array(json.dumps(about))}
        if self.frames is not None:
            arrays['frames'] = self.frames
        return pack_arrays(arrays)

    @classmethod
    def unpack(cls, data: bytes) -> SimulatorSetup:
        """Read what :meth:`pack` wrote."""
        arrays = unpack_arrays(data)
        try:
            about = json.loads(str(arrays['setup']))
            robots = tuple(bool(at) for at in about['at_frames'])
            return cls(str(about['task']), dict(about['options']), robots, arrays.get('frames'))
        except (KeyError, TypeError, ValueError) as error:
            raise LockstepError(f'{SETUP_TOPIC}: no setup ({error!r})') from error

    @property
    def prefixes(self) -> list[str]:
        """Return what the topics of each robot begin with."""
        count = len(self.at_frames)
        return [f'robot_{index}/' for index in range(count)] if count > 1 else ['']

    def options_of(self, robot: int) -> dict[str, Any]:
        """Return the options that a robot's task is made with."""
        starts = {'reset_frames': self.frames} if self.at_frames[robot] else {}
        return {**self.options, **starts}


def checksum(setup: bytes) -> str:
    """Return what names a packed setup in the answer to it."""
    return hashlib.sha256(setup).hexdigest()


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
    setup: str = ''  # checksum of the setup that this answers

    @classmethod
    def of(
        cls, env: Env, session: str, start_names: tuple[str, ...] = (), setup: str = ''
    ) -> TaskDescription:
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
            setup=setup,
        )

    @classmethod
    def from_json(cls, text: str) -> TaskDescription:
        """Read what :meth:`to_json` wrote."""
        try:
            fields = json.loads(text)
            if REFUSED not in fields:
                return TypeAdapter(cls).validate_python(fields)
        except (TypeError, ValueError) as error:  # ValidationError is a ValueError
            raise LockstepError(
                f'{TASK_TOPIC}: no task description ({error}): {text[:80]!r}'
            ) from error
        raise LockstepError(f'the simulator refused the setup: {fields[REFUSED]}')

    def to_json(self) -> str:
        """Return JSON; floats are written so that they come back bit for bit."""
        return json.dumps(asdict(self))

    @property
    def observation_names(self) -> tuple[str, ...]:
        """Return the names of the observation terms in order."""
        return names(self.observation_terms)

    @property
    def action_names(self) -> tuple[str, ...]:
        """Return the names of the action terms in order."""
        return names(self.action_terms)

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

    @property
    def state_names(self) -> tuple[str, ...]:
        """Return the names on ``lockstep/state`` in order."""
        return (*self.observation_names, *OUTCOME_NAMES)

    def state_writer(self) -> JointStateWriter:
        """Return what writes ``lockstep/state``."""
        return JointStateWriter(self.session, self.state_names, position=len(self.state_names))

    def step_writer(self) -> JointStateWriter:
        """Return what writes a step on ``lockstep/command``."""
        return JointStateWriter(self.frame(STEP), self.action_names, effort=len(self.action_terms))


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
