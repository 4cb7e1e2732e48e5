"""From IRIs of concepts to CURIEs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from st_biomed.errors import InputError
from st_biomed.readers._curies import curie
from st_biomed.readers._prefixes import end_of_url, given_prefixes, refuse_shared_prefix
from st_biomed.readers.skos.graph import BASE

_SPLIT = re.compile(r"(.*[/#:])([^/#:]+)", re.DOTALL)
_CODE = re.compile(r"\S+")


class Namespaces:
    """The prefix of each namespace: a given one, the known one, that of the file, or the end of the namespace.

    Args:
        path: The file, for errors.
        prefixes: Pairs ``NAMESPACE=PREFIX``.
        bound: Namespace to the prefix of the file; an empty prefix does not count.
    """

    def __init__(self, path: Path, prefixes: str, bound: Mapping[str, str]) -> None:
        self.path = path
        self.given = given_prefixes("skos", prefixes)
        self.bound = bound
        self._namespace_of: dict[str, str] = {}

    def split(self, iri: str) -> tuple[str, str] | None:
        """The prefix and the code of a concept; ``None`` if its IRI ends without a code.

        Raises:
            InputError: Two namespaces have one prefix, or the IRI is relative and the file states no base.
        """
        if iri.startswith(BASE):
            raise InputError(
                f"{self.path}: IRI {iri.removeprefix(BASE)[:40]!r} is relative, and the file states no base"
            )
        match = _SPLIT.fullmatch(iri)
        if match is None or not _CODE.fullmatch(match[2]):
            return None
        namespace = match[1]
        if namespace in self.given:
            return self.given[namespace], match[2]
        if iri.startswith("http") and (known := curie(iri)):
            prefix, _, code = known.partition(":")
            return prefix, code
        prefix = self.bound.get(namespace, "").upper() or end_of_url(namespace)
        other = self._namespace_of.setdefault(prefix, namespace)
        if other != namespace:
            refuse_shared_prefix(self.path, "namespace", namespace, prefix, other)
        return prefix, match[2]

    def target(self, iri: str) -> str | None:
        """The CURIE of a mapping's target; ``None`` if it has none of its own."""
        try:
            split = self.split(iri)
        except InputError:
            return None
        return ":".join(split) if split else None
