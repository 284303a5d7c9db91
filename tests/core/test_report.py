# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""Statistics against hand-worked numbers; the page complete and self-contained."""

import csv
from html.parser import HTMLParser
import json

from lsiq_core.errors import CheckpointError
from lsiq_core.report.charts import looks
from lsiq_core.report.page import write_report
from lsiq_core.report.runs import find_runs, flat, grouped, score_name
from lsiq_core.report.statistics import bootstrap, interquartile_mean, mean_interval
from lsiq_core.report.tables import summary
import numpy as np
import pytest
import yaml


def test_interquartile_mean_drops_the_outer_quarters():
    assert interquartile_mean(np.array([100.0, 2.0, 3.0, -50.0])) == pytest.approx(2.5)
    eight = np.array([0.0, 0.0, 1.0, 2.0, 3.0, 4.0, 90.0, 90.0])
    assert interquartile_mean(eight) == pytest.approx(2.5)


def test_interquartile_mean_counts_outer_values_in_part():
    # Five values: the middle 2.5 of them are 0.75 of the second, the third, 0.75 of the fourth.
    five = np.array([-9.0, 1.0, 2.0, 5.0, 99.0])
    assert interquartile_mean(five) == pytest.approx((0.75 * 1 + 2 + 0.75 * 5) / 2.5)
    assert interquartile_mean(np.array([7.0])) == pytest.approx(7.0)
    assert interquartile_mean(np.array([1.0, 2.0])) == pytest.approx(1.5)


def test_bootstrap_interval_holds_the_value_and_is_repeatable():
    values = np.array([0.1, 0.4, 0.5, 0.6, 0.9])
    first, again = bootstrap(values), bootstrap(values)
    assert first == again
    assert 0.1 <= first.low < first.value < first.high <= 0.9
    assert bootstrap(np.array([0.3])) == pytest.approx((0.3, 0.3, 0.3))


def test_mean_interval_is_students():
    # mean 2, deviation 1, three values: 4.303 / sqrt 3.
    assert mean_interval(np.array([1.0, 2.0, 3.0])) == pytest.approx(
        (2.0, 2.0 - 4.303 / 3**0.5, 2.0 + 4.303 / 3**0.5)
    )


def make_run(folder, name, algorithm, seed, score, finished=True):
    place = folder / name
    place.mkdir(parents=True)
    settings = {'task': 'point_mass', 'seed': seed, 'algorithm': {'name': algorithm}}
    kept = {'demos': None, 'episodes': 5, 'run': settings}
    (place / 'config.yaml').write_text(yaml.safe_dump(kept))
    lines = [
        {'step': 10, 'evaluation/normalized_return': 0.0, 'critic/q_absorbing': -3.0},
        {'step': 20, 'evaluation/normalized_return': score, 'critic/q_other': 7.0},
    ]
    (place / 'metrics.jsonl').write_text(''.join(json.dumps(line) + '\n' for line in lines))
    if finished:
        result = {'normalized_return': score, 'steps': 20, 'minutes': 1.5}
        (place / 'result.json').write_text(json.dumps(result))


@pytest.fixture
def runs(tmp_path):
    for seed, score in enumerate((0.2, 0.3, 0.4)):
        make_run(tmp_path / 'runs', f'point_mass_lsiq_d5_s{seed}', 'lsiq', seed, score)
    make_run(tmp_path / 'runs', 'point_mass_<iq>_d5_s0', 'iq', 0, 0.1, finished=False)
    return tmp_path / 'runs'


def test_seeds_of_one_thing_are_one_group(runs):
    (groups,) = grouped(find_runs([runs])).values()
    assert {group.label: len(group.runs) for group in groups} == {'lsiq': 3, '<iq>': 1}


def test_seed_from_before_a_setting_came_is_in_the_group(runs):
    make_run(runs, 'point_mass_lsiq_d5_s3', 'lsiq', 3, 0.5)
    config = yaml.safe_load((runs / 'point_mass_lsiq_d5_s3' / 'config.yaml').read_text())
    config['run']['bc'] = {'pretrain_updates': 0}  # the default, which the others lack
    (runs / 'point_mass_lsiq_d5_s3' / 'config.yaml').write_text(yaml.safe_dump(config))
    (groups,) = grouped(find_runs([runs])).values()
    assert {group.label: len(group.runs) for group in groups} == {'lsiq': 4, '<iq>': 1}


