"""The arguments of a recipe, read from its source, so that mistyped ones are rejected before any library is imported.

A recipe fills dataclasses: ``read_settings((SapBERTArguments, SentenceTransformerTrainingArguments), argv)``. Their
fields are read from the sources of this package and of the installed libraries, without running them. All other checks
are left to :func:`~st_biomed.settings.recipe.read_settings`.
"""

from __future__ import annotations

import ast
import importlib.util
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from st_biomed.errors import InputError, unknown_name
from st_biomed.settings import checks
from st_biomed.settings.checks import Check, check_value
from st_biomed.settings.extended_yaml import extended_yaml
from st_biomed.settings.trainer_checks import TRAINER

_NUMBERS = {"int": int, "float": float}


class WrittenArgument(NamedTuple):
    """A field of a dataclass.

    Attributes:
        annotation: Its type in the source, e.g. ``"int | None"``.
        check: Its check, if it can be created without a library.
    """

    annotation: str
    check: Check | None

    @property
    def kinds(self) -> set[str]:
        """The types that a value may have; for a list, those of its members."""
        return {kind.strip() for kind in self.annotation.removeprefix("list[").rstrip("]").split("|")}


def check_words(script: Path, words: Sequence[str], prog: str) -> None:
    """Reject unknown arguments of a recipe, and values that must be numbers and are not.

    Args:
        words: ``[settings.yaml] [--name value ...]``.

    Raises:
        InputError: With the message of :func:`~st_biomed.settings.recipe.read_settings`.
    """
    arguments = written_arguments(script)
    if arguments is None or {"-h", "--help", "--help-all"} & {*words}:
        return
    if words and not words[0].startswith("-"):
        for name in extended_yaml(Path(words[0])):
            if name not in arguments:
                raise InputError(f"{words[0]}: {unknown_name('setting', name, arguments)}")
    given: set[str] = set()
    for written, values in _options(words):
        name = written.removeprefix("--").replace("-", "_")
        if name not in arguments and arguments.get(name.removeprefix("no_"), _NONE).annotation != "bool":
            raise unknown_name("argument", written, (f"--{name}" for name in arguments))
        if name in arguments:
            _check_values(name, values, arguments[name], prog)
            if name in given and arguments[name].annotation.startswith("list["):
                print(f"note: --{name} is given twice, and its last values count: {' '.join(values)}", file=sys.stderr)
            given.add(name)


def written_arguments(script: Path) -> dict[str, WrittenArgument] | None:
    """Name to argument of a recipe, in the order of its dataclasses; ``None`` if one of them is not found."""
    tree = _parsed(script)
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _is_read_settings(node)]
    if not calls or not isinstance(calls[0].args[0], ast.Tuple):
        return None
    arguments: dict[str, WrittenArgument] = {}
    for part in calls[0].args[0].elts:
        fields = _fields_of(part.id, script) if isinstance(part, ast.Name) else None
        if fields is None:
            return None
        arguments |= {name: field for name, field in fields.items() if name not in arguments}
    return arguments


_NONE = WrittenArgument("", None)


def _options(words: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Every ``--name`` with the values after it."""
    option: tuple[str, list[str]] | None = None
    for word in words:
        if word == "--":
            break
        if word.startswith("--"):
            if option is not None:
                yield option
            name, equals, value = word.partition("=")
            option = name, [value] if equals else []
        elif option is not None:
            option[1].append(word)
    if option is not None:
        yield option


def _check_values(name: str, words: Sequence[str], argument: WrittenArgument, prog: str) -> None:
    """Reject words that are not numbers, and numbers that the argument does not allow."""
    number = next((kind for kind in _NUMBERS if argument.kinds <= {kind, "None"}), None)
    if number is None:
        return
    names = f"--{name}/--{name.replace('_', '-')}" if "_" in name else f"--{name}"
    for word in words:
        try:
            value = _NUMBERS[number](word)
        except ValueError:
            raise InputError(
                f"{prog}: argument {names}: invalid {number} value: {word!r} (--help-all lists all arguments)"
            ) from None
        check_value(name, value, argument.check or TRAINER.get(name))


def _is_read_settings(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Name) and call.func.id == "read_settings" and bool(call.args)


def _fields_of(name: str, path: Path) -> dict[str, WrittenArgument] | None:
    """The fields of a dataclass by their names in the file; those of its bases come first."""
    definition_and_file = _class_of(name, path)
    if definition_and_file is None:
        return None
    definition, home = definition_and_file
    fields: dict[str, WrittenArgument] = {}
    for base in reversed(definition.bases):
        if isinstance(base, ast.Name):
            inherited = _fields_of(base.id, home)
            if inherited is None:
                return None
            fields |= inherited
    for line in definition.body:
        if not isinstance(line, ast.AnnAssign) or not isinstance(line.target, ast.Name):
            continue
        annotation = ast.unparse(line.annotation)
        if "ClassVar" not in annotation and "init=False" not in ast.unparse(line):
            fields[line.target.id] = WrittenArgument(annotation, _check_of(line.value))
    return fields


def _class_of(name: str, path: Path) -> tuple[ast.ClassDef, Path] | None:
    """The class that a file defines or imports under a name, and the file that defines it."""
    tree = _parsed(path)
    for line in tree.body:
        if isinstance(line, ast.ClassDef) and line.name == name:
            return line, path
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if (alias.asname or alias.name) == name:
                    home = _file_of(node, path)
                    return None if home is None or home == path else _class_of(alias.name, home)
    return None


def _file_of(node: ast.ImportFrom, path: Path) -> Path | None:
    """The file of the module that a line imports from; for a package, its ``__init__.py``."""
    parts = node.module.split(".") if node.module else []
    if node.level:
        folder = path.parents[node.level - 1]
    else:
        spec = importlib.util.find_spec(parts.pop(0))  # without importing it
        if spec is None or not spec.submodule_search_locations:
            return None
        folder = Path(spec.submodule_search_locations[0])
    module = folder.joinpath(*parts)
    files = (module.with_suffix(".py"), module / "__init__.py") if parts else (module / "__init__.py",)
    return next((file for file in files if file.is_file()), None)


def _check_of(value: ast.expr | None) -> Check | None:
    """The check in a field's metadata, if it is one of :mod:`st_biomed.settings.checks` with constant arguments."""
    for call in ast.walk(value) if value is not None else ():
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "about":
            names = {node.id for node in ast.walk(call.args[1]) if isinstance(node, ast.Name)}
            if names <= vars(checks).keys():
                made: Any = eval(ast.unparse(call.args[1]), dict(vars(checks)))
                return made if isinstance(made, Check) else None
    return None


@cache
def _parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))
