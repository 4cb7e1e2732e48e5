"""Modules of one folder with a common interface, found by their files without a list."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterable
from functools import cache
from typing import Any, Generic, TypeVar

from st_biomed.errors import check_name
from st_biomed.settings.keyword_options import keyword_options, refuse_unknown

Offered = TypeVar("Offered")


class Registry(Generic[Offered]):
    """The modules of a package whose names do not begin with ``_``.

    Args:
        package: The package, e.g. ``"st_biomed.readers"``.
        kind: The word for a module in errors.
        function: The function of each module whose keyword-only parameters are the options.
        packages_only: Whether only folders count.
    """

    def __init__(self, package: str, kind: str, function: str = "", *, packages_only: bool = False) -> None:
        self.package, self.kind, self.function, self.packages_only = package, kind, function, packages_only

    @cache  # noqa: B019 - a registry lives as long as its package
    def names(self) -> tuple[str, ...]:
        """All names, sorted."""
        modules = pkgutil.iter_modules(importlib.import_module(self.package).__path__)
        named = (module.name for module in modules if module.ispkg or not self.packages_only)
        return tuple(sorted(name for name in named if not name.startswith("_")))

    def module(self, name: str) -> Offered:
        """The module with a name; an unknown name raises ``InputError`` with the existing ones."""
        check_name(self.kind, name, self.names())
        module: Any = importlib.import_module(f"{self.package}.{name}")
        return module

    def options(self, name: str) -> dict[str, inspect.Parameter]:
        """The options of a module: the keyword-only parameters of its function except the tally."""
        return keyword_options(getattr(self.module(name), self.function))

    def check_options(self, name: str, options: Iterable[str]) -> None:
        """Reject unknown options with an ``InputError`` that lists the existing ones."""
        refuse_unknown(f"{self.kind} {name!r}", options, self.options(name))
