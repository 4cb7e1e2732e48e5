"""COMETA: terms of Reddit users linked to SNOMED CT, by their general and by their specific meaning.

A tab-separated table with the columns ``ID``, ``Term``, ``General SNOMED ID``, ``General SNOMED Label``, ``Specific
SNOMED ID``, ``Specific SNOMED Label`` and ``Example``: one file, or a folder with one for each split (``train.csv``,
...).
"""

from __future__ import annotations

from pathlib import Path

from st_biomed.errors import InputError, check_name
from st_biomed.files.delimited import read_table
from st_biomed.linking_data.annotated import Corpus, split_files
from st_biomed.linking_data.first_place import first_place
from st_biomed.linking_data.gold_ids import known_ids
from st_biomed.linking_data.records import Mention
from st_biomed.records import SourceInfo, Tally

SOURCE = SourceInfo(
    name="COMETA",
    title="COMETA: a corpus for medical entity linking in the social media (Basaldella et al., EMNLP 2020)",
    license="research use; SNOMED CT terms",
    url="https://www.siphs.org/corpus",
)
DICTIONARY = "names"
PREFIX = "SNOMEDCT"

LEVELS = {"general": "General", "specific": "Specific"}


def read(path: Path, *, tally: Tally, level: str = "general") -> Corpus:
    """Read one file (split ``all``) or a folder of splits; the example sentence is the document.

    Args:
        tally: Counts rows.
        level: ``general`` or ``specific`` ids; the published figures use the general ones.

    Raises:
        InputError: Another level, no file, a missing column, an empty term, or a repeated ``ID``.
    """
    check_name("level", level, LEVELS)
    files = split_files(path, ("{split}.csv", "{split}.tsv")) if path.is_dir() else {"all": path}
    columns = ("ID", "Term", f"{LEVELS[level]} SNOMED ID", f"{LEVELS[level]} SNOMED Label", "Example")
    corpus = Corpus(variant=level)
    for split, file in files.items():
        corpus.mentions[split] = []
        for line, cells in read_table(file, columns, dialect="tsv_quoted"):
            tally.read()
            number, term, concept, label, example = (cell.strip() for cell in cells)
            if not term:
                raise InputError(f"{file}:{line}: the Term is empty")
            if number in corpus.documents:
                raise InputError(f"{file}:{line}: ID {number!r} occurs twice")
            corpus.documents[number] = example
            gold = known_ids([concept])
            for id_ in gold:
                corpus.add_name(label, id_)
            start, end = first_place(term, example)
            groups = (frozenset(gold),) if gold else ()
            corpus.add(split, Mention(term, groups, document=number, start=start, end=end))
            tally.keep()
    return corpus
