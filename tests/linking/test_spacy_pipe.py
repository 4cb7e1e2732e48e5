"""The spaCy component in real pipelines: one pipe more, and concepts are on the entities."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc, DocBin, Span

import st_biomed.linking.spacy_pipe  # noqa: F401  # registers the factory
from st_biomed.errors import InputError
from st_biomed.linking import ConceptIndex
from st_biomed.linking.concept_search import Match
from tests.linking.conftest import RECORDS, SOURCE, Pipeline

TEXTS = ["A gradthitis, and the disease of the flumpa.", "Nothing.", "", "No gradthitis here; flumpitis?"]
MANY_NAMES = {"find_names": True, "k": 2}


def linked(doc: Doc) -> list[tuple[str, str, str, list[Match]]]:
    return [(entity.text, entity.label_, entity.kb_id_, entity._.concepts) for entity in doc.ents]


def test_entities_have_the_concepts_that_the_index_finds(pipeline: Pipeline, index: ConceptIndex) -> None:
    doc = pipeline(k=3)(TEXTS[0])
    assert [(entity.text, entity.kb_id_) for entity in doc.ents] == [
        ("gradthitis", "ZORB:2"),
        ("disease of the flumpa", "ZORB:1"),
    ]
    for entity in doc.ents:
        alone = index.search([entity.text], 3)[0]  # a batch rounds otherwise
        assert [match._replace(score=0) for match in entity._.concepts] == [match._replace(score=0) for match in alone]
        assert [match.score for match in entity._.concepts] == pytest.approx(
            [match.score for match in alone], abs=1e-4
        )
        assert isinstance(entity._.concepts[0], Match) and entity._.concepts[0].types == ("disorder",)
    assert doc[:2]._.concepts == []  # a span that is no entity


def test_a_stream_is_linked_in_batches_as_document_by_document(
    pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches concepts that slip to the next document, and a search for each document."""
    nlp = pipeline(**MANY_NAMES)
    expected = [linked(nlp(text)) for text in TEXTS]
    calls: list[list[str]] = []
    linker = nlp.get_pipe("st_biomed_linker")
    search = linker.index.search
    monkeypatch.setattr(linker.index, "search", lambda texts, *k: calls.append(texts) or search(texts, *k))
    for size, n_calls in ((1, 4), (2, 2), (50, 1)):
        calls.clear()
        assert [linked(doc) for doc in nlp.pipe(TEXTS, batch_size=size)] == expected
        assert len(calls) == n_calls
    assert calls == [["gradthitis", "disease of the flumpa", "gradthitis", "flumpitis"]]


def test_kb_id_is_set_from_the_threshold_on(pipeline: Pipeline) -> None:
    """The concepts are there in any case; catches a threshold that is compared with the last of them."""
    assert pipeline(threshold=0.99)("A gradthitis.").ents[0].kb_id_ == "ZORB:2"
    nlp = pipeline(rules=False, threshold=0.9999)
    doc = nlp.make_doc("A disease with gradthitis.")
    doc.set_ents([Span(doc, 1, 4, "DIS")])
    (entity,) = nlp(doc).ents
    assert entity.kb_id_ == "" and len(entity._.concepts) == 4 and entity._.concepts[0].score < 0.9999


def test_conditions_hold_for_concepts_and_names(pipeline: Pipeline) -> None:
    nlp = pipeline(**MANY_NAMES, conditions={"types": ["organ"]})
    doc = nlp("The flumpa, a gradthitis and a gradtha disease.")
    assert [(entity.text, entity.label_) for entity in doc.ents] == [("flumpa", "CONCEPT"), ("gradthitis", "DIS")]
    assert {match.types for entity in doc.ents for match in entity._.concepts} == {("organ",)}


# ---------------------------------------------------------------------- saved and sent


