"""Fixtures of FHIR, and resources written for a test."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from st_biomed.terminology import Terminology
from tests.contracts.reader_contract import FIXTURES

FOLDER = FIXTURES / "zorb-fhir"
SYSTEM, SYSTEM_XML = FOLDER / "CodeSystem-zorb.json", FOLDER / "CodeSystem-zorb.xml"
BUNDLE, BUNDLE_XML = FOLDER / "Bundle-zorb.json", FOLDER / "Bundle-zorb.xml"


def read(path: Path = BUNDLE, **options: Any) -> Terminology:
    return Terminology.read("fhir", path, **options)


def written(folder: Path, resource: dict[str, Any], name: str = "x.json") -> Path:
    (folder / name).write_text(json.dumps(resource))
    return folder / name


def code_system(*concepts: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"resourceType": "CodeSystem", "url": "http://example.org/zorb", "concept": list(concepts), **more}
