"""Modules of one folder that all offer the same, found by their files: no list of them is kept anywhere."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterable
from functools import cache
from typing import Any, Generic, TypeVar

from st_biomed.errors import unknown_name
from st_biomed.settings.keyword_options import keyword_options, refuse_unknown

Offered = TypeVar("Offered")


class Registry(Generic[Offered]):
    """The modules of a package whose names do not begin with ``_``.

    Args:
        package: The package, e.g. ``"st_biomed.readers"``.
        kind: What one is called in an error.
        function: The function of each whose keyword-only parameters are its options.
        packages_only: Whether folders alone count.
    """

    def __init__(self, package: str, kind: str, function: str = "", *, packages_only: bool = False) -> None:
        self.package, self.kind, self.function, self.packages_only = package, kind, function, packages_only

    @cache  # noqa: B019 - a registry lives as long as its package
    def names(self) -> tuple[str, ...]:
        """All names, sorted."""
        found = pkgutil.iter_modules(importlib.import_module(self.package).__path__)
        named = (one.name for one in found if one.ispkg or not self.packages_only)
        return tuple(sorted(name for name in named if not name.startswith("_")))

    def module(self, name: str) -> Offered:
        """The module with a name; an unknown one is an ``InputError`` with those there are."""
        if name not in self.names():
            raise unknown_name(self.kind, name, self.names())
        found: Any = importlib.import_module(f"{self.package}.{name}")
        return found

    def options(self, name: str) -> dict[str, inspect.Parameter]:
        """The options of one: the keyword-only parameters of its function besides the tally."""
        return keyword_options(getattr(self.module(name), self.function))

    def check_options(self, name: str, options: Iterable[str]) -> None:
        """Refuse an option that it does not have with an ``InputError`` that lists those that it has."""
        refuse_unknown(f"{self.kind} {name!r}", options, self.options(name))
