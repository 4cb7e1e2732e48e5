"""Linking of E3C's Italian clinical entities to open names, by documents that no training reads.

    python evaluation/e3c_linking.py DATA/italian/e3c_it_layer2_xmi.tar.gz out/italian/all out/italian/e3c \\
        --corpus DATA/italian/e3c_it_layer3.jsonl.gz

Layer 2 has the CUIs of its entities. UMLS is not open. The dictionary therefore has the Italian names of those concepts of a
terminology that their sources link to a CUI: HPO, and ICD-9-CM where DOID, ORDO or NCIt links both. Entities of other CUIs are
counted and not measured, and so are documents that share twelve successive words with the training corpus. The CUIs of layer 2
were found by dictionary matching (precision .91), so most mentions equal a name; the second benchmark has the others.

Writes into the folder e3c_it and e3c_it_reworded, a BioSyn file for each document, so that intervals and tests draw documents; and
dictionary.txt, and a benchmark for each of the two.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tarfile
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

sys.path.insert(0, str(Path(__file__).parents[1]))

from evaluation.benchmark_files import write_benchmark
from st_biomed.corpus.raw_text import documents
from st_biomed.errors import InputError
from st_biomed.evaluators.clustering_pair.term_rows import wording
from st_biomed.files import check_writable
from st_biomed.settings.recipe import run_recipe
from st_biomed.terminology import Terminology

ENTITY = "CLINENTITY"
SHARED_WORDS = 12


class Entity(NamedTuple):
    """A mention of a document and its CUI.

    Attributes:
        text: The mention, with single spaces.
        cui: Its CUI.
        document: Name of the document's file in the archive.
        begin, end: Its place in the document, in characters.
    """

    text: str
    cui: str
    document: str
    begin: int
    end: int


class Measured(NamedTuple):
    """What is measured, and why the rest is not.

    Attributes:
        entities: Mentions whose CUI is in the dictionary, of documents that were held out.
        reworded: Those of them that equal no name of their CUI but for case, accents, punctuation and spaces.
        names: CUI and name of each entry of the dictionary, sorted.
        counts: What was left out, by name.
    """

    entities: list[Entity]
    reworded: list[Entity]
    names: list[tuple[str, str]]
    counts: dict[str, int]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("archive", type=Path, help="UIMA XMI of E3C's layer 2, a tar archive")
    parser.add_argument("terminology", help="folder of a merged terminology with cross-references to UMLS")
    parser.add_argument("output", type=Path, help="folder of the benchmarks")
    parser.add_argument("--corpus", nargs="*", default=[], help="the texts of training")
    parser.add_argument("--language", default="it", help="language of the names")
    arguments = parser.parse_args()
    check_writable(arguments.output)
    texts = (document.text for document in documents(arguments.corpus)) if arguments.corpus else ()
    names = names_by_cui(Terminology.load(arguments.terminology), arguments.language)
    found = measured(entities_of(arguments.archive), names, texts)
    write(found, arguments.output)
    print("\n".join(f"{n:7,} {what}" for what, n in found.counts.items()))


def entities_of(archive: Path) -> dict[str, tuple[str, list[Entity]]]:
    """Text and entities of each document.

    Raises:
        InputError: Not an archive, a document that is not UIMA XMI, or an entity outside its text.
    """
    found: dict[str, tuple[str, list[Entity]]] = {}
    try:
        with tarfile.open(archive) as members:
            for member in members:
                if member.isfile() and (file := members.extractfile(member)):
                    where = f"{archive}/{member.name}"
                    found[member.name] = document_of(ElementTree.parse(file).getroot(), member.name, where)
    except (tarfile.TarError, OSError, ElementTree.ParseError) as error:
        raise InputError(f"{archive}: cannot be read as an archive of UIMA XMI ({error})") from error
    if not found:
        raise InputError(f"{archive}: has no document")
    return found


def document_of(root: ElementTree.Element, name: str, where: str) -> tuple[str, list[Entity]]:
    """Text and entities of a document; raises InputError as :func:`entities_of`."""
    texts = [element.attrib["sofaString"] for element in root if "sofaString" in element.attrib]
    if len(texts) != 1:
        raise InputError(f"{where}: expected one text (sofaString) as in UIMA XMI, found {len(texts)}")
    entities = []
    for element in root:
        if element.tag.endswith("}" + ENTITY):
            begin, end, cui = (element.attrib.get(name, "") for name in ("begin", "end", "entityID"))
            if not (begin.isdecimal() and end.isdecimal() and cui and int(begin) < int(end) <= len(texts[0])):
                raise InputError(
                    f"{where}: expected {ENTITY} with begin, end and entityID within {len(texts[0]):,} characters, found "
                    f"{begin!r}, {end!r} and {cui!r}"
                )
            mention = " ".join(texts[0][int(begin) : int(end)].replace("|", " ").split())  # BioSyn's files split at |
            entities.append(Entity(mention, cui, name, int(begin), int(end)))
    return texts[0], entities


def names_by_cui(terminology: Terminology, language: str) -> list[tuple[str, str]]:
    """CUI and name, distinct and sorted, of the concepts that a source links to a CUI."""
    spoken = terminology.subset(languages=[language])
    row = {code: i for i, code in enumerate(spoken.codes)}
    found: set[tuple[str, str]] = set()
    columns = (terminology.xrefs[name].to_pylist() for name in ("concept", "predicate", "target"))
    for concept, predicate, target in zip(*columns):
        prefix, _, cui = target.partition(":")
        place = row.get(terminology.codes[concept], -1)
        if prefix == "UMLS" and predicate in ("xref", "exactMatch") and place >= 0:
            found.update((cui, spoken.strings[int(text)]) for text in spoken.concept_texts.row(place))
    return sorted(found)


def measured(
    found: dict[str, tuple[str, list[Entity]]], names: Sequence[tuple[str, str]], corpus: Iterable[str]
) -> Measured:
    """The mentions to measure.

    Args:
        found: Text and entities of each document.
        names: CUI and name of each entry of the dictionary.
        corpus: The texts of training.

    Raises:
        InputError: No mention is left.
    """
    of_document = {name: set(runs(text)) for name, (text, _) in found.items()}
    sought = set[str]().union(*of_document.values())
    read = {run for text in corpus for run in runs(text) if run in sought}
    unread = {name: entities for name, (_, entities) in found.items() if not of_document[name] & read}
    cuis = {cui for cui, _ in names}
    wordings = {(cui, wording(name)) for cui, name in names}
    known = [entity for entities in unread.values() for entity in entities if entity.cui in cuis]
    reworded = [entity for entity in known if (entity.cui, wording(entity.text)) not in wordings]
    if not known:
        raise InputError(f"terminology: no name has the CUI of a mention in {len(unread):,} documents")
    counts = {
        "documents": len(found),
        "documents with a passage of the training corpus": len(found) - len(unread),
        "mentions": sum(len(entities) for _, entities in found.values()),
        "mentions of the other documents": sum(map(len, unread.values())),
        "mentions whose CUI has a name in the dictionary": len(known),
        "CUIs of these mentions": len({entity.cui for entity in known}),
        "mentions that equal no name of their CUI": len(reworded),
        "CUIs of the dictionary": len(cuis),
        "names of the dictionary": len(names),
    }
    return Measured(known, reworded, list(names), counts)


def runs(text: str) -> Iterator[str]:
    """Every run of successive words."""
    words = wording(text).split()
    for i in range(len(words) - SHARED_WORDS + 1):
        yield " ".join(words[i : i + SHARED_WORDS])


def write(found: Measured, folder: Path) -> None:
    """The documents, the dictionary and the benchmarks."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = [f"{cui}||{name}\n" for cui, name in found.names]
    (folder / "dictionary.txt").write_text("".join(lines), encoding="utf-8")
    tables = {
        "e3c_it": (found.entities, "mentions in Italian clinical cases (E3C) linked to open names of their CUIs"),
        "e3c_it_reworded": (
            found.reworded,
            "mentions in Italian clinical cases (E3C) that equal no name of their CUI",
        ),
    }
    for name, (entities, title) in tables.items():
        shutil.rmtree(folder / name, ignore_errors=True)
        (folder / f"{name}.yaml").unlink(missing_ok=True)
        if not entities:
            continue
        (folder / name).mkdir()
        for file, of_file in groupby(entities, key=attrgetter("document")):
            document = Path(file).with_suffix("").as_posix().replace("/", "-")
            mentions = [
                f"{document}||{entity.begin}|{entity.end}||{ENTITY}||{entity.text}||{entity.cui}\n"
                for entity in of_file
            ]
            (folder / name / f"{document}.concept").write_text("".join(mentions), encoding="utf-8")
        data = {"format": "biosyn", "path": folder / name, "dictionary": folder / "dictionary.txt"}
        write_benchmark(
            folder,
            name,
            evaluator="entity_linking",
            title=f"{len(entities)} {title}",
            language="it",
            settings={**data, "by_document": True, "dev": "", "test": "all"},
        )


if __name__ == "__main__":
    run_recipe(main)
