"""BC5CDR (BioCreative V CDR): PubMed abstracts, diseases and chemicals linked to MeSH.

A folder with ``CDR_TrainingSet.PubTator.txt``, ``CDR_DevelopmentSet.PubTator.txt`` and ``CDR_TestSet.PubTator.txt``,
as distributed. ``-1`` is a mention without a concept; a seventh cell holds the parts of a composite mention.
"""

from __future__ import annotations

from pathlib import Path

from st_biomed.errors import InputError, check_name
from st_biomed.files.gzipped import plain_or_gzipped
from st_biomed.linking_data.annotated import Corpus, require_folder
from st_biomed.linking_data.pubtator_lines import read_pubtator
from st_biomed.records import SourceInfo, Tally

SOURCE = SourceInfo(
    name="BC5CDR",
    title="BioCreative V chemical disease relation corpus (Li et al., Database 2016)",
    license="public domain (US government)",
    url="https://biocreative.bioinformatics.udel.edu/tasks/biocreative-v/track-3-cdr/",
    redistributable=True,
)
DICTIONARY = "ctd"
PREFIX = "MESH"

FILES = {
    "train": "CDR_TrainingSet.PubTator.txt",
    "dev": "CDR_DevelopmentSet.PubTator.txt",
    "test": "CDR_TestSet.PubTator.txt",
}
ENTITIES = ("Disease", "Chemical")


def read(path: Path, *, tally: Tally, entity: str = "Disease") -> Corpus:
    """Read the existing splits.

    Args:
        tally: Counts annotation rows, including relations.
        entity: ``Disease`` or ``Chemical``: the two are measured separately, each with its own dictionary.

    Raises:
        InputError: Another entity, the folder has none of the files, or an error of
            :func:`~st_biomed.linking_data.pubtator_lines.read_pubtator`.
    """
    check_name("entity", entity, ENTITIES)
    corpus = Corpus(variant=entity.lower())
    for split, name in FILES.items():
        file = plain_or_gzipped(require_folder(path) / name)
        for document in read_pubtator(file, tally=tally) if file else ():
            corpus.documents[document.id] = document.text
            for mention in document.mentions:
                if mention.type == entity:
                    corpus.add(split, mention)
                    tally.keep()
                else:
                    tally.drop(f"mentions of type {mention.type}")
    if not corpus.documents:
        raise InputError(f"{path}: contains none of {', '.join(FILES.values())} with a document in it")
    return corpus
