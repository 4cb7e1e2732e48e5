"""Linking of E3C: which mentions are measured, and what the dictionary has."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import numpy as np
import pytest

from evaluation.e3c_linking import Entity, entities_of, measured, names_by_cui, write
from st_biomed.corpus.raw_text import documents
from st_biomed.errors import InputError
from st_biomed.evaluators.benchmark import Benchmark
from st_biomed.records import SourceInfo, Term, Xref
from st_biomed.terminology import Terminology
from tests.evaluation.italian_sources import merged

INVENTED = SourceInfo(name="INV", title="Invented", license="none", url="none")
XMI = (
    '<xmi:XMI xmlns:xmi="http://www.omg.org/XMI" xmlns:cas="http:///uima/cas.ecore" '
    'xmlns:custom="http:///webanno/custom.ecore">{entities}<cas:Sofa sofaString="{text}"/></xmi:XMI>'
)
TEXT = "Il paziente ha la flumpa  acuta e la gradtha, poi una terza malattia senza nome in questo caso."
LINE = "un testo che dice: il paziente ha la flumpa acuta e la gradtha, poi una terza malattia."


def archive(folder: Path, *files: tuple[str, list[tuple[str, str]]]) -> Path:
    """An archive of documents, each a text and its entities: the mention and the CUI."""
    path = folder / "layer2.tar.gz"
    with tarfile.open(path, "w:gz") as members:
        for number, (text, entities) in enumerate(files):
            written = "".join(
                f'<custom:CLINENTITY begin="{text.find(mention)}" end="{text.find(mention) + len(mention)}" '
                f'entityID="{cui}"/>'
                for mention, cui in entities
            )
            content = XMI.format(entities=written, text=text).encode()
            member = tarfile.TarInfo(f"layer2/{number}.xml")
            member.size = len(content)
            members.addfile(member, io.BytesIO(content))
    return path


def terminology() -> Terminology:
    return Terminology.from_records(
        [
            Term("Q:1", "Flumpa acuta", language="it"),
            Term("Q:1", "acute flumpa"),
            Xref("Q:1", "UMLS:C0000001"),
            Xref("Q:1", "UMLS:C0000009", "broadMatch"),
            Term("Q:2", "morbo di gradtha", language="it"),
            Xref("Q:2", "UMLS:C0000002", "exactMatch"),
            Term("Q:3", "third"),
            Xref("Q:3", "UMLS:C0000003"),
            Xref("Q:1", "MESH:C0000004"),
        ],
        INVENTED,
    )


def test_the_dictionary_has_the_names_of_exact_links_in_the_language():
    """Catches broader CUIs, ids of other sources, and names in English."""
    assert names_by_cui(terminology(), "it") == [("C0000001", "Flumpa acuta"), ("C0000002", "morbo di gradtha")]


def test_mentions_are_measured_where_a_name_has_their_cui(tmp_path: Path):
    """Catches a mention that counts as reworded for its spaces and capitals."""
    path = archive(
        tmp_path, (TEXT, [("flumpa  acuta", "C0000001"), ("gradtha", "C0000002"), ("terza malattia", "C0000003")])
    )
    found = measured(entities_of(path), names_by_cui(terminology(), "it"), [])
    first = Entity("flumpa acuta", "C0000001", "layer2/0.xml", TEXT.find("flumpa"), TEXT.find("flumpa") + 13)
    assert found.entities == [first, Entity("gradtha", "C0000002", "layer2/0.xml", 37, 44)]
    assert found.reworded == found.entities[1:]
    write(found, tmp_path)
    for name, n in (("e3c_it", 2), ("e3c_it_reworded", 1)):
        (evaluator,) = Benchmark.read(tmp_path / f"{name}.yaml").evaluator_settings().evaluators()
        assert evaluator.get_config_dict()["n_mentions"] == n


def test_documents_are_drawn_whole(tmp_path: Path):
    """Catches intervals over single mentions, and documents of the last writing that stay."""
    names = names_by_cui(terminology(), "it")
    entities = [("flumpa  acuta", "C0000001"), ("gradtha", "C0000002")]
    write(measured(entities_of(archive(tmp_path, *[(TEXT, entities)] * 3)), names, []), tmp_path)
    write(measured(entities_of(archive(tmp_path, *[(TEXT, entities)] * 2)), names, []), tmp_path)
    (evaluator,) = Benchmark.read(tmp_path / "e3c_it.yaml").evaluator_settings().evaluators()
    evaluator.measure(lambda texts: np.array([[len(text), 1.0] for text in texts]))
    assert evaluator.units["acc@1"].clusters.tolist() == ["layer2-0", "layer2-0", "layer2-1", "layer2-1"]


def test_a_document_of_the_training_corpus_is_not_measured(tmp_path: Path):
    """Catches documents that the corpus has under another name, in another case and with other punctuation."""
    other = "Un caso del tutto diverso con flumpa acuta."
    path = archive(tmp_path, (TEXT, [("gradtha", "C0000002")]), (other, [("flumpa acuta", "C0000001")]))
    names = names_by_cui(terminology(), "it")
    found = measured(entities_of(path), names, [LINE])
    assert [entity.text for entity in found.entities] == ["flumpa acuta"]
    assert found.counts["documents with a passage of the training corpus"] == 1
    assert len(measured(entities_of(path), names, [LINE[:60]]).entities) == 2


@pytest.mark.parametrize(
    ("entities", "message"),
    [
        (
            [("nowhere", "C0000001")],
            r"layer2/0\.xml: expected CLINENTITY with begin, end and entityID within 95 chara",
        ),
        ([("gradtha", "")], r"found '37', '44' and ''"),
    ],
)
def test_an_entity_without_a_place_or_an_id_is_one_line(entities, message: str, tmp_path: Path):
    with pytest.raises(InputError, match=message):
        entities_of(archive(tmp_path, (TEXT, entities)))


def test_other_files_are_one_line(tmp_path: Path):
    (tmp_path / "no.tar.gz").write_bytes(b"no archive")
    with pytest.raises(InputError, match=r"no\.tar\.gz: cannot be read as an archive of UIMA XMI"):
        entities_of(tmp_path / "no.tar.gz")
    with pytest.raises(InputError, match="no name has the CUI of a mention in 1 documents"):
        measured({"a": (TEXT, [Entity("gradtha", "C0000007", "a", 37, 44)])}, names_by_cui(terminology(), "it"), [])


@pytest.mark.realdata
def test_half_of_the_mentions_have_an_open_name(realdata: Path):
    found = entities_of(realdata / "italian/e3c_it_layer2_xmi.tar.gz")
    texts = (document.text for document in documents([realdata / "italian/e3c_it_layer3.jsonl.gz"]))
    counts = measured(found, names_by_cui(merged(realdata, hpo=True), "it"), texts).counts
    assert counts == {
        "documents": 156,
        "documents with a passage of the training corpus": 9,
        "mentions": 1_504,
        "mentions of the other documents": 1_437,
        "mentions whose CUI has a name in the dictionary": 769,
        "CUIs of these mentions": 253,
        "mentions that equal no name of their CUI": 291,
        "CUIs of the dictionary": 5_544,
        "names of the dictionary": 10_008,
    }
