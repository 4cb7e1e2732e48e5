"""An invented terminology with types and one ambiguous name, and an index of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from st_biomed.linking import ConceptIndex
from st_biomed.linking_data.records import LinkingDictionary
from st_biomed.records import Record, SourceInfo, Term, Type
from st_biomed.terminology import Terminology

if TYPE_CHECKING:
    from spacy.language import Language

Pipeline = Callable[..., "Language"]

SOURCE = SourceInfo("ZORB", "Zorb", license="CC0-1.0", redistributable=True)
RULES = [{"label": "DIS", "pattern": "gradthitis"}, {"label": "DIS", "pattern": "disease of the flumpa"}]
"""Entities that a pipeline finds by itself."""

RECORDS: list[Record] = [
    Term("ZORB:1", "flumpa disease"),
    Term("ZORB:1", "disease of the flumpa", "synonym"),
    Term("ZORB:1", "flumpitis", "synonym"),
    Term("ZORB:2", "gradtha disease"),
    Term("ZORB:2", "gradthitis", "synonym"),
    Term("ZORB:3", "flumpa"),
    Term("ZORB:4", "mimpic gradtha"),
    Term("ZORB:4", "flumpitis", "synonym"),  # names two concepts
    Type("ZORB:1", "disorder"),
    Type("ZORB:2", "disorder"),
    Type("ZORB:3", "organ"),
    Type("ZORB:4", "organ"),
]


@pytest.fixture
def zorb() -> Terminology:
    return Terminology.from_records(RECORDS, SOURCE)


@pytest.fixture
def dictionary() -> LinkingDictionary:
    """Ids without types; one name stands in two entries."""
    return LinkingDictionary.from_entries(
        [("vogla fever", ["MESH:X0002"]), ("tarsta", ["MESH:X0001"]), ("vogla fever", ["MESH:X0003", "MESH:X0001"])]
    )


@pytest.fixture
def index(zorb: Terminology, tiny_bert_folder: Path, tmp_path: Path) -> ConceptIndex:
    """Built with a model by name, in ``tmp_path / "index"``."""
    return ConceptIndex.build(zorb, tiny_bert_folder, tmp_path / "index")


@pytest.fixture
def many_names() -> Callable[[int], Terminology]:
    """``n`` names, seven of each concept."""

    def make(n: int) -> Terminology:
        words = ("flumpa", "gradtha", "skarka", "vogla", "nebza", "mimpa", "tarsta", "prugla", "zhelpha", "drubza")
        names = (f"{words[i % 10]} {words[i // 10 % 10]} {words[i // 100 % 10]} {i}" for i in range(n))
        return Terminology.from_records((Term(f"ZORB:{i // 7}", name) for i, name in enumerate(names)), SOURCE)

    return make


@pytest.fixture
def pipeline(index: ConceptIndex) -> Pipeline:
    """English with rules for entities and a linker with these settings."""

    import spacy

    import st_biomed.linking.spacy_pipe  # noqa: F401  # registers the factory

    def make(language: str = "en", rules: bool = True, **settings: Any) -> Language:
        nlp = spacy.blank(language)
        if rules:
            nlp.add_pipe("entity_ruler").add_patterns(RULES)
        nlp.add_pipe("st_biomed_linker", config={"index": str(index.folder), **settings})
        return nlp

    return make


@pytest.fixture
def no_extensions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Extensions of a detector do not outlive a test."""
    from spacy.tokens.underscore import Underscore

    for kind in ("doc_extensions", "span_extensions", "token_extensions"):
        monkeypatch.setattr(Underscore, kind, dict(getattr(Underscore, kind)))
