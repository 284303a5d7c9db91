# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
The robot as the policy sees it, put together by name from whatever topics bring.

Several broadcasters may share the topic of joint states. Their messages are merged by
joint name: the joints that come together in a message are one source. A joint belongs to
one source only; a message with none of the policy's joints is another device's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
import math
from typing import NamedTuple

from lsiq_core.policy.artifact.metadata import PolicyMetadata
from lsiq_ros.gate.checks import Check, Violation
from lsiq_ros.gate.robot_clock import RobotClock
from lsiq_ros.gate.settings import GateSettings
from lsiq_ros.gate.stamp_filter import StampFilter
from lsiq_ros.gate.state_checks import RobotState
from lsiq_ros.wire.base import BaseOdometry, cosine_from_upright
from lsiq_ros.wire.cdr import JointState, NS_PER_S, Odometry, Wrench
from lsiq_ros.wire.observation import Force, ObservationSpec, Readings
import numpy as np

RESTART_PERIODS = 20.0  # silence after which older stamps mean that the robot was restarted
CLOCK_JUMP_PERIODS = 5.0  # by which stamps may run ahead of the steady clock at once
COHERENT_SHARE = 0.25  # of a control period: readings of one instant, not of two
EXPLAINED_BY_VELOCITY = 2.0  # times velocity and time: how far a joint may have moved between
NORM_TOLERANCE = 0.1  # of a quaternion; sensors round, but not by this much
MOST_LAYOUTS = 64  # sets of names that are remembered
BASE = 'base'


class _Layout(NamedTuple):
    """What the names of a joint state mean; worked out once for each tuple of names."""

    problem: str  # nothing, or what is wrong with them
    joints: frozenset[str]  # of the policy; the source's name
    places: tuple[tuple[int, str], ...]  # of these joints in the message


class _Earlier(NamedTuple):
    """Where the joints of a source were when its present half of a control period began."""

    stamp_ns: int
    positions: dict[str, float]
    fastest: dict[str, float]  # velocities, either way, that it told since


class _Times(NamedTuple):
    """When the readings were taken and came; worked out once after each message."""

    newest_ns: int | None  # up to which all joints have come
    newest_arrival_s: float  # of the joints, on the steady clock
    apart_ns: int  # between the newest and the oldest reading


def joint_differences(found: Sequence[str], wanted: set[str], ignored: set[str]) -> str:
    """Return what is wrong with the names of a message with joints of ours, or nothing."""
    doubles = sorted(name for name, times in Counter(found).items() if times > 1)
    extra = sorted(set(found) - wanted - ignored)
    parts = [('named twice', doubles), ('not in the policy', extra)]
    return '; '.join(f'{what}: {names}' for what, names in parts if names)


