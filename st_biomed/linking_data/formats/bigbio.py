"""The knowledge-base schema of BigBIO, into which a hundred corpora were converted: one JSON object per line.

The ``document_id``, ``passages`` (``text`` and ``offsets``) and ``entities`` (``text``, ``offsets``, ``type``, and
``normalized``: a list of ``db_name`` and ``db_id``) of a document are read.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from st_biomed.errors import InputError, check_name
from st_biomed.files.delimited import read_lines
from st_biomed.linking_data.annotated import Corpus, split_files
from st_biomed.linking_data.bioc_places import LONGEST_GAP
from st_biomed.linking_data.gold_ids import SEVERAL, gold_groups
from st_biomed.linking_data.records import Mention
from st_biomed.readers._json import json_object
from st_biomed.records import SourceInfo, Tally
from st_biomed.settings.keyword_options import listed

SOURCE = SourceInfo(
    name="BIGBIO",
    title="BigBIO (Fries et al., NeurIPS 2022)",
    license="that of the corpus",
    url="https://github.com/bigscience-workshop/biomedical",
)
DICTIONARY = "names"
PREFIX = ""


def read(
    path: Path,
    *,
    tally: Tally,
    types: str | Iterable[str] = (),
    databases: str | Iterable[str] = (),
    several: str = "groups",
) -> Corpus:
    """Read one file (split ``all``), or a folder with ``train.jsonl``, ``validation.jsonl`` and ``test.jsonl``.

    Args:
        tally: Counts entities.
        types: Types of the entities to read; all by default.
        databases: The ``db_name`` of the ids to read; all by default.
        several: The meaning of several ids of an entity: ``groups``, the parts of a composite mention (NCBI disease,
            BC5CDR), or ``alternatives`` of one concept (QUAERO).

    Raises:
        InputError: With file and line: an invalid JSON object or field, a repeated document, passages far apart. Also
            another ``several``, or no file.
    """
    check_name("several", several, SEVERAL)
    wanted_types, wanted_databases = listed("types", types), listed("databases", databases)
    corpus = Corpus()
    files = split_files(path, ("{split}.jsonl", "{split}.json")) if path.is_dir() else {"all": path}
    for split, file in files.items():
        corpus.mentions[split] = []
        for line, content in read_lines(file):
            if not content.strip():
                continue
            where = f"{file}:{line}"
            document = _parsed(file, line, content)
            name = document["document_id"]
            if name in corpus.documents:
                raise InputError(f"{where}: document {name!r} occurs twice")
            corpus.documents[name] = _text(where, document["passages"])
            for entity in document["entities"]:
                tally.read()
                mention = _mention(where, entity, name, wanted_databases, several)
                if not corpus.documents[name][mention.start : mention.end].startswith(mention.text.split()[0]):
                    mention = replace(mention, start=-1, end=-1)
                if wanted_types and mention.type not in wanted_types:
                    tally.drop(f"entities of type {mention.type}")
                else:
                    corpus.add(split, mention)
                    tally.keep()
    return corpus


def _parsed(file: Path, line: int, content: str) -> dict[str, Any]:
    where = f"{file}:{line}"
    document = json_object(file, content, line, "JSON object on one line")
    for field, kind in (("document_id", str), ("passages", list), ("entities", list)):
        if not isinstance(document.get(field), kind):
            kind_found = type(document[field]).__name__ if field in document else "none"
            raise InputError(f"{where}: {field!r} must be a {kind.__name__}, found {kind_found}")
    return document


def _text(where: str, passages: list[Any]) -> str:
    """The passages at their offsets, with spaces between them."""
    pieces: list[tuple[int, str]] = []
    for passage in passages:
        spans, strings = _spans(where, passage), _strings(where, passage, "text")
        pieces.extend((start, string) for (start, _), string in zip(spans, strings))
    text = ""
    for start, string in sorted(pieces, key=lambda piece: piece[0]):
        if start > len(text) + LONGEST_GAP:
            raise InputError(f"{where}: a passage begins at {start}, but the text before it ends at {len(text)}")
        text = text.ljust(start) + string
    return text


def _mention(where: str, entity: Any, document: str, databases: tuple[str, ...], several: str) -> Mention:
    spans, text = _spans(where, entity), " ".join(_strings(where, entity, "text")).strip()
    kind, normalized = entity.get("type", ""), entity.get("normalized", [])
    if not text or not spans or not isinstance(kind, str) or not isinstance(normalized, list):
        raise InputError(
            f"{where}: an entity must have text, offsets, a type and a list 'normalized', found {str(entity)[:80]}"
        )
    ids = []
    for normalization in normalized:
        if not isinstance(normalization, dict) or not isinstance(normalization.get("db_id"), str):
            raise InputError(
                f"{where}: 'normalized' must hold objects with db_name and db_id, found {str(normalization)[:60]}"
            )
        if not databases or normalization.get("db_name") in databases:
            ids.append(normalization["db_id"])
    gold = tuple(dict.fromkeys(group for id_ in ids for group in gold_groups(id_)))
    if several == "alternatives" and gold:
        gold = (frozenset().union(*gold),)
    start, end = min(span[0] for span in spans), max(span[1] for span in spans)
    return Mention(text, gold, document=document, start=start, end=end, type=kind)


def _spans(where: str, holder: Any) -> list[tuple[int, int]]:
    spans = holder.get("offsets") if isinstance(holder, dict) else None
    if not isinstance(spans, list) or not all(
        isinstance(span, list) and len(span) == 2 and all(type(number) is int and number >= 0 for number in span)
        for span in spans
    ):
        raise InputError(f"{where}: 'offsets' must be a list of pairs of numbers, found {str(spans)[:60]}")
    return [(span[0], span[1]) for span in spans]


def _strings(where: str, holder: dict[str, Any], field: str) -> list[str]:
    strings = holder.get(field)
    if isinstance(strings, str):
        return [strings]
    if not isinstance(strings, list) or not all(isinstance(string, str) for string in strings):
        raise InputError(f"{where}: {field!r} must be a list of strings, found {str(strings)[:60]}")
    return strings
