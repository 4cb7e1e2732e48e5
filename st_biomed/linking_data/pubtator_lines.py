"""PubTator: a title line ``id|t|...``, an abstract line ``id|a|...``, and tab-separated annotations."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from st_biomed.errors import InputError
from st_biomed.files.delimited import read_lines
from st_biomed.linking_data.annotated import OFFSET
from st_biomed.linking_data.gold_ids import gold_groups
from st_biomed.linking_data.records import Mention
from st_biomed.records import Tally

_HEAD = re.compile(r"([^\s|]+)\|([ta])\|(.*)")


class PubTatorDocument(NamedTuple):
    """One abstract.

    Attributes:
        id: Usually the PubMed id.
        text: Title and abstract, joined by a space that the offsets count.
        mentions: Its annotations, in the order of the file.
    """

    id: str
    text: str
    mentions: list[Mention]


def read_pubtator(path: Path, *, tally: Tally) -> Iterator[PubTatorDocument]:
    """Stream the documents of a file.

    An annotation has the cells document, start, end, mention, type, ids, and, if the annotators split a composite
    mention (BC5CDR), its parts separated by ``|``. Its offsets are kept only if the document has the mention there. A
    relation has the cells document, type and ids, and possibly more (BioRED states whether it is novel); relations are
    ignored. A repeated document is left out.

    Args:
        path: The file, plain or gzipped.
        tally: Counts annotation rows as read, and rows dropped here as dropped; the caller counts the rest.

    Yields:
        Documents in the order of the file.

    Raises:
        InputError: With file and line: an unknown line, an annotation with another number of cells than 6 or 7 or with
            invalid offsets, an annotation of another document than the one above it.
    """
    seen: set[str] = set()
    for block in _blocks(path):
        repeated = block.id in seen
        seen.add(block.id)
        mentions, text = [], " ".join(block.passages.values())
        for line, cells in block.rows:
            tally.read()
            if _is_relation(cells, text):
                tally.drop("relations between concepts")
                continue
            mention = _mention(f"{path}:{line}", cells, text)
            if repeated:
                tally.drop("mentions of a document that came before")
            else:
                mentions.append(mention)
        if not repeated:
            yield PubTatorDocument(block.id, text, mentions)


class _Block(NamedTuple):
    """The lines of one document: its passages (``t``, ``a``) and the cells of its annotations."""

    id: str
    passages: dict[str, str]
    rows: list[tuple[int, list[str]]]


def _blocks(path: Path) -> Iterator[_Block]:
    block = None
    for line, content in read_lines(path):
        if not content.strip():
            continue
        head = _HEAD.match(content)
        if head is None:
            cells = content.split("\t")
            if block is None or cells[0].strip() != block.id:
                above = f"the document above is {block.id}" if block else "there is no document above"
                raise InputError(
                    f"{path}:{line}: is not a title (id|t|...) and annotates {cells[0][:30]!r}, but {above}"
                )
            block.rows.append((line, cells))
            continue
        document, kind, passage = head.groups()
        if kind == "t":
            if block is not None:
                yield block
            block = _Block(document, {}, [])
        elif block is None or document != block.id or block.rows or "a" in block.passages:
            raise InputError(f"{path}:{line}: the abstract of {document} does not follow the title of {document}")
        block.passages[kind] = passage
    if block is not None:
        yield block


def _is_relation(cells: list[str], text: str) -> bool:
    """Whether a line is a relation: it has a word in place of the start offset of an annotation.

    An annotation with a damaged start offset still has an end offset, and a mention that is in the document.
    """
    if len(cells) < 4 or not cells[1].strip()[:1].isalpha():
        return False
    return not (len(cells) in (6, 7) and re.fullmatch(OFFSET, cells[2].strip()) and cells[3].strip() in text)


def _mention(where: str, cells: list[str], text: str) -> Mention:
    if len(cells) not in (6, 7):
        raise InputError(
            f"{where}: {len(cells)} cells, expected 6 (id, start, end, mention, type, ids), 7 (with the parts of a "
            "composite mention), or a relation (id, type, ids, ...), split at tabs"
        )
    document, start, end, mention, kind, ids = (cell.strip() for cell in cells[:6])
    if not (re.fullmatch(OFFSET, start) and re.fullmatch(OFFSET, end)):
        raise InputError(f"{where}: offsets must be two numbers, found {cells[1][:20]!r} and {cells[2][:20]!r}")
    if not mention:
        raise InputError(f"{where}: the mention is empty")
    place = text.find(mention, int(start), int(end))
    parts = tuple(filter(None, (part.strip() for part in cells[6].split("|")))) if len(cells) == 7 else ()
    gold = gold_groups(ids)
    return Mention(
        text=mention,
        gold=gold,
        # The parts are used only if each has its own id: a few rows list fewer.
        parts=parts if len(parts) == len(gold) else (),
        document=document,
        start=place,
        end=place + len(mention) if place >= 0 else -1,
        type=kind,
    )
