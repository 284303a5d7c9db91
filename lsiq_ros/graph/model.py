# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""What a graph is: arguments, nodes, and how the one fills in the other."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
import re
from typing import Union

from lsiq_core.errors import ConfigError

Value = Union[str, int, float, bool, list[str]]
_WHOLE_REFERENCE = re.compile(r'^\{(\w+)\}$')
_TRUTHS = {'true': True, 'yes': True, '1': True, 'false': False, 'no': False, '0': False}


class GraphError(ConfigError):
    """A graph or an argument of it is unknown, or a value does not fit."""


@dataclass(frozen=True)
class Argument:
    """Something a user may set by ``name:=value``; the default's type is its type."""

    name: str
    default: Value
    description: str
    choices: tuple[str, ...] = ()

    def read(self, text: str) -> Value:
        """Return the value that a text stands for."""
        try:
            if isinstance(self.default, bool):
                return _TRUTHS[text.lower()]
            value: Value = type(self.default)(text)
        except (ValueError, KeyError):
            kind = type(self.default).__name__
            raise GraphError(f'{self.name}:={text}: not a {kind} ({self.description})') from None
        if self.choices and value not in self.choices:
            raise GraphError(f'{self.name}:={text}: expected one of {list(self.choices)}')
        return value


@dataclass(frozen=True)
class NodeSpec:
    """
    A node of a graph; ``{argument}`` in a text stands for the argument's value.

    :param executable: the module below lsiq_ros, and the name for ``ros2 run``.
    :param passed: arguments of the graph that are parameters of the same name.
    :param parameters: laid over those of ``config/nodes/<executable>.yaml``.
    :param remappings: from relative names to others.
    :param namespace: where it lives; ``{copy}`` counts the copies of a node.
    :param copies: how many there are.
    :param unless: an argument; where it is true the node is left out.
    :param only_if: an argument; where it is false the node is left out.
    """

    executable: str
    passed: tuple[str, ...] = ()
    parameters: Mapping[str, Value] = field(default_factory=dict)
    remappings: Mapping[str, str] = field(default_factory=dict)
    namespace: str = ''
    copies: Value = 1
    unless: str = ''
    only_if: str = ''


@dataclass(frozen=True)
class ResolvedNode:
    """A node with every value in place."""

    label: str
    executable: str
    namespace: str
    parameters: Mapping[str, Value]
    remappings: Mapping[str, str]


@dataclass(frozen=True)
class Graph:
    """Nodes that belong together."""

    name: str
    description: str
    arguments: tuple[Argument, ...]
    nodes: tuple[NodeSpec, ...]
    local: bool = True  # no other machine takes part unless told otherwise
    renamed: Mapping[str, str] = field(default_factory=dict)  # old arguments, and what to say now

    def values(self, given: Mapping[str, str]) -> dict[str, Value]:
        """Return the value of every argument."""
        known = {argument.name: argument for argument in self.arguments}
        unknown = sorted(set(given) - set(known))
        for name in unknown:
            if name in self.renamed:
                raise GraphError(f'{self.name}: {name} is now {self.renamed[name]}')
        if unknown:
            raise GraphError(f'{self.name} has no argument {unknown}; it has {sorted(known)}')
        return {
            name: argument.read(given[name]) if name in given else argument.default
            for name, argument in known.items()
        }

    def resolve(self, given: Mapping[str, str]) -> list[ResolvedNode]:
        """Return the nodes to start."""
        values = self.values(given)
        return [
            node
            for spec in self.nodes
            if not (spec.unless and values[spec.unless])
            and (not spec.only_if or values[spec.only_if])
            for node in _resolve(spec, values)
        ]


def assignments(texts: Sequence[str]) -> dict[str, str]:
    """Read ``name:=value`` texts."""
    pairs: dict[str, str] = {}
    for text in texts:
        name, separator, value = text.partition(':=')
        if not separator or not name:
            raise GraphError(f'{text!r}: expected name:=value')
        if name in pairs:
            raise GraphError(f'{name} is given twice: {name}:={pairs[name]} and {text}')
        pairs[name] = value
    return pairs


def _resolve(spec: NodeSpec, values: Mapping[str, Value]) -> Iterator[ResolvedNode]:
    copies = int(str(_fill(spec.copies, values)))
    for copy in range(copies):
        here = {**values, 'copy': copy}
        label = spec.executable if copies == 1 else f'{spec.executable}_{copy}'
        yield ResolvedNode(
            label=label,
            executable=spec.executable,
            namespace=str(_fill(spec.namespace, here)),
            parameters={
                **{name: values[name] for name in spec.passed},
                **{name: _fill(value, here) for name, value in spec.parameters.items()},
            },
            remappings={
                name: str(_fill(to, here))
                for name, to in spec.remappings.items()
                if _fill(to, here) != name
            },
        )


def _fill(value: Value, values: Mapping[str, Value]) -> Value:
    """Put arguments into a text; a text that is one reference takes the argument's type."""
    if isinstance(value, list):
        return [str(_fill(item, values)) for item in value]
    if not isinstance(value, str):
        return value
    whole = _WHOLE_REFERENCE.match(value)
    return values[whole.group(1)] if whole else value.format_map(values)
