# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""A policy file of version 0.1 as one of today: the same torques from today's readings."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from lsiq_core.atomic import atomic_write
from lsiq_core.conversion import is_old, NEAREST_OLD, new_states, new_terms, put_in_front
from lsiq_core.policy.artifact import (
    Bounds,
    GoldenTrace,
    ObservationTerm,
    parse_artifact,
    read_artifact,
    Verification,
    verify_artifact,
)
from lsiq_core.policy.artifact.checksum import append_checksum
from lsiq_core.policy.artifact.metadata import METADATA_KEY, to_json
from lsiq_core.policy.artifact.structure import INPUT_NAME
from lsiq_core.robot import is_robot, load_robot
import numpy as np
import onnx


def convert_policy(path: Path, out: Path) -> Verification:
    """Write the policy with the base by REP-103, and verify it."""
    artifact = read_artifact(path)
    metadata, terms = artifact.metadata, artifact.metadata.observation_names
    model = onnx.load_model_from_string(artifact.content)
    if is_old(terms):
        put_in_front(model, terms, INPUT_NAME)
        renamed = new_terms(terms)
        old = dict(zip(terms, metadata.observation))
        signs = [NEAREST_OLD.get(name, ('', 1.0))[1] for name in renamed]
        sources = [NEAREST_OLD.get(name, (term, 1.0))[0] for name, term in zip(renamed, terms)]
        metadata = replace(
            metadata,
            observation=tuple(
                _renamed(old[source], name, sign)
                for name, source, sign in zip(renamed, sources, signs)
            ),
            demonstration_bounds=_turned(
                metadata.demonstration_bounds, [terms.index(s) for s in sources], signs
            ),
            training_bounds=_turned(
                metadata.training_bounds, [terms.index(s) for s in sources], signs
            ),
            golden=tuple(_trace(trace, terms) for trace in metadata.golden),
            training={**metadata.training, 'base_readings': 'converted from version 0.1'},
        )
    if is_robot(metadata.robot):  # 0.1 hashed what its Python wrote, now it is the MJCF file
        sha256 = load_robot(metadata.robot).model_sha256()
        metadata = replace(metadata, robot_model_sha256=sha256)
    del model.metadata_props[:]
    model.metadata_props.add(key=METADATA_KEY, value=to_json(metadata))
    content = append_checksum(model.SerializeToString(deterministic=True))
    verification = verify_artifact(parse_artifact(str(out), content))
    atomic_write(out, lambda temporary: temporary.write_bytes(content))
    return verification


def _renamed(term: ObservationTerm, name: str, sign: float) -> ObservationTerm:
    """Return a term under its new name; the normaliser inside the graph is told to first order."""
    return replace(term, name=name, offset=sign * term.offset)


def _turned(bounds: Bounds, columns: list[int], signs: list[float]) -> Bounds:
    """Return bounds of today's readings, to first order in the angles."""
    pairs = [
        sorted((sign * bounds.low[column], sign * bounds.high[column]))
        for column, sign in zip(columns, signs)
    ]
    low, high = zip(*pairs)
    return Bounds(low=low, high=high, samples=bounds.samples)


def _trace(trace: GoldenTrace, terms: tuple[str, ...]) -> GoldenTrace:
    row = new_states(np.array([trace.observation]), terms)[0]
    raw: dict[str, Any] | None = trace.raw
    if raw is not None:
        raw = {'base' if key == 'pelvis' else key: value for key, value in raw.items()}
    return replace(trace, observation=tuple(float(value) for value in row), raw=raw)
