"""Any corpus in PubTator, such as BioRED: title, abstract, and tab-separated annotations.

A file, or a folder with a file for each split (``Train.PubTator``, ``CDR_TestSet.PubTator.txt``). Corpora with their
own format here have their usual settings there.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from st_biomed.linking_data.annotated import Corpus, files_by_split
from st_biomed.linking_data.pubtator_lines import read_pubtator
from st_biomed.records import SourceInfo, Tally
from st_biomed.settings.keyword_options import listed

SOURCE = SourceInfo(
    name="PUBTATOR",
    title="A corpus in PubTator (Wei, Kao and Lu, Nucleic Acids Research 2013)",
    license="that of the corpus",
    url="https://www.ncbi.nlm.nih.gov/research/pubtator3/tutorial",
)
DICTIONARY = "names"
PREFIX = ""


def read(path: Path, *, tally: Tally, types: str | Iterable[str] = ()) -> Corpus:
    """Read the existing splits; files without a split are ``all``. Relations are ignored.

    Args:
        tally: Counts annotation rows, including relations.
        types: Types of the annotations to read, e.g. ``DiseaseOrPhenotypicFeature``; all by default.

    Raises:
        InputError: No file, or an error of :func:`~st_biomed.linking_data.pubtator_lines.read_pubtator`.
    """
    wanted = listed("types", types)
    corpus = Corpus()
    for split, files in files_by_split(path, lambda file: "pubtator" in file.name.lower()).items():
        corpus.mentions[split] = []
        for document in (document_ for file in files for document_ in read_pubtator(file, tally=tally)):
            repeated = document.id in corpus.documents
            corpus.documents.setdefault(document.id, document.text)
            for mention in document.mentions:
                if repeated:
                    tally.drop("mentions of a document that came before")
                elif wanted and mention.type not in wanted:
                    tally.drop(f"mentions of type {mention.type}")
                else:
                    corpus.add(split, mention)
                    tally.keep()
    return corpus
