"""CANTEMIST: Spanish oncology cases, tumor morphologies linked to eCIE-O (ICD-O-3.1), in brat's format.

The unpacked corpus: ``train-set/cantemist-norm/*.ann``, likewise ``dev-set1``, ``dev-set2`` and ``test-set``; the note
on an entity is its code, e.g. ``8140/3``.
"""

from __future__ import annotations

from pathlib import Path

from st_biomed.errors import InputError
from st_biomed.linking_data.annotated import Corpus, require_folder
from st_biomed.linking_data.brat import read_brat
from st_biomed.linking_data.gold_ids import known_ids
from st_biomed.records import SourceInfo, Tally

SOURCE = SourceInfo(
    name="CANTEMIST",
    title="CANTEMIST (Miranda-Escalada, Farré and Krallinger, IberLEF 2020)",
    license="CC-BY-4.0",
    url="https://zenodo.org/records/3978041",
    redistributable=True,
)
DICTIONARY = "names"
PREFIX = "ICDO"

FOLDERS = {"train": ("train-set",), "dev": ("dev-set1", "dev-set2"), "test": ("test-set",)}


def read(path: Path, *, tally: Tally) -> Corpus:
    """Read the existing splits; the two development sets are one.

    Raises:
        InputError: There are no splits, or an error of :func:`~st_biomed.linking_data.brat.read_brat`.
    """
    corpus = Corpus()
    for split, names in FOLDERS.items():
        for folder in (require_folder(path) / name / "cantemist-norm" for name in names):
            for document in read_brat(folder) if folder.is_dir() else ():
                corpus.documents[document.id] = document.text
                for entity in document.entities:
                    tally.read()
                    # A code with slashes is one id: "8140/3/H".
                    codes = known_ids(entity.notes)
                    groups = (frozenset(codes),) if codes else ()
                    corpus.add(split, entity.mention(document.id, groups))
                    tally.keep()
    if not corpus.documents:
        folders = ", ".join(f"{name}/cantemist-norm" for names in FOLDERS.values() for name in names)
        raise InputError(f"{path}: contains none of {folders}")
    return corpus
