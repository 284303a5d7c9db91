# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Write the policy of a run as one self-describing ONNX file, and verify it."""

from __future__ import annotations

from pathlib import Path

from lsiq_core.policy.artifact import Verification
from lsiq_core.policy.export import bounds_of, export_policy
from lsiq_core.policy.export_run import (
    golden_states,
    observed_columns,
    policy_module,
    run_metadata,
    training_bounds,
)
from lsiq_core.policy.policies import load_policy
from lsiq_ros.robot_limits import robot_facts
from lsiq_ros.runs.tasks import BUILT_IN, load_demos
from lsiq_ros.wire.observation import raw_from_observation
import torch


def export_run(run: Path, out: Path, demos: str | None = None) -> Verification:
    """
    Export a trained policy.

    :param run: run directory or checkpoint file.
    :param out: the policy file to write.
    :param demos: demonstrations of the run, if they do not lie where they did.
    """
    torch.set_num_threads(1)
    learner, state, header = load_policy(run)
    source, task = header['demonstrations'], header['spec']['task']
    built_in = source['source'].startswith(BUILT_IN)
    where = demos or (None if built_in else source['source'])
    shown = load_demos(where, task, episodes=source['episodes'], with_actions=False)
    columns = observed_columns(state)
    terms = [header['spec']['observation'][column]['name'] for column in columns]
    facts = robot_facts(task, terms, bounds_of(shown.states[:, columns]))
    metadata = run_metadata(
        learner,
        state,
        header,
        shown,
        trained=training_bounds(run if run.is_dir() else run.parent, learner, columns),
        joint_limits=facts.joint_limits,
        robot=facts.name,
        robot_model_sha256=facts.model_sha256,
    )
    return export_policy(
        policy_module(learner, state, header),
        metadata,
        out,
        golden_observations=golden_states(shown, columns),
        raw_of=raw_from_observation if facts.joint_limits else None,
    )
