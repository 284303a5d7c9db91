# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Settings by their names: those of version 0.1 are refused, files of 0.1 are converted."""

import json

from lsiq_core import checkpoint
from lsiq_core.config import convert, describe, from_dict, GONE, merge, override, RENAMED, to_dict
from lsiq_core.errors import ConfigError
import pytest
from safetensors.torch import save_file
import torch


def test_every_setting_is_documented_and_every_old_name_leads_to_one():
    known = describe()
    assert all(known.values())
    assert set(RENAMED.values()) <= set(known)
    assert not set(RENAMED) & set(known)


@pytest.mark.parametrize('old', sorted(RENAMED))
def test_an_old_name_is_refused_with_the_new_one(old):
    with pytest.raises(ConfigError, match=f'{old} is called {RENAMED[old]}'):
        from_dict(merge({'task': 'none'}, override(f'{old}=1')))


@pytest.mark.parametrize('gone', sorted(GONE))
def test_a_setting_that_is_gone_is_refused_with_what_to_do(gone):
    with pytest.raises(ConfigError, match=f'{gone} is gone: pretraining.refine=true'):
        from_dict(merge({'task': 'none'}, override(f'{gone}=1')))


def test_old_settings_are_converted_and_present_ones_left_alone():
    old = {
        'task': 'none',
        'networks': {'hidden': [8], 'blind_to': ['force']},
        'idm': {'rate': 1e-3, 'rehearsals': 3},
        'optimisation': {'clone_first': 7, 'expert_batch': 9},
        'collection': {'task_options': {'mixing': {'deep': 1}}},
    }
    config = from_dict(convert(old))
    assert config.networks.privileged_terms == ('force',)
    assert (config.pretraining.refine, config.bc.pretrain_updates) == (True, 7)
    assert config.collection.task_options == {'mixing': {'deep': 1}}
    assert from_dict(convert(to_dict(config))) == config


def test_a_checkpoint_of_version_0_1_has_the_present_names(tmp_path):
    header = {'config': {'task': 'none', 'algorithm': {'mixing': 0.25}}, 'prepared': True}
    names = ('learner.seen', 'learner.bonus.mean', 'learner.actor_average', 'found_actions')
    save_file(
        {name: torch.ones(1) for name in names},
        tmp_path / 'best.safetensors',
        {'format': checkpoint.FORMAT_0_1, 'header': json.dumps(header)},
    )
    tensors, found = checkpoint.load(tmp_path / 'best.safetensors')
    assert set(tensors) == {
        *('learner.actor_mask', 'learner.entropy_critic.mean', 'learner.actor_ema'),
        'refined_actions',
    }
    assert found == {
        'config': {'task': 'none', 'algorithm': {'alpha': 0.25}},
        'pretrained': True,
    }
