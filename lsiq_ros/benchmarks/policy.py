# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""How long the policy takes to answer, alone and with the gate."""

from collections.abc import Callable
import gc
import time

from lsiq_core.policy.artifact import ArtifactError, OnnxPolicy
from lsiq_ros.control.controller import torque_law
from lsiq_ros.gate.gate import Gate
from lsiq_ros.gate.settings import GateSettings, limits_of
from lsiq_ros.gate.state_checks import RobotState
from lsiq_ros.gate.timing import Timing
import numpy as np
import numpy.typing as npt

WARM_UP = 200


def bench_policy(policy: OnnxPolicy, calls: int) -> dict[str, Timing]:
    """Time the policy on its golden states, alone and behind the gate, PD targets included."""
    metadata = policy.metadata
    to_torque = torque_law(metadata)
    inputs = [np.array(trace.observation) for trace in metadata.golden]
    memory = policy.memory()
    settings = GateSettings(ramp_in_s=0.0)
    gate = Gate(limits_of(metadata, settings), settings)
    places = dict(zip(metadata.observation_names, range(len(metadata.observation))))
    states = [_state(row[: len(places)], metadata.joint_names, places) for row in inputs]
    wrong = gate.arm(0.0, states[0])
    if wrong:  # a gate that is not armed has less to do
        raise ArtifactError(f'{policy.artifact.source}: its first golden state: {wrong[0]}')
    number = 0

    def infer() -> None:
        policy(inputs[number % len(inputs)])

    def infer_behind_gate() -> None:
        nonlocal number
        number += 1
        state = states[number % len(states)]
        now_s = number * gate.limits.period_s
        answer = policy(memory.see(state.observation))
        memory.did(answer)
        request = to_torque(answer, state)
        gate.step(now_s, state._replace(arrival_s=now_s), request)

    def gate_alone() -> None:
        nonlocal number
        number += 1
        now_s = number * gate.limits.period_s
        gate.step(now_s, states[0]._replace(arrival_s=now_s), gate.limits.effort_high_nm)

    return {
        'inference': time_calls(infer, calls),
        'gate': time_calls(gate_alone, calls),
        'gate and inference': time_calls(infer_behind_gate, calls),
    }


def time_calls(call: Callable[[], None], calls: int) -> Timing:
    """Time each of many calls by itself, without the garbage collector in between."""
    for _ in range(WARM_UP):
        call()
    took = np.zeros(calls)
    gc.collect()
    gc.disable()
    try:
        for i in range(calls):
            start = time.perf_counter()
            call()
            took[i] = time.perf_counter() - start
    finally:
        gc.enable()
    return Timing.of(took)


def _state(
    row: npt.NDArray[np.float64], joints: tuple[str, ...], places: dict[str, int]
) -> RobotState:
    def read(quantity: str) -> npt.NDArray[np.float64]:
        where = [places.get(f'{joint}/{quantity}') for joint in joints]
        return np.array([0.0 if place is None else row[place] for place in where])

    return RobotState(read('position'), read('velocity'), row, 0.0)
