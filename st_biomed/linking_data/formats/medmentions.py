"""MedMentions: PubMed abstracts, all of UMLS or its ST21pv subset.

A folder with ``corpus_pubtator.txt`` and the split lists ``corpus_pubtator_pmids_trng.txt``,
``..._dev.txt`` and ``..._test.txt``, one PubMed id per line, as distributed in ``full/data`` and ``st21pv/data``.
"""

from __future__ import annotations

from pathlib import Path

from st_biomed.errors import InputError
from st_biomed.files.delimited import read_lines
from st_biomed.files.gzipped import plain_or_gzipped
from st_biomed.linking_data.annotated import Corpus, require_folder
from st_biomed.linking_data.pubtator_lines import read_pubtator
from st_biomed.records import SourceInfo, Tally

SOURCE = SourceInfo(
    name="MEDMENTIONS",
    title="MedMentions (Mohan and Li, AKBC 2019)",
    license="CC0-1.0",
    url="https://github.com/chanzuckerberg/MedMentions",
    redistributable=True,
)
DICTIONARY = "names"
PREFIX = "UMLS"

CORPUS = "corpus_pubtator.txt"
LISTS = {
    "train": "corpus_pubtator_pmids_trng.txt",
    "dev": "corpus_pubtator_pmids_dev.txt",
    "test": "corpus_pubtator_pmids_test.txt",
}


def read(path: Path, *, tally: Tally) -> Corpus:
    """Read the documents in the split lists.

    Raises:
        InputError: The corpus or a list is missing, a list has a document of another split or one that is not in the
            corpus, or an error of :func:`~st_biomed.linking_data.pubtator_lines.read_pubtator`.
    """
    file = plain_or_gzipped(require_folder(path) / CORPUS)
    if file is None:
        raise InputError(f"{path}: contains no {CORPUS}")
    split_of, listed = _split_lists(path)
    corpus = Corpus(mentions={split: [] for split in LISTS})
    for document in read_pubtator(file, tally=tally):
        split = split_of.get(document.id)
        if split is None:
            tally.drop("mentions of documents in no split list", len(document.mentions))
            continue
        corpus.documents[document.id] = document.text
        for mention in document.mentions:
            corpus.add(split, mention)
            tally.keep()
    for document_id, where in listed.items():
        if document_id not in corpus.documents:
            raise InputError(f"{where}: document {document_id} is not in {file.name}")
    return corpus


def _split_lists(path: Path) -> tuple[dict[str, str], dict[str, str]]:
    """Document to its split, and to its ``file:line`` in a list."""
    split_of: dict[str, str] = {}
    listed: dict[str, str] = {}
    for split, name in LISTS.items():
        file = plain_or_gzipped(path / name) or path / name
        for line, content in read_lines(file):
            document = content.strip()
            if not document:
                continue
            if split_of.setdefault(document, split) != split:
                raise InputError(f"{file}:{line}: document {document} is also in the {split_of[document]} list")
            listed.setdefault(document, f"{file}:{line}")
    return split_of, listed
