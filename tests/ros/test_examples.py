# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""The example of docs/robots.md drives the topics of a sim node."""

from node_processes import at_most_s, own_domain, ROOT, start_node, start_python, stop
import pytest

EXAMPLE = str(ROOT / 'docs/examples/pd_controller.py')


@pytest.fixture(scope='module')
def domain():
    """Give a domain with quad in it, whose time waits for commands on a busy machine."""
    with own_domain() as number:
        words = ('task:=quad', 'wait_for_command:=true', 'command_timeout_s:=5.0')
        simulator = start_node('sim_node', number, *(w for word in words for w in ('-p', word)))
        yield number
        stop(simulator)


@pytest.mark.parametrize(
    ('words', 'says', 'code'),
    [
        ((), ', base at 0.2', 0),
        (('--swing', '.*hip', '--lift', '.*knee', '--swing-rad', '0.16'), 'no fall', 0),
        (('--stiffness', '0.1', '--damping', '0.1'), 'it fell', 1),
    ],
)
def test_quad_is_held_trots_and_falls(domain, words, says, code):
    example = start_python(domain, EXAMPLE, 'quad', '--seconds', '3', *words)
    output, _ = example.communicate(timeout=at_most_s(90))
    assert says in output and example.returncode == code, output
