# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
What of a model is only looked at is left out of those that are simulated by the hundred.

A robot's meshes are tens of megabytes, and worlds that differ have a model each: 128 of the
Unitree G1 were 10 GB. Pictures need all of it, physics nearly nothing: what collides, and of a
mesh that collides its convex hull, which is all that MuJoCo touches.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from lsiq_core.types import Array
import mujoco
import numpy as np

_ALWAYS_FROM_GEOMS = 1  # inertiafromgeom="true"


class _Hull(NamedTuple):
    """A convex hull in the coordinates of the mesh's file."""

    vertices: Array  # [V, 3]
    faces: Array  # [F, 3]


def strip(tree: mujoco.MjSpec) -> None:
    """Leave out of a model what does not change its physics."""
    tree.compiler.discardvisual = True
    model = tree.copy().compile()  # compiling changes the tree
    names = {model.mesh(i).name: i for i in range(model.nmesh)}
    for mesh in tree.meshes:
        mesh.name = mesh.name or Path(mesh.file).stem  # as MuJoCo would; the file is let go
        index = names.get(mesh.name)
        hull = None if index is None or _has_mass(tree, mesh) else _hull(model, index)
        if hull is None or len(hull.vertices) == model.mesh_vertnum[index]:
            continue
        mesh.file, mesh.content_type = '', ''
        mesh.scale, mesh.refpos, mesh.refquat = (1, 1, 1), (0, 0, 0), (1, 0, 0, 0)
        mesh.uservert, mesh.userface = hull.vertices.ravel(), hull.faces.ravel()
        mesh.usernormal, mesh.usertexcoord = [], []


def _has_mass(tree: mujoco.MjSpec, mesh: Any) -> bool:
    """Return whether a body's mass comes from the shape of this mesh."""
    if int(tree.compiler.inertiafromgeom) == _ALWAYS_FROM_GEOMS:
        return True
    return any(
        not geom.parent.explicitinertial for geom in tree.geoms if geom.meshname == mesh.name
    )


def _hull(model: mujoco.MjModel, mesh: int) -> _Hull | None:
    """Return what MuJoCo collides with, where the mesh has a hull."""
    at = int(model.mesh_graphadr[mesh])
    if at < 0:
        return None
    count, faces = (int(n) for n in model.mesh_graph[at : at + 2])
    first = at + 2 + count
    used = model.mesh_graph[first : first + count]
    corners = model.mesh_graph[first + count + count + 3 * faces :][: 3 * faces]
    vertices = model.mesh_vert[int(model.mesh_vertadr[mesh]) + used].astype(np.float64)
    turn = np.zeros(9)
    mujoco.mju_quat2Mat(turn, model.mesh_quat[mesh])
    places = {int(old): new for new, old in enumerate(used)}
    return _Hull(
        vertices @ turn.reshape(3, 3).T + model.mesh_pos[mesh],
        np.array([places[int(corner)] for corner in corners], np.int32).reshape(-1, 3),
    )
