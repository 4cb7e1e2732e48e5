"""BioSyn's folders of ``.concept`` files, on which SapBERT, GEBERT and BERGAMOT are measured.

One file for each document, one mention per line, ``pmid||start|end||type||mention||ids``. In the processed folders,
the parts of a composite mention and their ids are separated by ``|``.
"""

from __future__ import annotations

import re
from pathlib import Path

from st_biomed.errors import InputError
from st_biomed.files.delimited import read_lines
from st_biomed.files.gzipped import matching, plain_or_gzipped, plain_stem
from st_biomed.linking_data.annotated import OFFSET, Corpus, require_folder
from st_biomed.linking_data.gold_ids import gold_groups
from st_biomed.linking_data.records import Mention
from st_biomed.records import SourceInfo, Tally

SOURCE = SourceInfo(
    name="BIOSYN",
    title="Linking data as prepared for BioSyn (Sung et al., ACL 2020)",
    license="that of the corpus",
    url="https://github.com/dmis-lab/BioSyn",
)
DICTIONARY = "names"
PREFIX = ""

SPLITS = ("train", "dev", "test")
_SPAN = re.compile(rf"{OFFSET}\|{OFFSET}([,;|]{OFFSET}\|{OFFSET})*")


def read(path: Path, *, tally: Tally, processed: bool = True) -> Corpus:
    """Read the existing splits; a folder that contains ``.concept`` files is one split, ``all``.

    A ``.txt`` file beside a ``.concept`` file is the document's text.

    Args:
        path: The folder of the data set, or of one split.
        tally: Counts lines.
        processed: Whether to read ``processed_train``, ``processed_dev`` and ``processed_test`` rather than
            ``train``, ``dev`` and ``test``.

    Raises:
        InputError: No ``.concept`` file, or an invalid line.
    """
    corpus = Corpus()
    if matching(require_folder(path), "*.concept"):
        folders = {"all": path}
    else:
        folders = {split: path / (f"processed_{split}" if processed else split) for split in SPLITS}
    for split, folder in folders.items():
        for file in matching(folder, "*.concept"):
            corpus.mentions.setdefault(split, [])
            document = plain_stem(file)
            if text := plain_or_gzipped(file.with_name(f"{document}.txt")):
                corpus.documents[document] = "\n".join(line for _, line in read_lines(text))
            for line, content in read_lines(file):
                if content.strip():
                    tally.read()
                    corpus.add(split, _mention(f"{file}:{line}", content))
                    tally.keep()
    if not corpus.mentions:
        names = ", ".join(folder.name for folder in folders.values())
        raise InputError(f"{path}: no .concept file in it or in one of its folders {names}")
    return corpus


def _mention(where: str, content: str) -> Mention:
    cells = [cell.strip() for cell in content.split("||")]
    while len(cells) > 5 and not cells[-1]:
        cells.pop()
    if len(cells) != 5:
        raise InputError(f"{where}: {len(cells)} cells, expected 5 (pmid||start|end||type||mention||ids)")
    document, span, kind, text, ids = cells
    parts = tuple(filter(None, (part.strip() for part in text.split("|"))))
    if not parts:
        raise InputError(f"{where}: the mention is empty")
    if not _SPAN.fullmatch(span):
        raise InputError(f"{where}: the span must be two numbers, start|end, found {span[:30]!r}")
    offsets = [int(number) for number in re.findall(r"\d+", span)]
    start, end = (offsets[0], offsets[-1]) if offsets[0] < offsets[-1] else (-1, -1)
    return Mention(text, gold_groups(ids), parts, document=document, start=start, end=end, type=kind)
