"""The mentions that the spaCy component links: names that it finds itself, and abbreviations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc, Span

from st_biomed.errors import InputError
from st_biomed.linking import ConceptIndex
from tests.linking.conftest import RECORDS, SOURCE, Pipeline
from tests.linking.test_spacy_pipe import MANY_NAMES, linked


def test_names_are_found_where_there_is_no_entity(pipeline: Pipeline, index: ConceptIndex) -> None:
    """Catches a name inside an entity that cuts it, and an entity of the pipeline that is lost or relabeled."""
    nlp = pipeline(**MANY_NAMES, label="ZORB")
    doc = nlp("Mimpic  Gradtha&FLUMPA, the disease of the flumpa, flumpitises.")
    assert [entity[:3] for entity in linked(doc)] == [
        ("Mimpic  Gradtha&FLUMPA", "ZORB", doc.ents[0].kb_id_),
        ("disease of the flumpa", "DIS", "ZORB:1"),
    ]
    alone = pipeline(rules=False, find_names=True)("A Flumpa  Disease and a flumpitis.")
    assert [(entity.text, entity.kb_id_) for entity in alone.ents] == [
        ("Flumpa  Disease", "ZORB:1"),
        ("flumpitis", index.search(["flumpitis"])[0][0].concept),
    ]
    assert alone[0].ent_iob_ == "O"  # not a token of which nothing is known
    assert pipeline(rules=False)("A flumpa disease.").ents == ()


def test_accents_are_those_of_the_language(tiny_bert_folder: Path, tmp_path: Path) -> None:
    """English folds accents and Italian takes an apostrophe for one; catches a matcher of another language."""
    from st_biomed.records import Term
    from st_biomed.terminology import Terminology

    terms = Terminology.from_records([*RECORDS[:2], Term("ZORB:9", "vogl\u00e0 flumpa")], SOURCE)
    folder = ConceptIndex.build(terms, tiny_bert_folder, tmp_path / "accents").folder
    for language, found in (("en", ["Vogla flumpa"]), ("it", ["VOGLA' flumpa"])):
        nlp = spacy.blank(language)
        nlp.add_pipe("st_biomed_linker", config={"index": str(folder), "find_names": True})
        assert [entity.text for entity in nlp("Vogla flumpa; VOGLA' flumpa.").ents] == found


# ---------------------------------------------------------------------- abbreviations


@Language.component("zorb_abbreviations")
def zorb_abbreviations(doc: Doc) -> Doc:
    """What the detector of scispaCy leaves: spans of short forms with their long forms."""
    Span.set_extension("long_form", default=None, force=True)
    Doc.set_extension("abbreviations", default=[], force=True)
    for token in doc:
        if token.text == "GX":
            short = doc[token.i : token.i + 1]
            short._.long_form = doc[0:2]
            doc._.abbreviations.append(short)
    return doc


@pytest.mark.usefixtures("no_extensions")
@pytest.mark.parametrize("setting", ["detected", "none"])
def test_an_abbreviation_of_a_detector_is_linked_by_its_long_form(
    setting: str, pipeline: Pipeline, index: ConceptIndex
) -> None:
    nlp = pipeline(abbreviations=setting)
    nlp.get_pipe("entity_ruler").add_patterns(
        [{"label": "DIS", "pattern": "acute GX"}, {"label": "O", "pattern": "GX"}]
    )
    nlp.add_pipe("zorb_abbreviations", before="st_biomed_linker")
    doc = nlp("Gradtha disease was seen: GX, acute GX.")
    expected = ["Gradtha disease", "acute Gradtha disease"] if setting == "detected" else ["GX", "acute GX"]
    assert [entity.text for entity in doc.ents] == ["GX", "acute GX"]
    assert [entity._.concepts for entity in doc.ents] == index.search(expected)


@pytest.mark.usefixtures("no_extensions")
def test_a_detector_may_leave_plain_objects(pipeline: Pipeline, index: ConceptIndex) -> None:
    """As scispaCy with make_serializable. Each place has its own long form; catches the first one for all."""
    nlp = pipeline(rules=False)
    Doc.set_extension("abbreviations", default=None, force=True)
    doc = nlp.make_doc("GX here, GX there, GX")
    doc.set_ents([Span(doc, at, at + 1, "DIS") for at in (0, 3, 6)])
    longs = {0: "gradtha disease", 3: "flumpa", 6: "mimpic gradtha"}
    doc._.abbreviations = [{"short_text": "GX", "long_text": longs[at], "short_start": at} for at in (3, 0, 6)]
    assert [entity._.concepts for entity in nlp(doc).ents] == index.search(list(longs.values()))


@pytest.mark.usefixtures("no_extensions")
@pytest.mark.parametrize(
    "left", [["GX"], {"GX": "flumpa"}, [{"short": "GX"}], [3], [Span(spacy.blank("en")("GX"), 0, 1)]]
)
def test_something_else_in_place_of_abbreviations_is_refused(left: Any, pipeline: Pipeline) -> None:
    """Catches an error of Python that names neither the attribute nor the component."""
    nlp = pipeline()
    Doc.set_extension("abbreviations", default=None, force=True)
    doc = nlp.make_doc("GX here")
    doc._.abbreviations = left
    with pytest.raises(
        InputError, match="^doc._.abbreviations: expected spans with the extension long_form, or .* found "
    ):
        nlp.get_pipe("st_biomed_linker")(doc)


def test_an_abbreviation_that_the_text_defines(pipeline: Pipeline, index: ConceptIndex) -> None:
    nlp = pipeline(rules=False, abbreviations="defined")
    doc = nlp.make_doc("The gradtha disease (GD) is rare. GD is mild.")
    doc.set_ents([Span(doc, 9, 10, "DIS")])
    assert nlp(doc).ents[0].text == "GD"
    assert doc.ents[0]._.concepts == index.search(["gradtha disease"])[0]


TWICE = "FD is old. A flumpa disease (FD), FD is mild. Then fluid mimpic gradtha (FD); FD is worse."


@pytest.mark.parametrize("found", [False, True])
def test_the_last_definition_before_an_entity_counts(found: bool, pipeline: Pipeline, index: ConceptIndex) -> None:
    """Catches a second meaning that is linked by the first, and an entity before all definitions that has none."""
    nlp = pipeline(abbreviations="defined", find_names=found)
    nlp.get_pipe("entity_ruler").add_patterns([{"label": "DIS", "pattern": "FD"}])
    doc = nlp(TWICE)
    longs = ["flumpa disease"] * 3 + ["fluid mimpic gradtha"] * 2
    assert [entity._.concepts for entity in doc.ents if entity.text == "FD"] == index.search(longs)


def test_short_forms_of_names_are_found(pipeline: Pipeline) -> None:
    """Those of a long form that is a name as a whole, where they have this meaning; catches short forms of anything."""
    nlp = pipeline(rules=False, abbreviations="defined", find_names=True)
    found = [(entity.text, entity.start_char, entity.kb_id_) for entity in nlp(TWICE).ents]
    assert [one for one in found if one[0] == "FD"] == [("FD", at, "ZORB:1") for at in (0, 29, 34)]
    assert "mimpic gradtha" in [text for text, *_ in found]  # a part of the other long form
    without = pipeline(rules=False, find_names=True)(TWICE)
    assert "FD" not in [entity.text for entity in without.ents]


def test_a_name_within_a_token_is_linked_without_the_rest_of_it(pipeline: Pipeline, index: ConceptIndex) -> None:
    """Catches "flumpitis[1" that is encoded with what the tokenizer has not split off."""
    nlp = pipeline(rules=False, find_names=True)
    doc = nlp("A flumpitis[1], (flumpa)/flumpitis.")  # two names in the last token
    assert all(len(entity) == 1 and entity.text != "flumpitis" for entity in doc.ents) and len(doc.ents) == 2
    assert [entity._.concepts for entity in doc.ents] == index.search(["flumpitis"] * 2)


def test_only_entities_of_some_labels_are_linked(pipeline: Pipeline) -> None:
    """Catches a date that is linked to a disease, and names that were found and are not linked."""
    nlp = pipeline(labels=["DIS"], find_names=True)
    nlp.get_pipe("entity_ruler").add_patterns([{"label": "DATE", "pattern": "Monday"}])
    doc = nlp("On Monday a gradthitis and a flumpitis.")
    assert [(entity.label_, bool(entity._.concepts), bool(entity.kb_id_)) for entity in doc.ents] == [
        ("DATE", False, False),
        ("DIS", True, True),
        ("CONCEPT", True, True),
    ]


@pytest.mark.parametrize("text", ["A flumpa disease;gradtha disease of old.", "Flumpa disease)gradthitis, flumpa"])
def test_of_names_that_share_a_token_the_first_is_found(text: str, tiny_bert_folder: Path, tmp_path: Path) -> None:
    """Catches the longer of two names in its place, though it begins in the middle of a token."""
    from st_biomed.records import Term
    from st_biomed.terminology import Terminology

    terms = [*RECORDS, Term("ZORB:8", "gradtha disease of old"), Term("ZORB:9", "gradthitis, flumpa")]
    folder = ConceptIndex.build(Terminology.from_records(terms, SOURCE), tiny_bert_folder, tmp_path / "shared").folder
    nlp = spacy.blank("en")
    nlp.add_pipe("st_biomed_linker", config={"index": str(folder), "find_names": True})
    doc = nlp(text)
    assert ";" in doc.ents[0].text or ")" in doc.ents[0].text
    assert doc.ents[0].kb_id_ == "ZORB:1"
