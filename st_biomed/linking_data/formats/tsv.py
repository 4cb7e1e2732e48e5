"""Mentions of the user: a mention, a tab, its ids, and optionally a tab and the context."""

from __future__ import annotations

from pathlib import Path

from st_biomed.errors import InputError
from st_biomed.files.delimited import read_lines
from st_biomed.linking_data.annotated import Corpus, split_files
from st_biomed.linking_data.first_place import first_place
from st_biomed.linking_data.gold_ids import gold_groups
from st_biomed.linking_data.records import Mention
from st_biomed.records import SourceInfo, Tally

SOURCE = SourceInfo(name="TSV", title="Mentions and their ids", license="that of the file", url="not stated")
DICTIONARY = "names"
PREFIX = ""

_HEADERS = {
    "mention",
    "text",
    "term",
    "id",
    "ids",
    "cui",
    "cuis",
    "code",
    "codes",
    "concept",
    "concept_id",
    "concepts",
}


def read(path: Path, *, tally: Tally) -> Corpus:
    """Read one file (split ``all``) or a folder with ``train.tsv``, ``dev.tsv`` and ``test.tsv``, without headers.

    Ids are separated as in :func:`~st_biomed.linking_data.gold_ids.gold_groups`.

    Raises:
        InputError: No file, a line without two or three cells, an empty mention, or a header.
    """
    files = split_files(path, ("{split}.tsv", "{split}.txt")) if path.is_dir() else {"all": path}
    corpus = Corpus()
    for split, file in files.items():
        corpus.mentions[split] = []
        for line, content in read_lines(file):
            if not content.strip():
                continue
            tally.read()
            cells = content.split("\t")
            mention = cells[0].strip()
            if len(cells) not in (2, 3) or not mention:
                raise InputError(
                    f"{file}:{line}: expected mention, ids and optionally the context, split at tabs, found "
                    f"{content[:60]!r}"
                )
            if not corpus.mentions[split] and mention.lower() in _HEADERS and cells[1].strip().lower() in _HEADERS:
                raise InputError(
                    f"{file}:{line}: looks like a header ({content[:60]!r}); remove it, the format has no header"
                )
            document, start, end = "", -1, -1
            if len(cells) == 3:
                document = f"{split}:{line}"
                corpus.documents[document] = cells[2]
                start, end = first_place(mention, cells[2])
            corpus.add(split, Mention(mention, gold_groups(cells[1]), document=document, start=start, end=end))
            tally.keep()
    return corpus
