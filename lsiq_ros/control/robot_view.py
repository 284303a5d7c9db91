# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""The robot as the policy sees it, put together by name from whatever topics bring."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from lsiq_core.policy.artifact.metadata import PolicyMetadata
from lsiq_ros.gate.checks import Check, Violation
from lsiq_ros.gate.settings import GateSettings
from lsiq_ros.gate.stamp_filter import StateIntake
from lsiq_ros.gate.state_checks import RobotState
from lsiq_ros.wire.base import BaseOdometry, cosine_from_upright
from lsiq_ros.wire.cdr import JointState, NS_PER_S, Odometry, Wrench
from lsiq_ros.wire.observation import Force, ObservationError, ObservationSpec, Readings
import numpy as np

RESTART_PERIODS = 20.0  # silence after which older stamps mean that the robot was restarted
COHERENT_SHARE = 0.25  # of a control period: readings of one instant, not of two


def joint_differences(found: Sequence[str], wanted: set[str], ignored: set[str]) -> str:
    """Return what is wrong with the names of a robot's joints, or nothing."""
    doubles = sorted({name for name in found if list(found).count(name) > 1})
    missing = sorted(wanted - set(found))
    extra = sorted(set(found) - wanted - ignored)
    parts = [('named twice', doubles), ('missing', missing), ('not in the policy', extra)]
    return '; '.join(f'{what}: {names}' for what, names in parts if names)


class RobotView:
    """
    Collect readings and give out robot states.

    :param metadata: whose joints and terms are wanted.
    :param settings: how late a state may be.
    :param ignored_joints: joints that the robot has and the policy knows nothing of.
    """

    def __init__(
        self, metadata: PolicyMetadata, settings: GateSettings, ignored_joints: Sequence[str] = ()
    ) -> None:
        self.spec = ObservationSpec(metadata.observation_names)
        self.joints = metadata.joint_names
        self.wanted = {*metadata.joint_names, *self.spec.joints}
        self.ignored = set(ignored_joints)
        self.mismatch: Violation | None = None
        self._period_s = 1 / metadata.rate_hz
        self._settings = settings
        self._intakes: dict[str, StateIntake] = {}
        self._stamps_ns: dict[str, int] = {}
        self._positions: dict[str, float] = {}
        self._velocities: dict[str, float] = {}
        self._pelvis: BaseOdometry | None = None
        self._forces: dict[str, Force] = {}
        self._checked_names: tuple[str, ...] = ()
        self._sources = {'joints', *self.spec.soles}
        if self.spec.needs_pelvis:
            self._sources.add('pelvis')
        self._state: RobotState | None = None  # of the readings so far; None: not put together

    def take_joints(self, joints: JointState, arrival_s: float) -> bool:
        """Take a JointState; return whether it was new and fits."""
        stamp_ns, _, names, position_rad, velocity_rad_s, _ = joints
        if names != self._checked_names:
            differences = joint_differences(names, self.wanted, self.ignored)
            if differences:
                self.mismatch = Violation(Check.JOINT_MISMATCH, differences)
                return False
            self._checked_names = names
        if not len(names) == len(position_rad) == len(velocity_rad_s):
            self.mismatch = Violation(
                Check.JOINT_MISMATCH,
                f'{len(names)} names with {len(position_rad)} positions and '
                f'{len(velocity_rad_s)} velocities',
            )
            return False
        if not self._accept('joints', stamp_ns, arrival_s):
            return False
        self.mismatch = None
        self._positions = dict(zip(names, position_rad))
        self._velocities = dict(zip(names, velocity_rad_s))
        return True

    def take_odometry(self, odometry: Odometry, arrival_s: float) -> None:
        """Take the pelvis' odometry; once it has come, it is watched like the joints."""
        if self._accept('pelvis', odometry.stamp_ns, arrival_s):
            self._sources.add('pelvis')
            self._pelvis = odometry.base

    def take_wrench(self, sole: str, wrench: Wrench, arrival_s: float) -> None:
        """Take the floor's force on a sole."""
        if self._accept(sole, wrench.stamp_ns, arrival_s):
            self._forces[sole] = wrench.force_n

    def state(self) -> RobotState | None:
        """Return the robot at present, or None while something was never heard of."""
        if self._state is None and self.complete:
            self._state = self._put_together()
        return self._state

    def _put_together(self) -> RobotState | None:
        readings = Readings(self._positions, self._velocities, self._pelvis, self._forces)
        try:
            observation = self.spec.observe(readings)
        except ObservationError:  # a joint that is only observed has gone
            return None
        intakes = [self._intakes[source] for source in self._sources]
        pelvis = self._pelvis
        return RobotState(
            position_rad=np.array([self._positions[joint] for joint in self.joints]),
            velocity_rad_s=np.array([self._velocities[joint] for joint in self.joints]),
            observation=observation,
            arrival_s=min(intake.arrival_s for intake in intakes),
            latency_s=max(intake.latency_s for intake in intakes),
            cosine_upright=cosine_from_upright(pelvis.orientation_xyzw) if pelvis else 1.0,
            height_m=pelvis.position_m[2] if pelvis else float('inf'),
        )

    @property
    def complete(self) -> bool:
        """Return whether everything that is needed has come at least once."""
        return self._sources <= set(self._stamps_ns)

    @property
    def missing(self) -> list[str]:
        """Name what has not come yet."""
        return sorted(self._sources - set(self._stamps_ns))

    @property
    def coherent(self) -> bool:
        """Return whether the readings are of one instant."""
        if not self.complete:
            return False
        stamps = [self._stamps_ns[source] for source in self._sources]
        return max(stamps) - min(stamps) < COHERENT_SHARE * self._period_s * NS_PER_S

    @property
    def newest_ns(self) -> int | None:
        """Return the stamp of the newest joint state, None before the first."""
        return self._stamps_ns.get('joints')

    @property
    def newest_arrival_s(self) -> float:
        """Return when the newest joint state came, on the steady clock."""
        intake = self._intakes.get('joints')
        return float('-inf') if intake is None else intake.arrival_s

    @property
    def counts(self) -> Counter[Check]:
        """Return what was dropped so far."""
        return sum((intake.counts for intake in self._intakes.values()), Counter())

    def _accept(self, source: str, stamp_ns: int, arrival_s: float) -> bool:
        intake = self._intakes.get(source)
        if intake is None:
            intake = self._intakes[source] = StateIntake(
                clock_drift=self._settings.clock_drift,
                restart_s=RESTART_PERIODS * self._period_s,
            )
        if not intake.accept(stamp_ns, arrival_s):
            return False
        self._stamps_ns[source] = stamp_ns
        self._state = None
        return True