def test_number_of_demonstrations_is_named_where_it_differs(runs):
    make_run(runs, 'point_mass_lsiq_d9_s0', 'lsiq', 0, 0.5)
    config = yaml.safe_load((runs / 'point_mass_lsiq_d9_s0' / 'config.yaml').read_text())
    config['episodes'] = 9
    (runs / 'point_mass_lsiq_d9_s0' / 'config.yaml').write_text(yaml.safe_dump(config))
    (groups,) = grouped(find_runs([runs])).values()
    assert {group.label for group in groups} == {'lsiq_d5', 'lsiq_d9', '<iq>_d5'}


def test_algorithm_keeps_its_colour_and_its_second_group_dashes(runs):
    (groups,) = grouped(find_runs([runs])).values()
    by_name = {group.label: group for group in groups}
    lsiq, iq = by_name['lsiq'], by_name['<iq>']
    first, second, third = looks([lsiq, iq, lsiq], ['lsiq', 'iq'])
    assert first[0] == third[0] != second[0]
    assert (first[1], second[1], third[1]) == ('-', '-', '--')
    assert looks([iq], ['lsiq', 'iq']) == [second]


def test_unfinished_seed_does_not_count_beside_finished_ones(runs):
    make_run(runs, 'point_mass_lsiq_d5_s3', 'lsiq', 3, -9.0, finished=False)
    (groups,) = grouped(find_runs([runs])).values()
    rows = {row['group']: row for row in summary('point_mass', groups)}
    assert (rows['lsiq']['seeds'], rows['lsiq']['unfinished']) == (3, 1)
    assert rows['lsiq']['mean'] == pytest.approx(0.3)
    assert (rows['<iq>']['seeds'], rows['<iq>']['mean']) == (1, pytest.approx(0.1))


def test_report_does_not_tell_where_on_a_machine_things_lie():
    assert flat({'pretraining': {'from_run': '/home/me/runs/first'}}) == {
        'pretraining.from_run': 'first'
    }


def test_group_that_has_just_begun_does_not_change_the_score(runs):
    make_run(runs, 'point_mass_new_d5_s0', 'gail', 0, 0.0, finished=False)
    (runs / 'point_mass_new_d5_s0' / 'metrics.jsonl').write_text('{"step": 1}\n')
    (groups,) = grouped(find_runs([runs])).values()
    assert score_name(groups) == 'normalized_return'


def test_page_is_complete_and_needs_no_network(runs, tmp_path):
    page = write_report([runs], tmp_path / 'out', title='A & B')
    text = page.read_text()
    addresses = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag, attrs):
            assert tag not in ('script', 'link', 'iframe')
            addresses.extend(v for k, v in attrs if k in ('src', 'href'))

    Reader().feed(text)
    assert addresses and all(each.startswith('data:') for each in addresses)
    assert 'A &amp; B' in text and '&lt;iq&gt;' in text and '<iq>' not in text
    assert '0.300 [' in text  # the interquartile mean of 0.2, 0.3 and 0.4
    assert '<td>0.100</td>' in text  # one seed has no interval
    assert 'expert&#x27;s actions' in text and 'From states alone' not in text
    assert '1 unfinished' in text
    assert 'algorithm.name' in text


def test_csv_holds_the_same_figures(runs, tmp_path):
    write_report([runs], tmp_path / 'out', title='x')
    with open(tmp_path / 'out' / 'summary.csv') as stream:
        rows = list(csv.DictReader(stream))
    assert [(row['group'], float(row['iqm'])) for row in rows] == [
        ('lsiq', pytest.approx(0.3)),
        ('<iq>', pytest.approx(0.1)),
    ]
    assert float(rows[0]['q_absorbing']) == -3.0 and float(rows[0]['q_other']) == 7.0
    with open(tmp_path / 'out' / 'curves.csv') as stream:
        assert len(list(csv.DictReader(stream))) == 4 * 4
    with open(tmp_path / 'out' / 'runs.csv') as stream:
        assert [row['finished'] for row in csv.DictReader(stream)].count('False') == 1


def test_directory_without_runs_is_refused(tmp_path):
    with pytest.raises(CheckpointError, match='no run there'):
        write_report([tmp_path], tmp_path / 'out', title='x')
    with pytest.raises(CheckpointError, match='no such directory'):
        write_report([tmp_path / 'nothing'], tmp_path / 'out', title='x')
