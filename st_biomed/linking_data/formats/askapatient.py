"""AskAPatient and TwADR-L: phrases of patients linked to SNOMED CT and AMT, or to UMLS through SIDER, in ten folds.

Files ``AskAPatient.fold-0.train.txt``, ``...validation.txt`` and ``...test.txt``; a line is the concept's id, its name
and the phrase, separated by tabs, in Latin-1.
"""

from __future__ import annotations

from pathlib import Path

from st_biomed.linking_data.annotated import Corpus
from st_biomed.linking_data.formats import folds
from st_biomed.records import SourceInfo, Tally

SOURCE = SourceInfo(
    name="ASKAPATIENT",
    title="Medical concepts in social media texts (Limsopatham and Collier, ACL 2016)",
    license="CC-BY-4.0",
    url="https://zenodo.org/records/55013",
    redistributable=True,
)
DICTIONARY = "names"
PREFIX = ""


def read(path: Path, *, tally: Tally, fold: int = 0, corpus: str = "AskAPatient") -> Corpus:
    """Read one fold; the names of the concepts are its dictionary if no other is given.

    Args:
        tally: Counts lines.
        fold: 0 to 9.
        corpus: The prefix of the files' names: ``AskAPatient`` or ``TwADR-L``.

    Raises:
        InputError: No such fold, or a line without three cells.
    """
    pattern = f"{corpus}.fold-{{fold}}.{{split}}.txt"
    return folds.read(path, tally=tally, fold=fold, columns="id,name,mention", pattern=pattern, encoding="latin-1")
