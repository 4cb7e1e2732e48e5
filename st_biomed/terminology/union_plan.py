"""The settings of a union: which sources are read with which options, and what makes concepts of two of them one."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

from st_biomed.errors import InputError
from st_biomed.readers import check_options, parse_options, reader
from st_biomed.readers._normalizers import NORMALIZERS
from st_biomed.settings.checks import PATH, check_value, one_of
from st_biomed.settings.keyword_options import listed, refuse_unknown
from st_biomed.settings.yaml_files import read_yaml

_PATH, _PATHS, _PATH_OR_CODES = "path", "paths", "path or codes"
_NORMALIZER = one_of(*NORMALIZERS, called="normalizer")


@dataclass(frozen=True)
class UnionSource:
    """One source of a union.

    Attributes:
        name: What it is called in the settings.
        reader: What reads it; empty for a saved terminology.
        path: Its file or folder; nothing where the reader brings its source along.
        options: Options of the reader.
        apart_from: Prefixes of codes that its cross-references do not make one with its concepts.
        by_name: Whether equal names make its concepts one with others.
    """

    name: str
    reader: str = ""
    path: Path | None = None
    options: dict[str, Any] = field(default_factory=dict)
    apart_from: tuple[str, ...] = ()
    by_name: bool = True

    @property
    def paths(self) -> list[Path]:
        """Every file and folder that the source needs, those that options name among them."""
        beside = [path for name, form in self._path_options() for path in self._paths(name, form)]
        return beside if self.path is None else [self.path, *beside]

    def below(self, folder: Path | None) -> UnionSource:
        """The source with paths below a folder where they are not found as they are."""

        def placed(path: str | Path) -> Path:
            return Path(path) if folder is None or os.path.exists(path) else folder / path

        options = dict(self.options)
        for name, form in self._path_options():
            value = options[name]
            if form == _PATH or isinstance(value, Path) or (isinstance(value, str) and os.path.exists(placed(value))):
                options[name] = placed(value)
                continue
            members = listed(name, value)
            are_paths = [form == _PATHS or os.path.exists(placed(member)) for member in members]
            if any(are_paths):
                options[name] = [str(placed(m)) if is_path else m for m, is_path in zip(members, are_paths)]
        return replace(self, path=None if self.path is None else placed(self.path), options=options)

    def _path_options(self) -> list[tuple[str, str]]:
        """The options with a value that may name files, and its form: a path, a list of paths, or a path or codes."""
        if not self.reader:
            return []
        hints = {name: get_args(hint) or (hint,) for name, hint in get_type_hints(reader(self.reader).records).items()}
        given = [name for name, value in self.options.items() if value not in (None, "") and Path in hints[name]]
        return [(name, _form(hints[name])) for name in given]

    def _paths(self, name: str, form: str) -> list[Path]:
        value = self.options[name]
        if form == _PATH or isinstance(value, Path):
            return [Path(value)]
        return [Path(member) for member in listed(name, value) if form == _PATHS or os.path.exists(member)]


def _form(hints: tuple[Any, ...]) -> str:
    """The form of an option's value, from the types that it may have."""
    members = [get_args(hint)[0] for hint in hints if get_origin(hint) is Sequence]
    if not members:
        return _PATH
    return _PATHS if any(Path in (member, *get_args(member)) for member in members) else _PATH_OR_CODES


