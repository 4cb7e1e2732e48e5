"""``st-biomed show``: what a terminology says of some concepts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from st_biomed.cli._options import TerminologyName

if TYPE_CHECKING:
    from st_biomed.terminology.concept_record import ConceptRecord

_CHILDREN = 20
"""Concepts below one that are listed."""


def run(
    terminology: TerminologyName,
    codes: Annotated[list[str], typer.Argument(help="Codes of concepts, e.g. DOID:1909.")],
) -> None:
    """Show names, types, parents, children, relations, cross-references and definitions of concepts."""
    from st_biomed.terminology import Terminology
    from st_biomed.terminology.concept_record import concept_record

    opened = Terminology.open(terminology)
    records = [concept_record(opened, code) for code in codes]
    typer.echo("\n\n".join(map(_shown, records)))


def _shown(record: ConceptRecord) -> str:
    children = [f"{code} {label}".rstrip() for code, label in record.children[:_CHILDREN]]
    if n_more := len(record.children) - len(children):
        children.append(f"and {n_more:,} more")
    lines = [f"{record.code}  {record.label}".rstrip()]
    for what, values in (
        ("name", [f"{name.text} ({name.kind}, {name.language}, {name.source})" for name in record.names]),
        ("type", record.types),
        ("parent", [f"{code} {label}".rstrip() for code, label in record.parents]),
        ("child", children),
        ("relation", [f"{relation} {code} {label}".rstrip() for relation, (code, label) in record.relations]),
        ("xref", [f"{target} ({predicate})" for predicate, target in record.xrefs]),
        ("definition", [f"{text} ({language})" for text, language in record.definitions]),
    ):
        lines += [f"  {what:12}{value}" for value in values]
    return "\n".join(lines)
