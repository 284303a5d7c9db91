# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""A walk as its topics told it: how long, how far, how fast, and every state for a film."""

from __future__ import annotations

from dataclasses import asdict, dataclass
import json
import math
from pathlib import Path

from lsiq_core.atomic import write_text
from lsiq_core.data.demonstrations import Demonstrations
from lsiq_core.errors import LsiqError
from lsiq_ros.wire.cdr import JointState, NS_PER_S, Odometry
from lsiq_ros.wire.observation import BASE_FIELDS, ObservationSpec, Readings
import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class EpisodeReport:
    """How a walk went."""

    seconds: float  # of simulated time
    distance_m: float
    speed_m_s: float
    falls: int
    trips: tuple[str, ...]  # what the gate said
    real_time_factor: float  # simulated seconds per real one

    @property
    def succeeded(self) -> bool:
        """Return whether the robot was driven and neither fell nor tripped the gate."""
        return self.seconds > 0 and not self.falls and not self.trips

    def line(self) -> str:
        """Return one line for people."""
        reasons = f' ({"; ".join(self.trips)})' if self.trips else ''
        return (
            f'walked {self.seconds:.1f} s, {self.distance_m:.1f} m at {self.speed_m_s:.2f} m/s, '
            f'falls {self.falls}, gate trips {len(self.trips)}{reasons}, '
            f'real-time factor {self.real_time_factor:.2f}'
        )

    def save(self, path: Path) -> None:
        """Write it as JSON."""
        write_text(path, json.dumps(asdict(self), indent=2) + '\n')


def read_report(path: Path) -> EpisodeReport:
    """Read what :meth:`EpisodeReport.save` wrote."""
    try:
        fields = json.loads(path.read_text())
        return EpisodeReport(**{**fields, 'trips': tuple(fields['trips'])})
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise LsiqError(f'{path}: no report of a walk ({error!r})') from error


class EpisodeLog:
    """Collect a walk from its first state to the first fall or trip."""

    def __init__(self) -> None:
        self.falls = 0
        self.trips: list[str] = []
        self._joints: tuple[int, Readings] | None = None
        self._spec: ObservationSpec | None = None
        self._states: list[npt.NDArray[np.float64]] = []
        self._stamps_ns: list[int] = []
        self._arrivals: list[float] = []
        self._places: list[tuple[float, float]] = []

    @property
    def over(self) -> bool:
        """Return whether nothing that comes now belongs to the walk."""
        return bool(self.falls or self.trips)

    @property
    def seconds(self) -> float:
        """Return how much simulated time has passed."""
        if not self._stamps_ns:
            return 0.0
        return (self._stamps_ns[-1] - self._stamps_ns[0]) / NS_PER_S

    def take_joints(self, joints: JointState) -> None:
        """Remember the joints until the pelvis of the same instant comes."""
        names = joints.names
        positions, velocities = (
            dict(zip(names, joints.position)),
            dict(zip(names, joints.velocity)),
        )
        self._joints = joints.stamp_ns, Readings(positions, velocities)
        if self._spec is None:
            motions = [f'{name}/{what}' for what in ('position', 'velocity') for name in names]
            self._spec = ObservationSpec([*BASE_FIELDS, *motions])

    def take_odometry(self, odometry: Odometry, arrival_s: float) -> None:
        """Add a state of the walk, if it has not ended."""
        stamp_ns, pelvis = odometry.stamp_ns, odometry.base
        if self.over or self._joints is None or self._joints[0] != stamp_ns:
            return
        assert self._spec is not None
        joints = self._joints[1]
        readings = Readings(joints.positions_rad, joints.velocities_rad_s, pelvis)
        self._states.append(self._spec.observe(readings))
        self._stamps_ns.append(stamp_ns)
        self._arrivals.append(arrival_s)
        self._places.append(pelvis.position_m[:2])

    def report(self) -> EpisodeReport:
        """Say how it went."""
        if len(self._stamps_ns) < 2:
            return EpisodeReport(0.0, 0.0, 0.0, self.falls, tuple(self.trips), 0.0)
        distance_m = math.dist(self._places[0], self._places[-1])
        return EpisodeReport(
            seconds=self.seconds,
            distance_m=distance_m,
            speed_m_s=distance_m / self.seconds,
            falls=self.falls,
            trips=tuple(self.trips),
            real_time_factor=self.seconds / (self._arrivals[-1] - self._arrivals[0]),
        )

    def save_states(self, path: Path) -> None:
        """Write the states as ``lsiq view`` and ``lsiq demos info`` read them."""
        if len(self._states) < 2:
            raise LsiqError(f'{path}: the walk has {len(self._states)} states, 2 are needed')
        assert self._spec is not None
        Demonstrations(
            states=np.array(self._states, np.float32),
            episode_lengths=np.array([len(self._states) - 1]),
            terminated=np.array([bool(self.falls)]),
            state_names=self._spec.terms,
            rate_hz=(len(self._stamps_ns) - 1) / self.seconds,
            metadata={'source': 'deploy_supervisor'},
            source=str(path),
        ).save(path)
