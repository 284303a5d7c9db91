# Copyright 2026 The lsiq_ros Authors
#
# Use of this source code is governed by an MIT-style
# license that can be found in the LICENSE file or at
# https://opensource.org/licenses/MIT.
"""
The parameters of a node as fields of a dataclass: default, meaning and range in one place.

    @dataclass(frozen=True)
    class Chosen:
        seed: int = parameter(0, 'seeds everything', 0, LARGEST_SEED)

    chosen = declare(node, Chosen)

A field that is such a dataclass itself is a group: ``gate.power_w``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, fields, is_dataclass
from typing import Any, TypeVar

from lsiq_core.errors import ConfigError
from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor
from rclpy.exceptions import ParameterException
from rclpy.node import Node

Chosen = TypeVar('Chosen')


def parameter(
    default: Any,
    text: str,
    low: float | None = None,
    high: float | None = None,
    *,
    choices: tuple[str, ...] = (),
    read_only: bool = True,
) -> Any:
    """
    Return a field that is a parameter.

    :param default: also says the type; a tuple is a list of words.
    :param read_only: whether it stays as it was at the start.
    """
    about = {'text': text, 'low': low, 'high': high, 'choices': choices, 'read_only': read_only}
    return field(default=default, metadata=about)


def declare(node: Node, kind: type[Chosen], *, group: str = '', **defaults: Any) -> Chosen:
    """
    Declare a parameter for every field of a dataclass and return their values.

    :param group: how the names begin.
    :param defaults: instead of those of the fields.
    """
    for entry in fields(kind):  # type: ignore[arg-type]
        about: Any = entry.metadata
        default: Any = defaults.get(entry.name, entry.default)
        if is_dataclass(default):
            declare(node, type(default), group=f'{group}{entry.name}.')
            continue
        words = isinstance(default, tuple)
        descriptor = ParameterDescriptor(
            description=f"{about['text']}; [''] for none" if words else _text(about),
            read_only=about.get('read_only', False),
        )
        if about['low'] is not None and isinstance(default, int):
            span = IntegerRange(from_value=about['low'], to_value=about['high'], step=1)
            descriptor.integer_range = [span]
        elif about['low'] is not None:
            descriptor.floating_point_range = [
                FloatingPointRange(from_value=float(about['low']), to_value=float(about['high']))
            ]
        # An empty list has no type in ROS: one empty text stands for none.
        given = list(default) or [''] if words else default
        try:
            node.declare_parameter(group + entry.name, given, descriptor)
        except ParameterException as error:
            raise ConfigError(str(error)) from error
    return read(node, kind, group=group)


def read(node: Node, kind: type[Chosen], *, group: str = '') -> Chosen:
    """Return the present values of what :func:`declare` declared."""
    values: dict[str, Any] = {}
    for entry in fields(kind):  # type: ignore[arg-type]
        name, about = group + entry.name, entry.metadata
        if is_dataclass(entry.default):
            values[entry.name] = read(node, type(entry.default), group=f'{name}.')
            continue
        value: Any = node.get_parameter(name).value
        if about.get('choices') and value not in about['choices']:
            raise ConfigError(f'parameter {name} is {value!r}, expected {_text(about)}')
        words = isinstance(entry.default, tuple)
        values[entry.name] = tuple(' '.join(value).split()) if words else value
    return kind(**values)


def _text(about: Mapping[str, Any]) -> str:
    choices = about.get('choices')
    return about['text'] + (f', one of {list(choices)}' if choices else '')
