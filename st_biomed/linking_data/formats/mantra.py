"""Mantra GSC: titles, drug labels and patent claims in five languages linked to UMLS; a test set in brat's format.

The unpacked ``Mantra-GSC-brat.zip``: ``English/EMEA_ec22-cui-best_man/*.ann`` and so on. The note on an entity is a
tuple of the concept's id, its preferred name, semantic type and semantic group. If the id is missing, the entity's
type is the id.
"""

from __future__ import annotations

import ast
from pathlib import Path

from st_biomed.errors import InputError, check_name, unknown_name
from st_biomed.files.gzipped import matching
from st_biomed.linking_data.annotated import Corpus, require_folder
from st_biomed.linking_data.brat import BratEntity, read_brat
from st_biomed.linking_data.gold_ids import known_ids
from st_biomed.records import SourceInfo, Tally

SOURCE = SourceInfo(
    name="MANTRA",
    title="Mantra gold standard corpus (Kors et al., JAMIA 2015)",
    license="GPL-3.0 (repository); UMLS names",
    url="https://github.com/mi-erasmusmc/Mantra-Gold-Standard-Corpus",
)
DICTIONARY = "names"
PREFIX = "UMLS"

LANGUAGES = {"de": "German", "en": "English", "es": "Spanish", "fr": "French", "nl": "Dutch"}
UNITS = ("EMEA", "Medline", "Patents")


def read(path: Path, *, tally: Tally, language: str = "en", units: str = "") -> Corpus:
    """Read one language, split ``test``.

    Args:
        path: The unpacked folder, or one of its folders with ``.ann`` files.
        tally: Counts entities.
        language: ``de``, ``en``, ``es``, ``fr`` or ``nl``.
        units: ``EMEA``, ``Medline`` or ``Patents``; all of them by default.

    Raises:
        InputError: Another language or units, no such folder, or an invalid note.
    """
    check_name("language", language, LANGUAGES)
    if units and units not in UNITS:
        raise unknown_name("units", units, UNITS)
    corpus = Corpus(mentions={"test": []}, variant="-".join(filter(None, (language, units.lower()))))
    folders = [path]
    if not matching(require_folder(path), "*.ann"):
        folders = sorted(folder for folder in path.glob(f"{LANGUAGES[language]}/{units}*") if folder.is_dir())
        if not folders:
            raise InputError(f"{path}: contains no .ann file and no folder {LANGUAGES[language]}/{units}*")
    for folder in folders:
        for document in read_brat(folder):
            name = f"{folder.name}/{document.id}"
            corpus.documents[name] = document.text
            for entity in document.entities:
                tally.read()
                identifier, preferred, group = _concept(entity)
                gold = known_ids([identifier])
                for id_ in gold:
                    corpus.add_name(preferred, id_)
                groups = (frozenset(gold),) if gold else ()
                corpus.add("test", entity.mention(name, groups, type=group))
                tally.keep()
    return corpus


def _concept(entity: BratEntity) -> tuple[str, str, str]:
    """Id, preferred name and semantic group."""
    if not entity.notes:
        return "", "", entity.type
    try:
        cells = ast.literal_eval(entity.notes[0])
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        cells = None
    if not isinstance(cells, tuple | list) or len(cells) not in (3, 4) or not all(isinstance(c, str) for c in cells):
        raise InputError(
            f"{entity.where}: the note must be a tuple (id, name, semantic type, semantic group) or the same without "
            f"the id, found {entity.notes[0][:60]!r}"
        )
    identifier = cells[0] if len(cells) == 4 else entity.type
    return identifier.strip(), cells[-3].strip(), cells[-1].strip()