@pytest.mark.long
def test_a_pipeline_comes_back_from_disk_and_bytes(pipeline: Pipeline, tmp_path: Path) -> None:
    nlp = pipeline(**MANY_NAMES, threshold=0.5, label="ZORB", conditions={"types": ["disorder"]})
    expected = [linked(doc) for doc in nlp.pipe(TEXTS)]
    nlp.to_disk(tmp_path / "saved")
    assert [linked(doc) for doc in spacy.load(tmp_path / "saved").pipe(TEXTS)] == expected
    alone = pipeline(**MANY_NAMES, rules=False)  # the rules of spaCy 3.8 match nothing after from_bytes
    expected = [linked(doc) for doc in alone.pipe(TEXTS)]
    other = type(nlp).from_config(alone.config).from_bytes(alone.to_bytes())
    assert [linked(doc) for doc in other.pipe(TEXTS)] == expected and expected[0]


def test_documents_keep_their_concepts(pipeline: Pipeline) -> None:
    """Catches named tuples that come back as lists, and concepts that stay where they were when documents are joined."""
    nlp = pipeline(k=2)
    docs = list(nlp.pipe(TEXTS))
    stored = DocBin(store_user_data=True, docs=docs).to_bytes()
    assert [linked(doc) for doc in DocBin().from_bytes(stored).get_docs(nlp.vocab)] == list(map(linked, docs))
    joined = Doc.from_docs(docs)
    assert joined is not None and linked(joined) == [entity for doc in docs for entity in linked(doc)]


def test_a_linker_is_sent_to_another_process(pipeline: Pipeline) -> None:
    linker = pipeline(**MANY_NAMES).get_pipe("st_biomed_linker")
    doc = spacy.blank("en")(TEXTS[0])
    assert linked(pickle.loads(pickle.dumps(linker))(doc.copy())) == linked(linker(doc))


def test_several_processes_give_the_same(pipeline: Pipeline) -> None:
    nlp = pipeline(k=2)
    expected = [linked(doc) for doc in nlp.pipe(TEXTS)]
    assert [linked(doc) for doc in nlp.pipe(TEXTS, n_process=2, batch_size=1)] == expected


@pytest.mark.long
def test_a_fork_does_not_wait_for_the_threads_of_its_parent(index: ConceptIndex, tmp_path: Path) -> None:
    """OpenMP's threads do not survive a fork: without care the second process never answers."""
    code = """
import sys
import spacy, torch
import st_biomed.linking.spacy_pipe

torch.set_num_threads(2)
nlp = spacy.blank("en")
nlp.add_pipe("st_biomed_linker", config={"index": sys.argv[1], "find_names": True})
texts = ["A gradthitis.", "The flumpa."] * 20
for n in (1, 2):
    print([entity.kb_id_ for doc in nlp.pipe(texts, n_process=n, batch_size=20) for entity in doc.ents])
print(torch.get_num_threads())
"""
    environment = {**os.environ, "OMP_NUM_THREADS": "2"}
    command = [sys.executable, "-c", code, str(index.folder)]
    with (tmp_path / "out").open("w") as out:  # not a pipe, which a process that waits would keep open
        process = subprocess.Popen(command, env=environment, stdout=out, start_new_session=True)
        try:
            assert process.wait(240) == 0
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    alone, forked, threads = (tmp_path / "out").read_text().splitlines()
    assert alone == forked and alone.count("ZORB:2") == 20 and threads == "2"


# ---------------------------------------------------------------------- refusals


@pytest.mark.long
def test_an_index_of_other_names_or_another_encoder_is_refused(
    pipeline: Pipeline, index: ConceptIndex, tiny_bert_folder: Path, tmp_path: Path
) -> None:
    """Catches a saved pipeline that links to whatever now lies in the folder."""
    from sentence_transformers import SentenceTransformer

    from st_biomed.terminology import Terminology

    nlp = pipeline()
    nlp.to_disk(tmp_path / "saved")
    content, config = nlp.to_bytes(), nlp.config
    longer = SentenceTransformer(str(tiny_bert_folder), device="cpu")
    longer.max_seq_length = 9
    longer.save_pretrained(str(tmp_path / "longer"))
    zorb = Terminology.from_records(RECORDS, SOURCE)
    for terms, model, what in (
        (Terminology.from_records(RECORDS[:3], SOURCE), tiny_bert_folder, "names"),
        (zorb, tmp_path / "longer", "encoder"),
    ):
        ConceptIndex.build(terms, model, index.folder, overwrite=True)
        line = rf"^st_biomed_linker: {index.folder} has other {what} \(sha256 \w+\) than the index that the pipeline"
        with pytest.raises(InputError, match=line):
            spacy.load(tmp_path / "saved")
        with pytest.raises(InputError, match=line):
            type(nlp).from_config(config).from_bytes(content)
    ConceptIndex.build(zorb, tiny_bert_folder, tmp_path / "moved")
    place = {"components.st_biomed_linker.index": str(tmp_path / "moved")}
    assert spacy.load(tmp_path / "saved", config=place)("A gradthitis.").ents[0].kb_id_ == "ZORB:2"
    with pytest.raises(InputError, match="index.json: missing or damaged; save the pipeline again"):
        (tmp_path / "saved" / "st_biomed_linker" / "index.json").write_text("{")
        spacy.load(tmp_path / "saved", config=place)


