# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""How long the policy takes to answer, alone and with the gate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
import gc
import time

from lsiq_core.artifact import OnnxPolicy
from lsiq_ros.gate.gate import Gate
from lsiq_ros.gate.inspection import RobotState
from lsiq_ros.gate.settings import GateSettings, limits_of
import numpy as np
import numpy.typing as npt

WARM_UP = 200


@dataclass(frozen=True)
class Timing:
    """Percentiles of one quantity, in microseconds."""

    p50: float
    p99: float
    p999: float
    max: float
    samples: int

    @staticmethod
    def of(seconds: npt.NDArray[np.float64]) -> Timing:
        """Summarise durations."""
        p50, p99, p999 = np.percentile(seconds * 1e6, [50, 99, 99.9])
        return Timing(p50, p99, p999, float(seconds.max() * 1e6), len(seconds))

    def line(self) -> str:
        """Return one line for people."""
        return (
            f'p50 {self.p50:8.1f}  p99 {self.p99:8.1f}  p99.9 {self.p999:8.1f}  '
            f'max {self.max:8.1f} us  ({self.samples})'
        )


def bench_policy(policy: OnnxPolicy, calls: int) -> dict[str, Timing]:
    """Time the policy on its golden states, alone and behind the gate."""
    metadata = policy.metadata
    observations = [np.array(trace.observation) for trace in metadata.golden]
    settings = GateSettings(ramp_in_s=0.0)
    gate = Gate(limits_of(metadata, settings), settings)
    places = dict(zip(metadata.observation_names, range(len(metadata.observation))))
    states = [_state(row, metadata.joint_names, places) for row in observations]
    gate.arm(0.0, states[0])
    number = 0

    def infer() -> None:
        policy(observations[number % len(observations)])

    def infer_behind_gate() -> None:
        nonlocal number
        number += 1
        state = states[number % len(states)]
        now_s = number * gate.limits.period_s
        gate.step(now_s, state._replace(arrival_s=now_s), policy(state.observation))

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
