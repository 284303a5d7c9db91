# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Tasks by name."""

from typing import Any

from lsiq_core.robot import is_robot, robot_names, RobotSpec

GYM_TASKS = ('Hopper-v5', 'Walker2d-v5', 'HalfCheetah-v5', 'Ant-v5', 'Humanoid-v5')
TASKS = ('point_mass', *sorted(robot_names()), *GYM_TASKS)


class UnknownTaskError(KeyError):
    """No task has this name."""

    def __str__(self) -> str:
        """Return the message without the quotes that KeyError puts around it."""
        return str(self.args[0])


def make(name: str | RobotSpec, **options: Any) -> Any:
    """
    Make a task.

    :param name: one of :data:`TASKS`, or a robot by the path of its file or as it was read.
    :param options: the task's own options, for example ``observation='full'`` for a robot.
    """
    if name == 'point_mass':
        from sim.point_mass import PointMass

        return PointMass(**options)
    if name in GYM_TASKS:
        from sim.gym_task import GymTask

        return GymTask(name, **options)
    if isinstance(name, str) and not is_robot(name):
        raise UnknownTaskError(
            f'no task {name!r}; there are {", ".join(TASKS)}, and any robot by its file'
        )
    from sim.walking import make_walking

    return make_walking(name, **options)
