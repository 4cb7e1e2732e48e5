"""An invented corpus in BioC, and the smallest collections with what is read of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from st_biomed.linking_data import LinkingDataset, open_linking
from tests.contracts.linking_contract import FIXTURES

FOLDER, JSON = FIXTURES / "bioc", FIXTURES / "bioc_json" / "zorb.BioC.JSON"
NAMES = FOLDER / "names.txt"


def collection(text: str, annotations: list[dict[str, Any]], *, offset: int = 0, before: str = "") -> dict[str, Any]:
    """A document, perhaps with a first passage of its own."""
    passages = [{"offset": offset, "text": text, "annotations": annotations, "infons": {}}]
    if before:
        passages.insert(0, {"offset": 0, "text": before})
    return {"documents": [{"id": "1", "passages": passages}]}


def annotation(offset: int, text: str | None, length: int = -1, **infons: Any) -> dict[str, Any]:
    length = len(text or "") if length < 0 else length
    infon = {"type": "Disease", "identifier": "X0001", **infons}
    return {"infons": infon, "text": text, "locations": [{"offset": offset, "length": length}]}


def opened(folder: Path, value: Any, **options: Any) -> LinkingDataset:
    (folder / "a.json").write_text(json.dumps(value), "utf-8")
    return open_linking("bioc", folder / "a.json", dictionary=NAMES, **options)


def found(dataset: LinkingDataset) -> list[tuple[str, str]]:
    """Each mention, and what stands where it is said to stand."""
    return [
        (mention.text, dataset.documents[mention.document][mention.start : mention.end] if mention.start >= 0 else "")
        for mentions in dataset.mentions.values()
        for mention in mentions
    ]