class RobotView:
    """
    Collect readings and give out robot states.

    :param metadata: whose joints and terms are wanted.
    :param settings: how late a state may be.
    :param ignored_joints: joints that the robot has and the policy knows nothing of.
    :param clock: of a simulated robot, whose states come when they are stamped; else ours.
    """

    def __init__(
        self,
        metadata: PolicyMetadata,
        settings: GateSettings,
        ignored_joints: Sequence[str] = (),
        clock: RobotClock | None = None,
    ) -> None:
        self.spec = ObservationSpec(metadata.observation_names)
        self.joints = metadata.joint_names
        self.wanted = {*metadata.joint_names, *self.spec.joints}
        self.ignored = set(ignored_joints)
        self._clock = clock
        self._period_s = 1 / metadata.rate_hz
        self._settings = settings
        self._fastest = {  # what no joint may exceed explains no motion either
            joint.name: joint.velocity_rad_s * settings.velocity_trip_factor
            for joint in metadata.joints
            if joint.velocity_rad_s is not None
        }
        self._counts: Counter[Check] = Counter()
        self._layouts: dict[tuple[str, ...], _Layout] = {}
        self._joint_sources: dict[frozenset[str], StampFilter] = {}
        self._earlier: dict[frozenset[str], _Earlier] = {}  # of the same
        self._other_sources: dict[str, StampFilter] = {}
        self._faults: dict[str, tuple[float, Violation]] = {}  # by topic, since when
        self._positions: dict[str, float] = {}
        self._velocities: dict[str, float] = {}
        self._base: BaseOdometry | None = None
        self._forces: dict[str, Force] = {}
        self._needed = {*self.spec.soles, *([BASE] if self.spec.needs_base else [])}
        self._state: RobotState | None = None  # of the readings so far; None: not put together
        self._times: _Times | None = None  # of the same; None: not worked out
        self._complete = False  # until a source is dropped

    # -- what comes in ---------------------------------------------------------------------

    def take_joints(self, message: JointState, arrival_s: float) -> bool:
        """Take a JointState; return whether it was new and fits."""
        layout = self._layouts.get(message.names) or self._lay_out(message.names)
        if not layout.joints:
            self._counts[Check.OTHER_JOINTS] += 1
            return False
        steady_s, arrival_s = arrival_s, self._came(message.stamp_ns, arrival_s)
        counts = len(message.names), len(message.position), len(message.velocity)
        problem = layout.problem
        if not problem and len(set(counts)) > 1:
            problem = '{} names with {} positions and {} velocities'.format(*counts)
        source = self._joint_sources.get(layout.joints)
        if not problem and source is None:
            problem = self._claim(layout.joints, arrival_s)
            source = self._joint_sources.get(layout.joints)
        if problem or source is None:
            self._blame('joints', Violation(Check.JOINT_MISMATCH, problem), steady_s)
            return False
        silent = source.silent(arrival_s)  # before its first message, too
        if not source.accept(message.stamp_ns, arrival_s):
            return False
        jump = self._look_back(layout, message, silent)
        positions, velocities = self._positions, self._velocities
        for place, joint in layout.places:
            positions[joint] = message.position[place]
            velocities[joint] = message.velocity[place]
        self._blame('joints', jump, steady_s)
        self._state = self._times = None
        return True

    def take_odometry(self, message: Odometry, arrival_s: float) -> None:
        """Take the base's odometry; once it has come, it is watched like the joints."""
        steady_s, arrival_s = arrival_s, self._came(message.stamp_ns, arrival_s)
        if not self._accept(BASE, message.stamp_ns, arrival_s):
            return
        self._needed.add(BASE)
        self._base = message.base
        norm = math.hypot(*message.base.orientation_xyzw)
        wrong = None
        if not abs(norm - 1) <= NORM_TOLERANCE:
            wrong = Violation(Check.ORIENTATION, f'a quaternion of norm {norm:.4g}')
        elif math.isinf(message.base.position_m[2]):  # no fall, but no height either
            wrong = Violation(Check.STATE_NOT_FINITE, 'base/height')
        self._blame(BASE, wrong, steady_s)

    def take_wrench(self, sole: str, message: Wrench, arrival_s: float) -> None:
        """Take the floor's force on a sole."""
        arrival_s = self._came(message.stamp_ns, arrival_s)
        if self._accept(sole, message.stamp_ns, arrival_s):
            self._forces[sole] = message.force_n

    def _came(self, stamp_ns: int, arrival_s: float) -> float:
        return arrival_s if self._clock is None else self._clock.see(stamp_ns, arrival_s)

    def _lay_out(self, names: tuple[str, ...]) -> _Layout:
        if len(self._layouts) >= MOST_LAYOUTS:  # a hostile source fills no memory
            self._layouts.clear()
        places = tuple((place, name) for place, name in enumerate(names) if name in self.wanted)
        problem = joint_differences(names, self.wanted, self.ignored)
        layout = _Layout(problem, frozenset(name for _, name in places), places)
        return self._layouts.setdefault(names, layout)

    def _claim(self, joints: frozenset[str], arrival_s: float) -> str:
        """Make these joints a source; return why they are none."""
        for other, source in list(self._joint_sources.items()):
            shared = joints & other
            if not shared:
                continue
            if source.silent(arrival_s):
                self._forget(other)  # the robot groups its joints in another way now
            elif joints < other:
                return f'missing: {sorted(other - joints)}'
            else:
                return f'from two sources: {sorted(shared)}'
        self._joint_sources[joints] = self._new_filter(f'state of {", ".join(sorted(joints))}')
        return ''

    def _forget(self, joints: frozenset[str]) -> None:
        """Drop a source and what it said; its joints are missing until another brings them."""
        self._counts += self._joint_sources.pop(joints).counts
        for joint in joints:
            del self._positions[joint]
        self._state = self._times = None
        self._complete = False

    def _look_back(self, layout: _Layout, message: JointState, silent: bool) -> Violation | None:
        """
        Return which joint jumped, unless its source begins anew.

        Messages may come as quickly as they like: what no velocity explains is allowed once in
        half a control period. A jump in many small steps is none the less a jump.
        """
        jump = None
        if not silent:
            earlier = self._earlier[layout.joints]
            passed_s = (message.stamp_ns - earlier.stamp_ns) / NS_PER_S
            jump = self._jump(layout, message, earlier, passed_s)
            if passed_s < self._period_s / 2:
                return jump
        self._earlier[layout.joints] = _Earlier(
            message.stamp_ns,
            {joint: message.position[place] for place, joint in layout.places},
            {joint: abs(message.velocity[place]) for place, joint in layout.places},
        )
        return jump

    def _jump(
        self, layout: _Layout, message: JointState, earlier: _Earlier, passed_s: float
    ) -> Violation | None:
        """Return which joint moved further than the possible velocities since then explain."""
        longest_s = self._settings.stale_periods * self._period_s
        passed_s = min(passed_s, longest_s) * EXPLAINED_BY_VELOCITY
        jump_rad, found, velocity = (
            self._settings.position_jump_rad,
            message.position,
            message.velocity,
        )
        _, positions, fastest = earlier
        for place, joint in layout.places:
            told = fastest[joint] = max(fastest[joint], abs(velocity[place]))
            moved = abs(found[place] - positions[joint])
            if moved <= jump_rad:  # whatever the velocity
                continue
            if not math.isfinite(moved):  # before or after; the gate may not have seen it
                return Violation(Check.STATE_NOT_FINITE, f'{joint}/position')
            possible = min(told, self._fastest.get(joint, math.inf))
            if not moved <= jump_rad + possible * passed_s:  # a velocity of NaN explains nothing
                return Violation(
                    Check.POSITION_JUMP,
                    f'{joint} moved by {moved:.4g} rad between two states at {told:.4g} rad/s',
                )
        return None

    def _blame(self, topic: str, wrong: Violation | None, steady_s: float) -> None:
        """
        Note a fault of a topic; a good message half a period later takes it back.

        It counts in our time, of simulated robots, too: no message of the same poll does.
        """
        if wrong is not None:
            self._faults[topic] = steady_s, wrong
        elif topic in self._faults and steady_s - self._faults[topic][0] > self._period_s / 2:
            del self._faults[topic]

    def _accept(self, name: str, stamp_ns: int, arrival_s: float) -> bool:
        source = self._other_sources.get(name)
        if source is None:
            source = self._other_sources[name] = self._new_filter(name)
        accepted = source.accept(stamp_ns, arrival_s)
        if accepted:
            self._state = self._times = None
        return accepted

    def _new_filter(self, name: str) -> StampFilter:
        return StampFilter(
            name,
            clock_drift=self._settings.clock_drift,
            # No sooner than the gate calls it stale: a new source is not asked how far it moved.
            restart_s=max(RESTART_PERIODS, self._settings.stale_periods) * self._period_s,
            jump_s=CLOCK_JUMP_PERIODS * self._period_s,
        )

    # -- what comes out --------------------------------------------------------------------

    @property
    def fault(self) -> Violation | None:
        """Return what is wrong with what came last, beyond what a state shows."""
        return next((violation for _, violation in self._faults.values()), None)

    def state(self) -> RobotState | None:
        """Return the robot at present, or None while something was never heard of."""
        if self._state is None and self.complete:
            self._state = self._put_together()
        return self._state

    def _put_together(self) -> RobotState:
        base = self._base
        sources = self._sources()
        oldest = min(sources, key=lambda source: source.arrival_s)
        return RobotState(
            position_rad=np.array([self._positions[joint] for joint in self.joints]),
            velocity_rad_s=np.array([self._velocities[joint] for joint in self.joints]),
            observation=self.spec.observe(
                Readings(self._positions, self._velocities, base, self._forces)
            ),
            arrival_s=oldest.arrival_s,
            latency_s=max(source.latency_s for source in sources),
            cosine_upright=cosine_from_upright(base.orientation_xyzw) if base else 1.0,
            height_m=base.position_m[2] if base else float('inf'),
            skew_s=self._when().apart_ns / NS_PER_S,
            oldest=oldest.name,
        )

    def _sources(self) -> list[StampFilter]:
        return [*self._joint_sources.values(), *self._other_sources.values()]

    def _when(self) -> _Times:
        if self._times is None:
            joints = self._joint_sources.values()
            heard_ns = [source.stamp_ns for source in joints if source.stamp_ns is not None]
            others = self._other_sources.values()
            all_ns = heard_ns + [one.stamp_ns for one in others if one.stamp_ns is not None]
            self._times = _Times(
                min(heard_ns, default=None),
                max((source.arrival_s for source in joints), default=-math.inf),
                max(all_ns, default=0) - min(all_ns, default=0),
            )
        return self._times

    @property
    def complete(self) -> bool:
        """Return whether everything that is needed has come at least once."""
        self._complete = self._complete or (
            self._needed <= self._other_sources.keys() and self.wanted <= self._positions.keys()
        )
        return self._complete

    @property
    def missing(self) -> list[str]:
        """Name what has not come yet."""
        joints = sorted(self.wanted - self._positions.keys())
        topics = [f'no {name}' for name in sorted(self._needed - self._other_sources.keys())]
        return ([f'joints missing: {joints}'] if joints else []) + topics

    @property
    def coherent(self) -> bool:
        """Return whether the readings are of one instant."""
        apart_ns = self._when().apart_ns
        return self.complete and apart_ns < COHERENT_SHARE * self._period_s * NS_PER_S

    @property
    def newest_ns(self) -> int | None:
        """Return the stamp up to which all joints have come, None before the first."""
        return self._when().newest_ns

    @property
    def newest_arrival_s(self) -> float:
        """Return when the newest joint state came, on the steady clock."""
        return self._when().newest_arrival_s

    @property
    def counts(self) -> Counter[Check]:
        """Return what was dropped or noticed so far."""
        return sum((source.counts for source in self._sources()), self._counts)
