"""NCBI disease corpus: PubMed abstracts, diseases linked to MEDIC (MeSH and OMIM).

A folder with ``NCBItrainset_corpus.txt``, ``NCBIdevelopset_corpus.txt`` and ``NCBItestset_corpus.txt``, PubTator, as
distributed. ``D001|D002`` is a composite mention, ``D001+D002`` one mention with two ids.
"""

from __future__ import annotations

from pathlib import Path

from st_biomed.errors import InputError
from st_biomed.files.gzipped import plain_or_gzipped
from st_biomed.linking_data.annotated import Corpus, require_folder
from st_biomed.linking_data.pubtator_lines import read_pubtator
from st_biomed.records import SourceInfo, Tally

SOURCE = SourceInfo(
    name="NCBI-DISEASE",
    title="NCBI disease corpus (Doğan, Leaman and Lu, J Biomed Inform 2014)",
    license="public domain (US government)",
    url="https://www.ncbi.nlm.nih.gov/CBBresearch/Dogan/DISEASE/",
    redistributable=True,
)
DICTIONARY = "medic"
PREFIX = "MESH"

FILES = {
    "train": "NCBItrainset_corpus.txt",
    "dev": "NCBIdevelopset_corpus.txt",
    "test": "NCBItestset_corpus.txt",
}


def read(path: Path, *, tally: Tally) -> Corpus:
    """Read the existing splits.

    Raises:
        InputError: The folder has none of the files, or an error of
            :func:`~st_biomed.linking_data.pubtator_lines.read_pubtator`.
    """
    corpus = Corpus()
    for split, name in FILES.items():
        file = plain_or_gzipped(require_folder(path) / name)
        for document in read_pubtator(file, tally=tally) if file else ():
            corpus.documents[document.id] = document.text
            for mention in document.mentions:
                corpus.add(split, mention)
                tally.keep()
    if not corpus.documents:
        raise InputError(f"{path}: contains none of {', '.join(FILES.values())} with a document in it")
    return corpus
