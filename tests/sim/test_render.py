# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Pictures without a display."""

from lsiq_core.robot import load_robot
import numpy as np
import pytest
from sim import render
from sim.gait import Gait
from sim.robot import MujocoRobot
from sim.tracking import film
from sim.tracking.reference import gait_reference
from sim.tracking.tracker import Tracker
from sim.tracking.train import answers
from sim.walking import Walking


def test_frames_show_the_robot_and_make_a_film(tmp_path):
    env = Walking()
    gait = Gait(env.spec)
    env.reset_to(gait.kinematic_frames(0.1))
    try:
        camera = render.Camera(env.model, width=160, height=120)
    except render.RenderingUnavailable as error:
        pytest.skip(str(error))
    with camera:
        frames = [camera.frame(env.data)]
        env.reset_to(gait.kinematic_frames(0.6))
        frames.append(camera.frame(env.data))
    assert frames[0].shape == (120, 160, 3)
    assert frames[0].std() > 10  # not one colour
    assert np.abs(frames[0].astype(int) - frames[1]).max() > 50  # it moved
    render.write_strip(tmp_path / 'strip.png', frames, columns=2)
    assert (tmp_path / 'strip.png').stat().st_size > 1000
    pytest.importorskip('imageio_ffmpeg')
    render.write_mp4(tmp_path / 'film.mp4', frames * 3)
    assert (tmp_path / 'film.mp4').stat().st_size > 1000


def test_what_to_install_is_said_when_nothing_works(monkeypatch):
    monkeypatch.delenv('MUJOCO_GL', raising=False)
    monkeypatch.setattr(render, '_BACKENDS', ('no_such_backend',))
    with pytest.raises(render.RenderingUnavailable, match=r'libegl1.*libosmesa6'):
        render.Camera(Walking().model)


def test_a_film_of_a_tracker_shows_all_of_the_robot(tmp_path, monkeypatch):
    """The robots that a tracker moves have lost what is only drawn; the filmed one has not."""
    spec = load_robot('atlas_pd')
    filmed = []

    class Lens(film.Camera):
        def __init__(self, model, **options):
            filmed.append(model.ngeom)
            super().__init__(model, **options)

    monkeypatch.setattr(film, 'Camera', Lens)
    reference = gait_reference(spec, MujocoRobot(spec, forces=False).joints)
    answer = answers(Tracker(MujocoRobot(spec, forces=False), reference))
    try:
        film.write_film(answer, spec, reference, tmp_path / 'film.mp4', seconds=0.2)
    except render.RenderingUnavailable as error:
        pytest.skip(str(error))
    assert filmed == [MujocoRobot(spec).model.ngeom] and filmed[0] > 10
    assert (tmp_path / 'film.png').is_file()
