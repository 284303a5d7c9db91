# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""The lease on a robot's efforts: one process holds it, and its death frees it at once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

from lsiq_ros.control.effort_claim import Lease, lease_directory, RivalError
import pytest

HOLDER = """
import sys, time
from pathlib import Path
from lsiq_ros.control.effort_claim import Lease
Lease('0 /efforts', Path(sys.argv[1])).take()
print('held', flush=True)
time.sleep(600)
"""


@pytest.fixture
def holder(tmp_path):
    words = [sys.executable, '-c', HOLDER, str(tmp_path)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == 'held\n'
    yield process
    process.kill()
    process.wait()


def test_a_second_process_is_refused_and_told_who_holds_it(holder, tmp_path) -> None:
    with pytest.raises(RivalError, match=f'process {holder.pid} holds the lease'):
        Lease('0 /efforts', tmp_path).take()
    other = Lease('1 /efforts', tmp_path)  # another domain is another robot
    other.take()
    assert other.held


def test_a_killed_process_frees_it_at_once(holder, tmp_path) -> None:
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    lease = Lease('0 /efforts', tmp_path)
    lease.take()
    assert lease.held
    lease.release()
    assert not lease.held
    lease.take()


def test_two_claims_of_one_process_exclude_each_other(tmp_path) -> None:
    first, second = Lease('0 /efforts', tmp_path), Lease('0 /efforts', tmp_path)
    first.take()
    with pytest.raises(RivalError):
        second.take()
    first.release()
    second.take()


def test_a_lease_whose_file_was_removed_is_lost(tmp_path) -> None:
    first, second = Lease('0 /efforts', tmp_path), Lease('0 /efforts', tmp_path)
    first.take()
    first.path.unlink()
    assert not first.held
    second.take()
    assert second.held and not first.held


def test_a_link_in_its_place_is_no_lease(tmp_path) -> None:
    lease = Lease('0 /efforts', tmp_path)
    (tmp_path / 'elsewhere').touch()
    lease.path.symlink_to(tmp_path / 'elsewhere')
    with pytest.raises(Exception, match='no lease'):
        lease.take()


def test_all_users_of_a_machine_share_a_directory(monkeypatch) -> None:
    before = lease_directory()
    monkeypatch.setenv('TMPDIR', os.path.expanduser('~'))
    assert lease_directory() == before
