"""Figures from the literature, and the protocol they were measured with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from st_biomed.errors import InputError
from st_biomed.settings.fill_dataclass import fill_dataclass


@dataclass(frozen=True)
class PublishedFigure:
    """A figure from the literature.

    Attributes:
        metric: Metric name of the evaluator, with its prefix.
        value: Value on the metric's scale.
        source: Paper and table.
        protocol: Description of the data and the method.
        n: Number of units (mentions, pairs); 0 if the source does not state it.
    """

    system: str
    metric: str
    value: float
    source: str
    protocol: str
    n: int = 0


@dataclass(frozen=True)
class _Publication:
    """An entry of ``published``: figures of one source that were measured in one way.

    Attributes:
        source, protocol, n: Of each figure.
        settings: Settings of the benchmark, as ``name`` or ``name.key``, that were the publication's too.
        figures: System, metric and value of each.
    """

    source: str
    protocol: str
    figures: list[dict[str, Any]]
    settings: dict[str, Any] = field(default_factory=dict)
    n: int = 0


def read_published(entries: Sequence[Any], protocol: object, where: str) -> list[PublishedFigure]:
    """The published figures in a benchmark's file.

    Args:
        protocol: The benchmark's settings as the dataclass of its evaluator.
        where: File and key, for messages.

    Raises:
        InputError: An entry without a source or a protocol, an invalid key or value, or a setting of the publication
            that differs from the benchmark.
    """
    figures: list[PublishedFigure] = []
    for i, entry in enumerate(entries):
        at = f"{where}[{i}]"
        publication = fill_dataclass(_Publication, entry, at)
        for name in ("source", "protocol"):
            if not getattr(publication, name).strip():
                raise InputError(f"{at}: {name} is empty")
        for setting, wanted in publication.settings.items():
            found = _setting(protocol, setting)
            if found != wanted:
                raise InputError(
                    f"{at}: was measured with {setting} {wanted!r}, the benchmark has {found!r}: published figures are shown only "
                    "with their own protocol"
                )
        for j, figure in enumerate(publication.figures):
            of_all = {name: getattr(publication, name) for name in ("source", "protocol", "n")}
            figures.append(fill_dataclass(PublishedFigure, figure, f"{at}: figures[{j}]", **of_all))
    return figures


def _setting(protocol: object, name: str) -> Any:
    """A setting by its name, or an entry of one that is a mapping by ``name.key``; ``None`` where it is not there."""
    found: Any = protocol
    for part in name.split("."):
        found = found.get(part) if isinstance(found, Mapping) else getattr(found, part, None)
    return found
