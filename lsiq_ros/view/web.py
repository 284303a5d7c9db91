# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
A robot in a browser, live; see docs/adr/0042-viser-for-the-browser.md.

The robot stays in the middle and the floor moves below it. A ghost, if there is one, walks beside.
"""

from collections.abc import Callable, Mapping, Sequence
from html import escape
import math
import socket
import time
from typing import Any

from lsiq_core.errors import LsiqError
from lsiq_core.types import Array
from lsiq_ros.view.robot import Motion
import mujoco
import numpy as np
from sim.robot import MujocoRobot
from sim.walking import Walking

Start = Callable[[], tuple[Walking, Motion]]
FRAMES_PER_S = 25.0
PORT = 8080
_PANEL_S = 0.1  # between two pictures of the torques
_VISIBLE_GROUPS = 3  # MuJoCo shows geoms of groups 0, 1 and 2
_GHOST_RGBA = (0.25, 0.45, 0.85, 0.35)
_TILE_M = 1.0


class WebScene:
    """
    The page: a robot, its ghost, bars of torque and lines of text.

    :param ghost: show a second one beside it.
    :param host: where to listen; 127.0.0.1 is this machine alone.
    :param port: 0 for any that is free.
    """

    def __init__(
        self, robot: MujocoRobot, *, ghost: bool = False, host: str = '127.0.0.1', port: int = PORT
    ) -> None:
        try:
            import viser
        except ImportError as error:
            raise LsiqError(f"needs viser: pip install 'lsiq_ros[web]' ({error})") from error
        self._robot, model = robot, robot.model
        port = port or _free_port(host)
        try:
            self.server = viser.ViserServer(
                host=host, port=port, label=f'lsiq: {robot.spec.name}', verbose=False
            )
        except OSError as error:
            raise LsiqError(
                f'cannot listen on {host}:{port}: {error}; choose another port'
            ) from error
        if self.server.get_port() != port:  # viser takes the next one
            self.server.stop()
            raise LsiqError(f'{host}:{port} is taken; choose another port')
        self.url = f'http://{host}:{port}'
        gui = self.server.gui
        gui.configure_theme(control_layout='collapsible', show_logo=False, show_share_button=False)
        self._text, self._bars = gui.add_html(''), gui.add_html('')
        # Shadows cost most where the browser draws without a graphics card.
        self.server.scene.configure_default_lights(cast_shadow=False)
        self._floor = self.server.scene.add_grid(
            '/floor', width=40.0, height=40.0, cell_size=_TILE_M / 2, section_size=_TILE_M
        )
        size = max(float(model.stat.extent), 0.3)
        self._beside_m = 0.8 * size
        self._bodies = _add_robot(self.server.scene, '/robot', model)
        self._ghost = _add_robot(self.server.scene, '/ghost', model, _GHOST_RGBA) if ghost else []
        camera = self.server.initial_camera
        camera.position = (1.0 * size, -1.6 * size, 0.9 * size)
        camera.look_at = (0.0, 0.2 * size if ghost else 0.0, 0.35 * size)
        self._drawn_s, self._panel_s = -math.inf, -math.inf
        highest = [max(-f.effort_low_nm, f.effort_high_nm) for f in robot.facts]
        self._limits = dict(zip(robot.joints, highest))

    @property
    def due(self) -> bool:
        """Return whether it is time for another picture."""
        return time.monotonic() >= self._drawn_s + 1 / FRAMES_PER_S

    def draw(self, data: mujoco.MjData, ghost: mujoco.MjData | None = None) -> None:
        """Show poses that MuJoCo has computed."""
        self._drawn_s = time.monotonic()
        at = self._robot.base_qpos
        with self.server.atomic():
            place = np.append(data.qpos[at : at + 2], 0.0)
            _move(self._bodies, data, -place)
            self._floor.position = (*(-place[:2] % _TILE_M), 0.0)
            if ghost is not None:
                aside = np.array([0.0, self._beside_m, 0.0])
                _move(self._ghost, ghost, aside - np.append(ghost.qpos[at : at + 2], 0.0))

    def tell(self, efforts_nm: Mapping[str, float], lines: Sequence[tuple[str, str]]) -> None:
        """Show joint torques as bars, and lines of name and text."""
        if time.monotonic() < self._panel_s + _PANEL_S:
            return
        self._panel_s = time.monotonic()
        self._text.content = _table(
            f'<td style="color:#777;padding-right:1em">{escape(name)}</td><td>{escape(text)}</td>'
            for name, text in lines
        )
        self._bars.content = _table(
            _bar(name, effort, self._limits.get(name, 1.0)) for name, effort in efforts_nm.items()
        )

    def close(self) -> None:
        """Stop serving."""
        self.server.stop()


def play(scene: WebScene, start: Start, ghost: Start | None = None) -> None:
    """Let a robot move in real time, over and over, with a ghost beside it."""
    while True:
        env, steps = start()
        other, beside = ghost() if ghost else (None, iter(()))
        at, due_s = env.robot.base_qpos, time.monotonic()
        for number, _ in enumerate(steps):
            next(beside, None)  # one that has ended stands where it is
            if scene.due:
                scene.draw(env.data, None if other is None else other.data)
            time_s, moved_m = number / env.rate_hz, float(env.data.qpos[at])
            scene.tell(
                dict(zip(env.joints, env.efforts_nm.tolist())),
                [
                    ('time', f'{time_s:.1f} s'),
                    ('forward', f'{moved_m:.2f} m, {moved_m / max(time_s, 0.1):.2f} m/s'),
                    ('base', f'{float(env.data.qpos[at + 2]):.2f} m high'),
                ],
            )
            due_s = max(due_s + 1 / env.rate_hz, time.monotonic() - 0.5)
            time.sleep(max(0.0, due_s - time.monotonic()))


def _add_robot(
    scene: Any, root: str, model: mujoco.MjModel, rgba: Sequence[float] | None = None
) -> list[tuple[int, Any]]:
    """Add a frame for each body and its visible geoms below; return the frames by body."""
    frames = []
    for body in range(model.nbody):
        first, count = int(model.body_geomadr[body]), int(model.body_geomnum[body])
        geoms = [i for i in range(first, first + count) if _visible(model, i)]
        if not geoms or (body == 0 and rgba is not None):
            continue
        frame = scene.add_frame(f'{root}/{body}', show_axes=False)
        for geom in geoms:
            vertices, faces = _mesh(model, geom)
            colour = rgba or _colour(model, geom)
            scene.add_mesh_simple(
                f'{root}/{body}/{geom}',
                vertices=vertices.astype(np.float32),
                faces=faces.astype(np.uint32),
                color=tuple(round(255 * float(part)) for part in colour[:3]),
                opacity=None if colour[3] >= 1 else float(colour[3]),
                flat_shading=True,
                wxyz=model.geom_quat[geom],
                position=model.geom_pos[geom],
            )
        frames.append((body, frame))
    return frames


def _move(frames: list[tuple[int, Any]], data: mujoco.MjData, by: Array) -> None:
    for body, frame in frames:
        frame.wxyz, frame.position = data.xquat[body].copy(), data.xpos[body] + by


def _visible(model: mujoco.MjModel, geom: int) -> bool:
    plane = model.geom_type[geom] in (
        int(mujoco.mjtGeom.mjGEOM_PLANE),
        int(mujoco.mjtGeom.mjGEOM_HFIELD),
    )
    return bool(
        not plane and model.geom_group[geom] < _VISIBLE_GROUPS and _colour(model, geom)[3] > 0
    )


def _colour(model: mujoco.MjModel, geom: int) -> Array:
    material = int(model.geom_matid[geom])
    return model.geom_rgba[geom] if material < 0 else model.mat_rgba[material]


def _mesh(model: mujoco.MjModel, geom: int) -> tuple[Array, Array]:
    """Return a geom's triangles in its own frame."""
    from trimesh import creation

    kind, size = int(model.geom_type[geom]), model.geom_size[geom]
    kinds = mujoco.mjtGeom
    if kind == int(kinds.mjGEOM_MESH):
        mesh = int(model.geom_dataid[geom])
        vertex, face = int(model.mesh_vertadr[mesh]), int(model.mesh_faceadr[mesh])
        last_vertex = vertex + int(model.mesh_vertnum[mesh])
        last_face = face + int(model.mesh_facenum[mesh])
        return model.mesh_vert[vertex:last_vertex], model.mesh_face[face:last_face]
    if kind == int(kinds.mjGEOM_BOX):
        shape = creation.box(2 * size)
    elif kind == int(kinds.mjGEOM_CAPSULE):
        shape = creation.capsule(height=2 * size[1], radius=size[0], count=[16, 16])
        shape.apply_translation(-shape.bounds.mean(axis=0))
    elif kind == int(kinds.mjGEOM_CYLINDER):
        shape = creation.cylinder(radius=size[0], height=2 * size[1], sections=24)
    else:  # a sphere, or an ellipsoid
        shape = creation.icosphere(subdivisions=2, radius=1.0)
        shape.apply_scale(size if kind == int(kinds.mjGEOM_ELLIPSOID) else size[0])
    return np.asarray(shape.vertices), np.asarray(shape.faces)


def _free_port(host: str) -> int:
    with socket.socket() as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])


def _bar(name: str, effort: float, limit: float) -> str:
    share = min(1.0, abs(effort) / limit) if math.isfinite(effort) else 1.0
    side = 'left' if effort >= 0 else 'right'
    colour = '#c0392b' if share > 0.95 else '#2e86c1'
    return (
        f'<td style="color:#777">{escape(name)}</td>'
        '<td style="width:45%"><div style="position:relative;height:.7em;background:#eee">'
        f'<div style="position:absolute;{side}:50%;height:100%;width:{50 * share:.1f}%;'
        f'background:{colour}"></div></div></td>'
        f'<td style="text-align:right">{effort:.1f}</td>'
    )


def _table(rows: Any) -> str:
    body = ''.join(f'<tr>{row}</tr>' for row in rows)
    return f'<table style="width:100%;font-size:.75em;line-height:1.25">{body}</table>'
