"""XL-BEL: mentions of Wikipedia in ten languages linked to UMLS; a test set.

Lines ``id||mention`` or, in version 1.0, ``id||mention||sentence`` with the mention between ``<tgt>`` and ``</tgt>``.
Several ids separated by ``|`` are alternatives here: the concepts of one page. SapBERT's other query files
(``id||mention``) have the same form.
"""

from __future__ import annotations

from pathlib import Path

from st_biomed.errors import InputError
from st_biomed.files.delimited import read_lines
from st_biomed.files.gzipped import matching
from st_biomed.linking_data.annotated import Corpus
from st_biomed.linking_data.gold_ids import known_ids
from st_biomed.linking_data.records import Mention
from st_biomed.records import SourceInfo, Tally

SOURCE = SourceInfo(
    name="XL-BEL",
    title="Cross-lingual biomedical entity linking (Liu, Vulić, Korhonen and Collier, ACL 2021)",
    license="MIT (repository); UMLS ids",
    url="https://github.com/cambridgeltl/sapbert/tree/main/evaluation/xl_bel",
)
DICTIONARY = "names"
PREFIX = "UMLS"

_OPEN, _CLOSE = "<tgt>", "</tgt>"


def read(path: Path, *, tally: Tally, language: str = "") -> Corpus:
    """Read one language, split ``test``.

    Args:
        path: The file, or the folder of all languages.
        tally: Counts lines.
        language: The language in a folder: ``de en es fi ja ko ru th tr zh`` or ``all``.

    Raises:
        InputError: A folder and no language, no file of the language, another number of cells, or an empty mention.
    """
    file = path
    if path.is_dir():
        if not language:
            raise InputError(f"{path}: is a folder; choose one of its files with language=, e.g. language='es'")
        files = matching(path, f"{language}_*test_query*.txt")
        if len(files) != 1:
            raise InputError(f"{path}: {len(files)} files {language}_*test_query*.txt, expected one")
        file = files[0]
    corpus = Corpus(mentions={"test": []}, variant=language)
    for line, content in read_lines(file):
        if not content.strip():
            continue
        tally.read()
        cells = content.split("||", 2)
        mention = cells[1].strip() if len(cells) > 1 else ""
        if not mention:
            raise InputError(f"{file}:{line}: expected id||mention or id||mention||sentence, found {content[:60]!r}")
        gold = frozenset(known_ids(cells[0].split("|")))
        groups = (gold,) if gold else ()
        if len(cells) == 3:
            before, _, after = cells[2].partition(_OPEN)
            target, _, rest = after.partition(_CLOSE)
            document = str(line)
            corpus.documents[document] = before + target + rest
            start, end = (len(before), len(before) + len(target)) if target else (-1, -1)
            corpus.add("test", Mention(mention, groups, document=document, start=start, end=end))
        else:
            corpus.add("test", Mention(mention, groups))
        tally.keep()
    return corpus
