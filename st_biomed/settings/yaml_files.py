"""YAML files of users, read strictly: no repeated keys, no values that contain themselves, and words stay words."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from st_biomed.errors import InputError

_DEEPEST = 40  # nesting of lists and mappings
_LARGEST = 100_000  # values, including those repeated by aliases


class _Refused(yaml.MarkedYAMLError):
    """YAML that is not valid as settings."""


class _Loader(yaml.SafeLoader):
    """Safe YAML with the plain values of YAML 1.2: ``no`` is a word, ``010`` is ten and ``1e-4`` a number."""

    yaml_implicit_resolvers: dict[str, Any] = {}

    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self._depth = 0
        self._sizes: dict[int, int] = {}

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        """A value of its tag, such as ``!!int``; PyYAML itself would raise what the conversion raises."""
        try:
            return super().construct_object(node, deep)
        except (ValueError, LookupError, AttributeError, TypeError) as error:
            kind = node.tag.rpartition(":")[2]
            problem = f"{getattr(node, 'value', '')!r} is not of the type !!{kind}"
            raise _Refused(problem=problem, problem_mark=node.start_mark) from error

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """A value within the allowed depth and size; PyYAML itself would recurse until it fails."""
        mark, is_alias = self.peek_event().start_mark, self.check_event(yaml.AliasEvent)
        if self._depth == _DEEPEST:
            raise _Refused(problem=f"values are nested more than {_DEEPEST} deep", problem_mark=mark)
        self._depth += 1
        node = super().compose_node(parent, index)
        self._depth -= 1
        if is_alias and id(node) not in self._sizes:
            raise _Refused(problem="a value contains itself", problem_mark=mark)
        children: list[Any] = []
        if isinstance(node, yaml.SequenceNode):
            children = node.value
        elif isinstance(node, yaml.MappingNode):
            children = [part for pair in node.value for part in pair]
        self._sizes[id(node)] = 1 + sum(self._sizes[id(child)] for child in children)
        if self._sizes[id(node)] > _LARGEST:
            raise _Refused(problem=f"more than {_LARGEST:,} values, aliases written out", problem_mark=mark)
        return node

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        """A mapping with distinct keys."""
        node = super().compose_mapping_node(anchor)
        keys = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in keys:
                    raise _Refused(problem=f"{key.value} occurs twice", problem_mark=key.start_mark)
                keys.add(key.value)
        return node


_FLOAT = (
    r"[-+]?(?:\.[0-9]+|[0-9]+\.[0-9]*|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
)
for _tag, _values, _first in (
    ("bool", "true|True|TRUE|false|False|FALSE", [*"tTfF"]),
    ("null", "~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("int", "[-+]?[0-9]{1,40}", [*"-+0123456789"]),
    ("float", _FLOAT, [*"-+0123456789."]),
    ("merge", "<<", ["<"]),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(f"^(?:{_values})$"), _first)
_Loader.add_constructor("tag:yaml.org,2002:int", lambda loader, node: int(loader.construct_scalar(node)))


def read_yaml(path: Path) -> dict[str, Any]:
    """A YAML file with a mapping.

    Raises:
        InputError: It is missing, a folder, not UTF-8, malformed (with the line), nested too deep, or not a mapping.
    """
    if not path.is_file():
        raise InputError(
            f"{path}: {'is a folder' if path.is_dir() else 'no such file'}, expected a YAML file of settings"
        )
    content = path.read_bytes()
    try:
        settings = yaml.load(content.decode("utf-8-sig"), _Loader)
    except UnicodeDecodeError as error:
        raise InputError(f"{path}:{_line(content, error.start)}: is not UTF-8; convert the file") from error
    except yaml.reader.ReaderError as error:
        letter = (
            f"character {chr(error.character)!r} is not allowed" if isinstance(error.character, int) else "no text"
        )
        raise InputError(f"{path}:{_line(content, error.position)}: not YAML: {letter}") from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f":{mark.line + 1}" if mark is not None else ""
        prefix = "" if isinstance(error, _Refused) else "not YAML: "
        raise InputError(f"{path}{where}: {prefix}{getattr(error, 'problem', error)}") from error
    if settings is None:
        raise InputError(f"{path}: is empty, expected `name: value` lines")
    if not isinstance(settings, dict):
        raise InputError(f"{path}: contains a {type(settings).__name__}, expected `name: value` lines")
    return settings


def _line(content: bytes, place: int) -> int:
    return content.count(b"\n", 0, place) + 1
