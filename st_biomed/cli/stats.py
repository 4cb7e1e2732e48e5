"""``st-biomed stats``: what a saved terminology or an index holds and where it comes from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from st_biomed.cli.read import tally_table
from st_biomed.errors import InputError
from st_biomed.settings.checks import PATH

if TYPE_CHECKING:
    from st_biomed.records import SourceInfo
    from st_biomed.terminology import Terminology

_LISTED = 30
"""Sources, languages or prefixes that are listed with their counts."""


def run(
    terminology: Annotated[
        str,
        typer.Argument(help="A folder written by `st-biomed read` or `st-biomed index`, or a reader's name."),
        PATH,
    ],
) -> None:
    """Count concepts, names, parents and relations; depths, what became of each row, sources and licenses.

    Of an index: its names, its encoder and its sources.
    """
    from st_biomed.linking.manifest import HEADER
    from st_biomed.terminology import Terminology

    if (Path(terminology) / HEADER).is_file():
        _index(Path(terminology))
        return
    opened = Terminology.open(terminology)
    for name, value in opened.stats().items():
        if isinstance(value, dict):
            value = _listed(value)
        _echo(name, f"{value:,}" if isinstance(value, int) else value)
    _echo("concepts by depth", _depths(opened))
    for reading in opened.readings:
        options = " ".join(f"{name}={value}" for name, value in reading["options"].items())
        reading_text = " ".join(part for part in (reading["reader"], reading["path"], options) if part)
        _echo("read from", f"{reading_text} (st-biomed {reading['version']})")
    typer.echo(tally_table(opened.tallies))
    _sources(opened.sources.values())


def _index(folder: Path) -> None:
    """What an index holds, and the sources of its names."""
    from st_biomed.linking.manifest import Manifest

    manifest = Manifest.read(folder, verify=False)
    for name in ("concepts", "names", "dimension", "kind", "similarity", "dtype", "bf16"):
        value = getattr(manifest, name)
        _echo(name, f"{value:,}" if type(value) is int else value)
    _echo("encoder", f"{manifest.model or 'not recorded'} (sha256 {manifest.model_sha256[:12]})")
    _echo("digest", manifest.catalog_sha256)
    _sources(manifest.source_infos)


def _sources(sources: Iterable[SourceInfo]) -> None:
    for source in sources:
        edition = " ".join(part for part in (source.title, source.version) if part)
        may = "may be redistributed" if source.redistributable else "may not be redistributed"
        _echo(source.name, f"{edition}; license: {source.license or 'not stated'}; {may}; {source.url}")


def _echo(name: str, value: object) -> None:
    typer.echo(f"{name:27} {value}")


def _listed(counts: Mapping[str, int]) -> str:
    """Counts by name; of many, the largest, and how many others there are."""
    largest = sorted(counts, key=lambda name: -counts[name])[:_LISTED]
    shown = ", ".join(f"{name} {n:,}" for name, n in counts.items() if name in largest)
    n_others = sum(counts.values()) - sum(counts[name] for name in largest)
    return f"{shown}, {len(counts) - len(largest):,} others {n_others:,}" if n_others else shown


def _depths(terminology: Terminology) -> str:
    """How many concepts stand at each depth, roots first; concepts without a parent or a child are left out."""
    import numpy as np

    from st_biomed.hierarchy.ancestors import AncestorGraph

    child, parent = (terminology.parents[end].to_numpy() for end in ("child", "parent"))
    if not len(child):
        return "no hierarchy"
    try:
        depth = AncestorGraph(child, parent, terminology.concepts["code"]).depth
    except InputError as error:
        return f"no hierarchy ({error})"
    placed = np.unique(np.concatenate([child, parent]))
    return ", ".join(f"{at} {count:,}" for at, count in enumerate(np.bincount(depth[placed])))
