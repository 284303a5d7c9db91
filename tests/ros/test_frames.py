# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""What goes onto /tf, held against MuJoCo's own poses; tf2_msgs itself is on no package index."""

from lsiq_ros.simulator.tasks import make_task
from lsiq_ros.wire.messages import base_frame, transform
import mujoco
import numpy as np
import pytest

STAMP_NS = 12_345_678_901


def pose_of(message):
    """Return place and rotation matrix of a transform, by MuJoCo's formula for quaternions."""
    place, turn = message.transform.translation, message.transform.rotation
    matrix = np.empty(9)
    mujoco.mju_quat2Mat(matrix, np.array([turn.w, turn.x, turn.y, turn.z]))
    return np.array([place.x, place.y, place.z]), matrix.reshape(3, 3)


@pytest.fixture(scope='module')
def atlas():
    """Return a task in the midst of a fall, when no frame is upright, and its transforms."""
    task = make_task('atlas', {'observation': 'full'})
    task.env.reset(seed=3)
    for _ in range(12):
        task.env.step(np.linspace(-0.6, 0.9, len(task.joints)))
    frames = [base_frame(task.read().base), *task.frames()]
    return task, {frame.child: transform(frame, STAMP_NS) for frame in frames}


def test_frames_have_the_names_of_the_reps_and_hang_together(atlas):
    _, transforms = atlas
    parents = {child: message.header.frame_id for child, message in transforms.items()}
    assert parents == {
        'base_link': 'odom',
        'torso': 'base_link',
        'l_sole': 'base_link',
        'r_sole': 'base_link',
    }
    stamps = {(m.header.stamp.sec, m.header.stamp.nanosec) for m in transforms.values()}
    assert stamps == {(12, 345_678_901)}


@pytest.mark.parametrize(
    ('frame', 'body', 'below_m'),
    [('l_sole', 'l_talus', 0.074119), ('r_sole', 'r_talus', 0.074119), ('base_link', 'pelvis', 0)],
)
def test_frames_are_where_the_simulation_has_them(atlas, frame, body, below_m):
    task, transforms = atlas
    place, turn = pose_of(transforms['base_link'])
    if frame != 'base_link':
        there, turned = pose_of(transforms[frame])
        place, turn = place + turn @ there, turn @ turned
    link = task.env.data.body(body)
    matrix = link.xmat.reshape(3, 3)
    assert np.abs(matrix - np.eye(3)).max() > 0.015  # else a transposed matrix would pass
    assert turn == pytest.approx(matrix, abs=1e-9)
    assert place == pytest.approx(link.xpos - below_m * matrix[:, 2], abs=1e-9)


def test_soles_touch_the_floor_when_standing():
    task = make_task('atlas', {'observation': 'full', 'start': 'gait'})
    task.env.reset(seed=0)
    transforms = {frame.child: transform(frame, 0) for frame in task.frames()}
    pelvis_m, turn = pose_of(transform(base_frame(task.read().base), 0))
    soles_m = [pelvis_m + turn @ pose_of(transforms[f'{side}_sole'])[0] for side in 'lr']
    assert min(place[2] for place in soles_m) == pytest.approx(0, abs=0.05)