@pytest.mark.long
@pytest.mark.parametrize(
    "settings, line",
    [
        (
            {"index": "nowhere"},
            r"no index in 'nowhere', which `st-biomed index` writes; a saved pipeline takes another one by spacy.load\(",
        ),
        ({"threshold": "0.7"}, "threshold: expected a number or None, found '0.7'"),
        ({"conditions": {"leaves": "no"}}, "leaves: expected True or False, found 'no'"),
        ({"conditions": {"standard": 1}}, "standard: expected True or False, found 1"),
        ({"k": 0}, "k must be an integer of at least 1, found 0"),
        ({"threshold": 3}, "threshold 3: the scores of .* are cosines, from -1 to 1"),
        ({"conditions": {"type": ["organ"]}}, "unknown condition 'type': allowed are .*'types'"),
        ({"conditions": {"types": ["gland"]}}, "types: no concept has type 'gland'"),
        ({"device": "tpu9"}, "device 'tpu9' is not available; available are cpu"),
        ({"abbreviations": "all"}, "unknown abbreviations 'all': allowed are 'defined', 'detected', 'none'"),
        ({"label": ""}, "label: expected a name, found ''"),
        ({"label": "ZORB"}, "label: is that of the names that find_names adds"),
        ({"model": "no/such-model"}, "no/such-model"),
    ],
)
def test_a_wrong_setting_is_refused_when_the_pipe_is_added(
    settings: dict[str, Any], line: str, pipeline: Pipeline
) -> None:
    with pytest.raises(InputError, match=line) as caught:
        pipeline(**settings)
    assert "\n" not in str(caught.value)


def test_a_batch_that_fails_goes_to_the_error_handler(pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    """As for all components of spaCy: one bad batch need not end a stream."""
    nlp = pipeline()
    linker = nlp.get_pipe("st_biomed_linker")
    search = linker.index.search

    def failing(texts: list[str], *k: int) -> Any:
        if len(texts) > 1:
            raise RuntimeError("flumpa")
        return search(texts, *k)

    monkeypatch.setattr(linker.index, "search", failing)
    with pytest.raises(RuntimeError, match="flumpa"):
        list(nlp.pipe(TEXTS, batch_size=1))
    failed: list[str] = []
    nlp.set_error_handler(lambda name, proc, docs, error: failed.extend(doc.text for doc in docs))
    assert [doc.text for doc in nlp.pipe(TEXTS, batch_size=1)] == TEXTS[1:] and failed == TEXTS[:1]


def test_an_entity_of_spaces_has_no_concept(pipeline: Pipeline) -> None:
    """Catches an empty mention, which is as near to some concept as any text."""
    nlp = pipeline()
    doc = nlp.make_doc("A  \n gradthitis")
    doc.ents = [Span(doc, 1, 2, "DIS")]
    assert doc.ents[0].text.isspace()
    nlp(doc)
    assert [(bool(entity.kb_id_), bool(entity._.concepts)) for entity in doc.ents] == [(False, False), (True, True)]


def test_a_score_that_is_the_threshold_sets_kb_id(pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a score in float32 that is compared with a threshold in float64."""
    nlp = pipeline(threshold=0.7)
    match = Match("ZORB:2", float(np.float32(0.7)), "gradthitis", "gradtha disease")
    monkeypatch.setattr(nlp.get_pipe("st_biomed_linker").index, "search", lambda texts, k: [[match]] * len(texts))
    assert nlp("A gradthitis.").ents[0].kb_id_ == "ZORB:2"
