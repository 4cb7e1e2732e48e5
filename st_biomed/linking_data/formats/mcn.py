"""MCN: discharge summaries linked to UMLS (SNOMED CT and RxNorm), track 3 of n2c2 2019.

The unpacked corpus: ``train/train_norm/*.norm`` and ``train/train_note/*.txt``, ``test/test_norm`` and
``test/test_note``. A line of a ``.norm`` file is ``id||CUI||start||end``, with a further start and end for every other
piece of a mention; a mention without a concept has the id ``CUI-less``.
"""

from __future__ import annotations

import re
from pathlib import Path

from st_biomed.errors import InputError
from st_biomed.files.delimited import read_lines
from st_biomed.files.gzipped import matching, plain_or_gzipped, plain_stem
from st_biomed.linking_data.annotated import OFFSET, Corpus, read_text, require_folder
from st_biomed.linking_data.gold_ids import gold_groups
from st_biomed.linking_data.records import Mention
from st_biomed.records import SourceInfo, Tally

SOURCE = SourceInfo(
    name="MCN",
    title="MCN corpus (Luo, Sun and Rumshisky, JBI 2019), n2c2 2019 track 3",
    license="n2c2 data use agreement",
    url="https://portal.dbmi.hms.harvard.edu/projects/n2c2-nlp",
)
DICTIONARY = "names"
PREFIX = "UMLS"

SPLITS = ("train", "test")
_LINE = re.compile(rf"([^|]+)\|\|([^|]+)((?:\|\|{OFFSET}\|\|{OFFSET})+)")


def read(path: Path, *, tally: Tally) -> Corpus:
    """Read the existing splits.

    Args:
        tally: Counts lines.

    Raises:
        InputError: No ``.norm`` file, a ``.norm`` file without its note, an invalid line, or positions beyond the
            note.
    """
    corpus = Corpus()
    for split in SPLITS:
        folder = require_folder(path) / split
        for file in matching(folder / f"{split}_norm", "*.norm"):
            document = plain_stem(file)
            text = folder / f"{split}_note" / f"{document}.txt"
            note = plain_or_gzipped(text)
            if note is None:
                raise InputError(f"{file}: its note {text} is missing")
            corpus.documents[document] = read_text(note).replace("\r\n", "\n")
            _read_file(corpus, split, file, tally)
    if not corpus.mentions:
        raise InputError(f"{path}: contains none of {', '.join(f'{split}/{split}_norm/*.norm' for split in SPLITS)}")
    return corpus


def _read_file(corpus: Corpus, split: str, file: Path, tally: Tally) -> None:
    document = plain_stem(file)
    text = corpus.documents[document]
    for line, content in read_lines(file):
        if not content.strip():
            continue
        tally.read()
        match = _LINE.fullmatch(content.strip())
        if match is None:
            raise InputError(f"{file}:{line}: expected id||CUI||start||end, found {content[:60]!r}")
        offsets = [int(number) for number in re.findall(r"\d+", match[3])]
        spans = list(zip(offsets[::2], offsets[1::2]))
        if any(start >= end or end > len(text) for start, end in spans):
            raise InputError(
                f"{file}:{line}: positions beyond the {len(text)} characters of the note, found {content!r}"
            )
        pieces = " ".join(text[start:end] for start, end in spans)
        gold = gold_groups(match[2])
        start, end = min(start for start, _ in spans), max(end for _, end in spans)
        corpus.add(split, Mention(" ".join(pieces.split()), gold, document=document, start=start, end=end))
        tally.keep()