@dataclass(frozen=True)
class UnionPlan:
    """What is united and how.

    Attributes:
        sources: In the order in which they give their codes: of concepts that become one, the first one's stays.
        crosswalk: Predicates of the cross-references that make two concepts one where neither has another.
        through: Prefixes over which these link although no source has their codes.
        same_name: Normalizer after which concepts with an equal name are one; ``None`` for no such link.
        preferred_names: Whether preferred names alone make concepts one.
        normalize: Normalizer of all names in the end.
        without_cycles: Whether parents that lie on a cycle are dropped.
    """

    sources: tuple[UnionSource, ...]
    crosswalk: tuple[str, ...] = ()
    through: tuple[str, ...] = ()
    same_name: str | None = None
    preferred_names: bool = False
    normalize: str = "none"
    without_cycles: bool = True

    @classmethod
    def read(cls, path: Path) -> UnionPlan:
        """The plan that a YAML file holds; ``evaluation/open_terminology.yaml`` shows its form.

        A file that ``extends`` another one beside it has the settings of that file, and its own sources after those of that file.

        Raises:
            InputError: A malformed file, an unknown key, reader or option, a value that does not fit.
        """
        content = _extended(path)
        refuse_unknown(f"{path}", content, list(cls.__dataclass_fields__))
        listing = content.get("sources")
        if not isinstance(listing, dict) or not listing:
            raise InputError(
                f"{path}: 'sources' must have a source's name with its reader and path, found {listing!r}"
            )
        found: dict[str, Any] = {"sources": tuple(_source(path, str(name), entry) for name, entry in listing.items())}
        for key in ("crosswalk", "through"):
            found[key] = listed(key, _words(path, key, content.get(key)))
        for key in ("same_name", "normalize"):
            if content.get(key) is not None:
                check_value(f"{path}: {key}", content[key], _NORMALIZER)
                found[key] = content[key]
        for key in ("preferred_names", "without_cycles"):
            if key in content:
                if not isinstance(content[key], bool):
                    raise InputError(f"{path}: {key!r} must be true or false, found {content[key]!r}")
                found[key] = content[key]
        if found["through"] and not found["crosswalk"]:
            raise InputError(f"{path}: 'through' needs 'crosswalk': the predicates of the cross-references to follow")
        if found.get("preferred_names") and not found.get("same_name"):
            raise InputError(f"{path}: 'preferred_names' needs 'same_name': the normalizer after which they are equal")
        return cls(**found)


def _extended(path: Path, *extending: Path) -> dict[str, Any]:
    """A file of settings with those of the file that it extends."""
    content = read_yaml(path)
    if "extends" not in content:
        return content
    name = content.pop("extends")
    if not isinstance(name, str) or not (path.parent / name).is_file():
        raise InputError(f"{path}: 'extends' must be the name of a file beside it, found {name!r}")
    if path.parent / name in (path, *extending):
        raise InputError(f"{path}: extends itself through {name}")
    extended = _extended(path.parent / name, path, *extending)
    own, others = content.get("sources") or {}, extended.get("sources") or {}
    if not isinstance(own, dict) or not isinstance(others, dict):
        return {**extended, **content}
    for source in own:
        if source in others:
            raise InputError(f"{path}: source {str(source)!r} is in {name} already; give it another name")
    return {**extended, **content, "sources": {**others, **own}}


def _source(path: Path, name: str, content: Any) -> UnionSource:
    where = f"{path}: source {name!r}"
    if not isinstance(content, dict):
        raise InputError(f"{where} must have a reader and a path, found {content!r}")
    refuse_unknown(where, content, ("reader", "path", "options", "apart_from", "by_name"))
    named, place, written_options = content.get("reader") or "", content.get("path"), content.get("options") or {}
    for key, value in (("reader", named), ("path", place or "")):
        if not isinstance(value, str):
            raise InputError(f"{where}: {key!r} must be a text, found {value!r}")
    if not isinstance(written_options, dict):
        raise InputError(f"{where}: 'options' must have names and values, found {written_options!r}")
    if not named and (written_options or not place):
        raise InputError(f"{where} needs a reader, or the path of a saved terminology without options")
    if place is not None:
        check_value(f"{where}: 'path'", place, PATH)
    try:
        options = _options(named, written_options) if named else {}
    except InputError as error:
        raise InputError(f"{where}: {error}") from None
    apart = listed("apart_from", _words(path, f"sources.{name}.apart_from", content.get("apart_from")))
    by_name = content.get("by_name", True)
    if not isinstance(by_name, bool):
        raise InputError(f"{where}: 'by_name' must be true or false, found {by_name!r}")
    return UnionSource(name, named, None if place is None else Path(place), options, tuple(apart), by_name)


def _options(named: str, written_options: dict[str, Any]) -> dict[str, Any]:
    """Options of the types that the reader declares; lists become words with commas between."""
    check_options(named, map(str, written_options))
    pairs = []
    for key, value in written_options.items():
        if value is None:
            continue
        value = value if isinstance(value, list) else [value]
        pairs.append(f"{key}={','.join(str(word).lower() if isinstance(word, bool) else str(word) for word in value)}")
    return parse_options(named, pairs)


def _words(path: Path, key: str, value: Any) -> Any:
    words = value if isinstance(value, list) else [] if value is None else [value]
    if not all(isinstance(word, str) for word in words):
        raise InputError(f"{path}: {key!r} must be a list of words, found {value!r}")
    return words
