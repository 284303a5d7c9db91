# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""The simulator's side of lock-step as plain Python: bytes in, bytes out."""

from collections.abc import Callable
import secrets

from lsiq_core.env import Env
from lsiq_core.types import LARGEST_SEED, Step
from lsiq_ros.lockstep import protocol
from lsiq_ros.lockstep.protocol import (
    Arrays,
    LockstepError,
    pack_arrays,
    TaskDescription,
    unpack_arrays,
)
from lsiq_ros.wire.cdr import CdrError, JointArrays, JointArraysReader
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


class LockstepServer:
    """
    Carry out commands on an env, one at a time, each exactly once.

    :param start_names: what an episode can be started at, empty if at nothing.
    :param start_at: starts an episode at the values of those and returns the observation.
    :param session: names this start of the simulator; a random one unless given.
    :param setup: checksum of what the learner told it to run.
    """

    def __init__(
        self,
        env: Env,
        *,
        start_names: tuple[str, ...] = (),
        start_at: Callable[[Array], Array] | None = None,
        session: str | None = None,
        setup: str = '',
    ) -> None:
        self.env = env
        self.task = TaskDescription.of(env, session or secrets.token_hex(4), start_names, setup)
        self._start_at = start_at
        self.tick = 0
        self._state = self.task.state_writer()
        self._read_command = JointArraysReader()
        self._action_names = self.task.action_names
        verbs = (
            protocol.STEP,
            protocol.RESET,
            protocol.RESET_TO,
            protocol.SNAPSHOT,
            protocol.REPEAT,
        )
        self._frames = {self.task.frame(verb): verb for verb in verbs}
        self._last_command, self._last_answer = b'', b''
        self.last_step: Step | None = None

    @property
    def stamp_ns(self) -> int:
        """Return the simulated time of the last state."""
        return self.task.stamp_ns(self.tick)

    def reset(self, seed: int | None = None) -> bytes:
        """Start an episode on our own account and return the state to publish."""
        return self._begin(self.env.reset(seed=seed))

    def step(self, action: Array) -> bytes:
        """Hold a checked action for one period and return the state to publish."""
        self.tick += 1
        return self._answer(self.env.step(action))

    def let_time_pass(self) -> None:
        """Move the stamp on by one period while the robot is held."""
        self.tick += 1

    def handle(self, raw: bytes) -> tuple[str, bytes]:
        """
        Carry out a command.

        :return: its verb, and the bytes of the answering state or (verb snapshot) an npz.
        """
        if raw == self._last_command:  # sent again because our answer was lost
            return protocol.REPEAT, self._last_answer
        command = self._read(raw)
        verb = self._frames[command.frame]
        if verb == protocol.REPEAT:
            return protocol.REPEAT, self._last_answer
        self._check_stamp(command.stamp_ns)
        if verb == protocol.SNAPSHOT:
            return protocol.SNAPSHOT, pack_arrays(self.env.state())
        answer = self._carry_out(verb, command)
        self._last_command = raw
        return verb, answer

    def restore(self, data: bytes) -> bytes:
        """Continue from an npz; the answer's observation is NaN, since no step was made."""
        arrays: Arrays = unpack_arrays(data)
        try:
            self.env.restore(arrays)
        except (KeyError, ValueError, TypeError) as error:
            raise LockstepError(
                f'{self.task.name}: cannot continue from arrays {sorted(arrays)} ({error!r})'
            ) from error
        unknown = np.full(len(self.task.observation_terms), np.nan)
        return self._begin(unknown)

    def _carry_out(self, verb: str, command: JointArrays) -> bytes:
        if verb == protocol.STEP:
            action = in_order(command.names, command.effort, self._action_names)
            return self.step(checked_action(action, self.task))
        if verb == protocol.RESET:
            return self.reset(_seed(command))
        return self._reset_to(command)

    def _begin(self, obs: Array) -> bytes:
        self.tick += self.task.episode_gap
        return self._answer(Step(obs, 0.0, False, False))

    def _answer(self, step: Step) -> bytes:
        self.last_step = step
        position = self._state.position
        position[:-3] = step.obs
        position[-3:] = step.reward, step.terminated, step.truncated
        self._last_answer = self._state.write(self.stamp_ns)
        return self._last_answer

    def _read(self, raw: bytes) -> JointArrays:
        try:
            command = self._read_command(raw)
        except CdrError as error:
            raise LockstepError(f'command refused: {error}') from error
        if command.frame not in self._frames:
            raise LockstepError(
                f'command refused: frame {command.frame!r} is none of '
                f'{sorted(self._frames)}; was the simulator started anew?'
            )
        return command

    def _check_stamp(self, stamp_ns: int) -> None:
        if stamp_ns != self.stamp_ns:
            raise LockstepError(
                f'command refused: it answers the state of {stamp_ns / 1e9:.9f} s, the last '
                f'state is of {self.stamp_ns / 1e9:.9f} s'
            )

    def _reset_to(self, command: JointArrays) -> bytes:
        if self._start_at is None:
            raise LockstepError(f'{self.task.name} cannot start at a given state')
        start = in_order(command.names, command.position, self.task.start_names)
        if not np.isfinite(start).all():
            raise LockstepError('reset refused: the state to start at is not finite')
        return self._begin(self._start_at(start))


def in_order(names: tuple[str, ...], values: Array, wanted: tuple[str, ...]) -> Array:
    """Return the values in the wanted order of names."""
    if names == wanted and len(values) == len(wanted):
        return values
    if len(names) != len(values) or sorted(names) != sorted(wanted):
        raise LockstepError(
            f'command refused: {len(values)} values for {len(names)} names {list(names)}, '
            f'expected one for each of {list(wanted)}'
        )
    at = {name: index for index, name in enumerate(names)}
    return values[[at[name] for name in wanted]]


def checked_action(action: Array, task: TaskDescription) -> Array:
    """Return the action if it has the right length and is finite."""
    if action.shape != (len(task.action_terms),):
        raise LockstepError(
            f'command refused: {action.size} efforts, expected {len(task.action_terms)}: '
            f'{list(task.action_names)}'
        )
    if not np.isfinite(action).all():
        bad = [name for name, value in zip(task.action_names, action) if not np.isfinite(value)]
        raise LockstepError(f'command refused: not finite: {bad}')
    return action


def _seed(command: JointArrays) -> int | None:
    if not command.names:
        return None
    if command.names != (protocol.SEED_NAME,) or len(command.position) != 1:
        raise LockstepError(
            f'reset refused: name {list(command.names)} with {len(command.position)} positions, '
            f'expected none or [{protocol.SEED_NAME!r}] with one'
        )
    seed = float(command.position[0])
    if not (0 <= seed <= LARGEST_SEED and seed == int(seed)):
        raise LockstepError(f'reset refused: seed {seed} is not in 0 to {LARGEST_SEED}')
    return int(seed)
