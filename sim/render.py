# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Pictures of a robot without a display: frames, a strip of them, and mp4 files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
import importlib
import os
from pathlib import Path
from typing import Any

from lsiq_core.types import Array
import mujoco
import numpy as np

_BACKENDS = ('egl', 'osmesa')  # the graphics card or its emulation, then plain software


class RenderingUnavailable(RuntimeError):
    """No off-screen renderer works here; the message says what to install."""


class Camera:
    """
    An off-screen camera.

    mujoco.Renderer takes its backend from MUJOCO_GL at the first import of mujoco, which is
    too early for a library; this tries EGL and OSMesa when a picture is first wanted.
    """

    def __init__(
        self,
        model: mujoco.MjModel,
        *,
        width: int = 640,
        height: int = 480,
        view: str = 'corner',
    ) -> None:
        """
        Open a context and upload the model.

        :param width: of the picture; at most 1920.
        :param height: of the picture; at most 1080.
        :param view: a camera of the model, ``corner`` or ``side``.
        """
        self._model = model
        self._context = _open_context(width, height)
        self._context.make_current()
        self._scene = mujoco.MjvScene(model, maxgeom=1000)
        self._option = mujoco.MjvOption()
        self._option.sitegroup[:] = 0
        self._target = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_150.value)
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN.value, self._target)
        self._rect = mujoco.MjrRect(0, 0, width, height)
        self._view = mujoco.MjvCamera()
        self._view.type = mujoco.mjtCamera.mjCAMERA_FIXED
        self._view.fixedcamid = model.camera(view).id
        self._everything = mujoco.mjtCatBit.mjCAT_ALL.value

    def frame(self, data: mujoco.MjData) -> Array:
        """Return a picture of the simulation as it stands, [height, width, 3] uint8."""
        mujoco.mjv_updateScene(
            self._model, data, self._option, None, self._view, self._everything, self._scene
        )
        self._context.make_current()
        mujoco.mjr_render(self._rect, self._scene, self._target)
        pixels = np.empty((self._rect.height, self._rect.width, 3), np.uint8)
        mujoco.mjr_readPixels(pixels, None, self._rect, self._target)
        return np.flipud(pixels)

    def close(self) -> None:
        """Release the context."""
        self._target.free()
        self._context.free()

    def __enter__(self) -> Camera:
        """Use as a context manager."""
        return self

    def __exit__(self, *_: object) -> None:
        """Release the context."""
        self.close()


def write_mp4(path: Path | str, frames: Iterable[Array], *, fps: float = 50.0) -> None:
    """Write frames as an H.264 file that browsers play."""
    try:
        import imageio.v2 as imageio
    except ImportError as error:
        raise RenderingUnavailable(
            'writing mp4 needs imageio with ffmpeg: pip install "imageio[ffmpeg]"'
        ) from error
    with imageio.get_writer(
        path, format='FFMPEG', fps=fps, codec='libx264', quality=7, macro_block_size=2
    ) as writer:
        for frame in frames:
            writer.append_data(frame)  # type: ignore[attr-defined]


def write_strip(path: Path | str, frames: Sequence[Array], *, columns: int = 6) -> None:
    """Write some of the frames, evenly spaced, side by side as a PNG."""
    from PIL import Image

    chosen = [frames[round(i)] for i in np.linspace(0, len(frames) - 1, columns)]
    Image.fromarray(np.concatenate(chosen, axis=1)).save(path)


def _open_context(width: int, height: int) -> Any:
    asked = os.environ.get('MUJOCO_GL', '').lower()
    reasons = []
    for backend in (asked,) if asked in _BACKENDS else _BACKENDS:
        try:
            return importlib.import_module(f'mujoco.{backend}').GLContext(width, height)
        except Exception as error:  # each backend fails in its own way
            reasons.append(f'{backend}: {type(error).__name__}: {error}')
    raise RenderingUnavailable(
        'no off-screen rendering here. Install EGL ("apt-get install libegl1 libgl1-mesa-dri") '
        'or OSMesa ("apt-get install libosmesa6") and PyOpenGL. Tried: ' + '; '.join(reasons)
    )
