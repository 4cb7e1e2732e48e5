"""QUAERO French Medical Corpus: MEDLINE titles and EMEA leaflets linked to UMLS, in brat's format.

The unpacked ``QUAERO_FrenchMed_brat.zip``: ``corpus/train/MEDLINE/*.ann`` and so on; the note on an entity holds its
ids. Several ids are all possible concepts of the mention, so they are alternatives.
"""

from __future__ import annotations

from pathlib import Path

from st_biomed.errors import check_name
from st_biomed.linking_data.annotated import Corpus, split_files
from st_biomed.linking_data.brat import read_brat
from st_biomed.linking_data.gold_ids import gold_groups
from st_biomed.records import SourceInfo, Tally

SOURCE = SourceInfo(
    name="QUAERO",
    title="QUAERO French Medical Corpus (Névéol et al., BioTxtM 2014)",
    license="GFDL-1.3",
    url="https://quaerofrenchmed.limsi.fr/",
    redistributable=True,
)
DICTIONARY = "names"
PREFIX = "UMLS"

UNITS = ("MEDLINE", "EMEA")


def read(path: Path, *, tally: Tally, units: str = "MEDLINE") -> Corpus:
    """Read the existing splits.

    Args:
        path: ``QUAERO_FrenchMed``, or its folder ``corpus``.
        tally: Counts entities.
        units: ``MEDLINE`` or ``EMEA``: they are measured separately.

    Raises:
        InputError: Other units, no such folder, or an error of :func:`~st_biomed.linking_data.brat.read_brat`.
    """
    check_name("units", units, UNITS)
    corpus = Corpus(variant=units.lower())
    for split, folder in split_files(path, (f"{{split}}/{units}", f"corpus/{{split}}/{units}")).items():
        corpus.mentions[split] = []
        for document in read_brat(folder):
            corpus.documents[document.id] = document.text
            for entity in document.entities:
                tally.read()
                gold = gold_groups(" ".join(entity.notes))
                corpus.add(split, entity.mention(document.id, gold))
                tally.keep()
    return corpus
